// The loops for AVX2 and FMA; CMakeLists.txt has the compiler options.
#include "backends/cpu/direct_convolution/depthwise_loops.h"

namespace kiln::cpu {

const RunDepthwiseBlock kDepthwiseBlockAvx2 = &run_block;

}  // namespace kiln::cpu
