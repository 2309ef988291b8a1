// Depthwise convolutions and their backward data by native loops: each channel has its own filter
// and gives one channel of the output.
#pragma once

#include "backends/codegen/host/prepared/convolution.h"
#include "backends/cpu/gemm/native_gemm.h"

namespace kiln::cpu {

/// Prepares parts of rows, which depend only on the sizes; the filter is read in place. REQUIRES:
/// one channel and one filter per group, forward or backward data with strides of 1, 1 or 2 spatial
/// axes, all sizes above 0, the machine has the ISA.
std::shared_ptr<const codegen::PreparedConvolution> make_depthwise(
    const codegen::Convolution& convolution, GemmIsa isa);

}  // namespace kiln::cpu
