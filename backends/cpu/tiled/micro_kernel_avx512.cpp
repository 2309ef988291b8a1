// For AVX-512; CMakeLists.txt has the options.
#include "backends/cpu/tiled/micro_kernel_loops.h"
#include "backends/cpu/tiled/packing_loops.h"

namespace kiln::cpu {

const MicroKernel kMicroKernelAvx512 = {kPanel, kBlock, run, run_lines, pack, kRunPanel};

}  // namespace kiln::cpu
