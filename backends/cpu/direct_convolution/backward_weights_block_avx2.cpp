// The loops for AVX2 and FMA; CMakeLists.txt has the compiler options.
#include "backends/cpu/direct_convolution/backward_weights_loops.h"

namespace kiln::cpu {

const BackwardWeightsBlock kBackwardWeightsBlockAvx2{kLanes<float>, &run_block};

}  // namespace kiln::cpu
