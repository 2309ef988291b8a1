// Forward convolutions by native loops: of one channel, such as a first layer of grey images, and,
// with AVX2, of many channels.
#pragma once

#include "backends/codegen/host/prepared/convolution.h"
#include "backends/cpu/gemm/native_gemm.h"

namespace kiln::cpu {

/// Whether this is a forward convolution of one group, with 1 or 2 spatial axes, for which the
/// native loops are faster than oneDNN.
bool takes_forward(const codegen::Convolution& convolution, GemmIsa isa);

/// Prepares parts of rows, which follow from the sizes alone. A filter of one channel is read in
/// place, others in panels: `packed` before the calls, or at the start of each one. REQUIRES: a
/// forward convolution of one group and 1 or 2 spatial axes, all sizes above 0, the machine has the
/// ISA.
std::shared_ptr<const codegen::PreparedConvolution> make_forward(
    const codegen::Convolution& convolution, bool packed, GemmIsa isa);

}  // namespace kiln::cpu
