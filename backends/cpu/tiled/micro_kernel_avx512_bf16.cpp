// For AVX-512 with AVX512-BF16; CMakeLists.txt has the options.
#include "backends/cpu/tiled/pair_loops.h"

namespace kiln::cpu {

const HalfKernel<BFloat16Bits> kPairKernelAvx512 = {
    kPanel<unsigned>, kPanel<unsigned>, 2, &pack_pairs, &pair_lhs, &run_pairs,
    &narrow<BFloat16Bits>};

}  // namespace kiln::cpu
