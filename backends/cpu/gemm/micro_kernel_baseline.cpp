// The loops for any x86-64; CMakeLists.txt has the compiler options.
#include "backends/cpu/gemm/isa_kernels.h"

namespace kiln::cpu {

const IsaKernels kKernelsBaseline = isa_kernels();

}  // namespace kiln::cpu
