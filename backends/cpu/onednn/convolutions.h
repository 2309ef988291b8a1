// Float32 convolutions and their gradients through oneDNN: activations channels last, as the
// program has them, filters in the layout that oneDNN prefers.
#pragma once

#include "backends/codegen/host/prepared/convolution.h"

#include <memory>

namespace kiln::cpu {

/// Prepares a convolution; what oneDNN rejects runs as plain loops. Each part runs with one OpenMP
/// thread; the parts depend only on the sizes, so that bits do not depend on the number of
/// threads. `packed`: the filter will be packed before the runs. REQUIRES: all sizes above 0. Any
/// thread. Throws std::bad_alloc; pack() and runs throw sdk::Failure.
std::shared_ptr<const codegen::PreparedConvolution> make_convolution(
    const codegen::Convolution& convolution, bool packed);

/// Prepares plain loops in one part, for what oneDNN rejects and for calls while the process exits.
std::shared_ptr<const codegen::PreparedConvolution> make_loop_convolution(
    const codegen::Convolution& convolution);

}  // namespace kiln::cpu
