// Computes backward data as a forward convolution with a flipped filter: the output's gradient is
// convolved with the filter whose elements are in reverse order and whose input and output channels
// are exchanged. Forward convolutions by oneDNN or native loops are faster than oneDNN's backward
// data.
#pragma once

#include "backends/codegen/host/prepared/convolution.h"

#include <optional>

namespace kiln::cpu {

/// Returns the forward convolution; none with strides, groups, or padding wider than the window.
std::optional<codegen::Convolution> as_forward_convolution(const codegen::Convolution& convolution);

/// `forward` computes as_forward_convolution(convolution) and was prepared with the same `packed`;
/// `uses_onednn`: by oneDNN, which computes nothing while the process exits.
std::shared_ptr<const codegen::PreparedConvolution> make_flipped_filter_convolution(
    const codegen::Convolution& convolution, bool packed,
    std::shared_ptr<const codegen::PreparedConvolution> forward, bool uses_onednn);

}  // namespace kiln::cpu
