// Backward weights by native loops: for each element of the window, the matmul of two tall
// matrices, the pixels of x (transposed) and those of the output's gradient, both read in place.
// For AVX-512.
#pragma once

#include "backends/codegen/host/prepared/convolution.h"

namespace kiln::cpu {

/// Whether this is a backward-weights convolution for which the native loops are faster than
/// oneDNN.
bool takes_backward_weights(const codegen::Convolution& convolution);

/// REQUIRES: takes_backward_weights, and a processor with AVX-512.
std::shared_ptr<const codegen::PreparedConvolution> make_backward_weights(
    const codegen::Convolution& convolution);

}  // namespace kiln::cpu
