// The loops for any x86-64; CMakeLists.txt has the compiler options.
#include "backends/cpu/direct_convolution/depthwise_loops.h"

namespace kiln::cpu {

const RunDepthwiseBlock kDepthwiseBlockBaseline = &run_block;

}  // namespace kiln::cpu
