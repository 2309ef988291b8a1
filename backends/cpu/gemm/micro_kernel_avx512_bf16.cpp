// The bfloat16 loops for AVX512-BF16; CMakeLists.txt has the compiler options.
#include "backends/cpu/gemm/bf16_pair_loops.h"

namespace kiln::cpu {

const HalfKernel<BFloat16Bits> kBf16KernelAvx512 = {
    kPanel<unsigned>, kPanel<unsigned>, 2, &pack_pairs, &pair_lhs, &run_pairs, &narrow_pairs,
    true};

}  // namespace kiln::cpu
