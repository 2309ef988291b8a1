// Backward weights by native loops: for each element of the window, the matmul of two tall
// matrices, the pixels of x (transposed) and those of the output's gradient, both read in place.
// For AVX-512 and AVX2.
#pragma once

#include "backends/codegen/host/prepared/convolution.h"
#include "backends/cpu/gemm/native_gemm.h"

namespace kiln::cpu {

/// The parts are images or, of few images, channels of x, and depend only on the sizes. REQUIRES:
/// backward weights of one group, 1 or 2 spatial axes, filters a multiple of the floats of a
/// vector; AVX2 or higher, which the machine has.
std::shared_ptr<const codegen::PreparedConvolution> make_backward_weights(
    const codegen::Convolution& convolution, GemmIsa isa);

}  // namespace kiln::cpu
