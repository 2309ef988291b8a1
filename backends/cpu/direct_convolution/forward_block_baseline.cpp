// The loops for any x86-64; CMakeLists.txt has the compiler options.
#include "backends/cpu/direct_convolution/forward_loops.h"

namespace kiln::cpu {

const RunForwardBlock kForwardBlockBaseline = &run_block;

}  // namespace kiln::cpu
