// For AVX2, FMA and F16C; CMakeLists.txt has the options.
#include "backends/cpu/tiled/level_kernels.h"

namespace kiln::cpu {

const LevelKernels kKernelsAvx2 = level_kernels();

}  // namespace kiln::cpu
