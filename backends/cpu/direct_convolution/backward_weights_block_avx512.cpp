// The loops for AVX-512; CMakeLists.txt has the compiler options.
#include "backends/cpu/direct_convolution/backward_weights_loops.h"

namespace kiln::cpu {

const BackwardWeightsBlock kBackwardWeightsBlockAvx512{kLanes<float>, &run_block};

}  // namespace kiln::cpu
