// Depthwise convolutions and their backward data by native loops: each channel has its own filter
// and gives one channel of the output.
#pragma once

#include "backends/codegen/host/prepared/convolution.h"
#include "backends/cpu/gemm/native_gemm.h"

namespace kiln::cpu {

/// Whether this is a depthwise convolution of 1 or 2 spatial axes with at least 8 channels;
/// backward data needs strides of 1.
bool takes_depthwise(const codegen::Convolution& convolution);

/// Prepares parts of rows, which depend only on the sizes; the filter is read in place.
/// REQUIRES: takes_depthwise(convolution), all sizes above 0, the machine has the ISA.
std::shared_ptr<const codegen::PreparedConvolution> make_depthwise(
    const codegen::Convolution& convolution, GemmIsa isa);

}  // namespace kiln::cpu
