// For every x86-64; CMakeLists.txt has the options.
#include "backends/cpu/tiled/micro_kernel_loops.h"

namespace kiln::cpu {

const MicroKernel kMicroKernelBaseline = {kPanel, run, run_lines};

}  // namespace kiln::cpu
