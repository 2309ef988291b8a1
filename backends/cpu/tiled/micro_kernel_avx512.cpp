// For AVX-512; CMakeLists.txt has the options.
#include "backends/cpu/tiled/level_kernels.h"

namespace kiln::cpu {

const LevelKernels kKernelsAvx512 = level_kernels();

}  // namespace kiln::cpu
