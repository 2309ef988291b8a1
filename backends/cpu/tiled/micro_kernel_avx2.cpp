// For AVX2 and FMA; CMakeLists.txt has the options.
#include "backends/cpu/tiled/micro_kernel_loops.h"

namespace kiln::cpu {

const MicroKernel kMicroKernelAvx2 = {kPanel, run, run_lines};

}  // namespace kiln::cpu
