// Depthwise convolutions and their gradients of inputs by native loops: each channel has a filter
// of its own and makes one channel of the output.
#pragma once

#include "backends/codegen/host/prepared/convolution.h"
#include "backends/cpu/tiled/tiled_product.h"

namespace kiln::cpu {

/// Whether this is one over rows or images, with channels for half a vector at least; a gradient of
/// inputs has strides of 1.
bool takes_depthwise(const codegen::Convolution& convolution);

/// Reads the filter as the program has it, in parts of rows that follow from the sizes alone.
/// REQUIRES: takes_depthwise, all sizes above 0, and that the machine has the level.
std::shared_ptr<const codegen::PreparedConvolution> make_depthwise(
    const codegen::Convolution& convolution, TileLevel level);

}  // namespace kiln::cpu
