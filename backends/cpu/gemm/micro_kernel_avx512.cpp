// The loops for AVX-512; CMakeLists.txt has the compiler options.
#include "backends/cpu/gemm/isa_kernels.h"

namespace kiln::cpu {

const IsaKernels kKernelsAvx512 = isa_kernels();

}  // namespace kiln::cpu
