// The gradient of a convolution's input as a convolution forward: of the output's gradient, with
// the kernel's elements in reverse order and its channels and filters exchanged. The library is
// faster at those.
#pragma once

#include "backends/codegen/host/prepared/convolution.h"

#include <optional>

namespace kiln::cpu {

/// That convolution; none where strides or groups stand against it.
std::optional<codegen::Convolution> turned(const codegen::Convolution& convolution);

/// `forward` computes turned(convolution) and was made with the same `packed`.
std::shared_ptr<const codegen::PreparedConvolution> make_turned_convolution(
    const codegen::Convolution& convolution, bool packed,
    std::shared_ptr<const codegen::PreparedConvolution> forward);

}  // namespace kiln::cpu
