// The loops for AVX2; CMakeLists.txt has the compiler options.
#include "backends/cpu/attention/attention_gradient_loops.h"
#include "backends/cpu/attention/attention_loops.h"
#include "backends/cpu/attention/attention_row_loops.h"

namespace kiln::cpu {

const RunAttention kAttentionAvx2 = run_attention;
const RunAttention kFewQueriesAvx2 = run_few_queries;
const RunAttentionGradient kAttentionGradientAvx2 = run_attention_gradient;

}  // namespace kiln::cpu
