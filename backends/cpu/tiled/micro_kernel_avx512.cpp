// For AVX-512; CMakeLists.txt has the options.
#include "backends/cpu/tiled/micro_kernel_loops.h"

namespace kiln::cpu {

const MicroKernel kMicroKernelAvx512 = {kPanel, run, run_lines};

}  // namespace kiln::cpu
