// For every x86-64; CMakeLists.txt has the options.
#include "backends/cpu/tiled/micro_kernel_loops.h"
#include "backends/cpu/tiled/packing_loops.h"

namespace kiln::cpu {

const MicroKernel kMicroKernelBaseline = {kPanel, kBlock, run, run_lines, pack, kRunPanel};

}  // namespace kiln::cpu
