// The loops for AVX-512 F and DQ; CMakeLists.txt has the compiler options.
#include "backends/cpu/direct_convolution/depthwise_loops.h"

namespace kiln::cpu {

const RunDepthwiseBlock kDepthwiseBlockAvx512 = &run_block;

}  // namespace kiln::cpu
