// The gradient of a convolution's kernel by own loops: for each element of the window a product of
// two tall matrices, x's pixels and those of the output's gradient, as they lie. Made for AVX-512.
#pragma once

#include "backends/codegen/host/prepared/convolution.h"

namespace kiln::cpu {

/// Whether this is such a gradient, of a form in which own loops are faster than the library.
bool takes_kernel_gradient(const codegen::Convolution& convolution);

/// REQUIRES: takes_kernel_gradient, and a processor with AVX-512.
std::shared_ptr<const codegen::PreparedConvolution> make_kernel_gradient(
    const codegen::Convolution& convolution);

}  // namespace kiln::cpu
