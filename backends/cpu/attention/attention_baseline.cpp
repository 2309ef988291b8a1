// The loops for any x86-64; CMakeLists.txt has the compiler options.
#include "backends/cpu/attention/attention_gradient_loops.h"
#include "backends/cpu/attention/attention_loops.h"
#include "backends/cpu/attention/attention_row_loops.h"

namespace kiln::cpu {

const RunAttention kAttentionBaseline = run_attention;
const RunAttention kFewQueriesBaseline = run_few_queries;
const RunAttentionGradient kAttentionGradientBaseline = run_attention_gradient;

}  // namespace kiln::cpu
