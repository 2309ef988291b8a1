// The loops for AVX2, FMA and F16C; CMakeLists.txt has the compiler options.
#include "backends/cpu/gemm/isa_kernels.h"

namespace kiln::cpu {

const IsaKernels kKernelsAvx2 = isa_kernels();

}  // namespace kiln::cpu
