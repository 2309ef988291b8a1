// Forward convolutions of few channels by native loops, such as a first layer of grey images.
#pragma once

#include "backends/codegen/host/prepared/convolution.h"
#include "backends/cpu/gemm/native_gemm.h"

namespace kiln::cpu {

/// Whether this is a forward convolution of one channel to at least 8 filters, with 1 or 2 spatial
/// axes: the native loops are faster than oneDNN.
bool takes_forward(const codegen::Convolution& convolution);

/// Prepares parts of rows, which follow from the sizes alone; the filter is read in place.
/// REQUIRES: a forward convolution of one group and 1 or 2 spatial axes, all sizes above 0, the
/// machine has the ISA.
std::shared_ptr<const codegen::PreparedConvolution> make_forward(
    const codegen::Convolution& convolution, GemmIsa isa);

}  // namespace kiln::cpu
