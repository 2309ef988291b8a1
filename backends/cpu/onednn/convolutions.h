// Convolutions of float32 through oneDNN, with activations as they lie (channels last) and kernels
// in the layout that the library likes best. What it declines runs as plain loops.
#pragma once

#include "backends/codegen/host/prepared/convolution.h"

#include <memory>

namespace kiln::cpu {

/// REQUIRES: all sizes above 0. Each part has one OpenMP thread. The parts follow from the sizes
/// alone, so that bits do not depend on the number of threads. `packed`: the kernel will be packed
/// before the runs. Throws sdk::Failure.
std::shared_ptr<const codegen::PreparedConvolution> make_convolution(
    const codegen::Convolution& convolution, bool packed);

/// As plain sums in one part: what the library declines, and what runs when it is gone.
std::shared_ptr<const codegen::PreparedConvolution> make_loop_convolution(
    const codegen::Convolution& convolution);

}  // namespace kiln::cpu
