// For every x86-64; CMakeLists.txt has the options.
#include "backends/cpu/tiled/level_kernels.h"

namespace kiln::cpu {

const LevelKernels kKernelsBaseline = level_kernels();

}  // namespace kiln::cpu
