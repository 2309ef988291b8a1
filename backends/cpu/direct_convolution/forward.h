// Forward convolutions by native loops: of one channel, such as a first layer of grey images, and,
// with AVX2, of many channels.
#pragma once

#include "backends/codegen/host/prepared/convolution.h"
#include "backends/cpu/gemm/native_gemm.h"

namespace kiln::cpu {

/// The parts are rows of y and depend only on the sizes. The filter of one channel is read in
/// place. Others are packed into panels: by pack() if `packed`, else by start(). REQUIRES: a
/// forward convolution of one group and 1 or 2 spatial axes, all sizes above 0, the machine has the
/// ISA.
std::shared_ptr<const codegen::PreparedConvolution> make_forward(
    const codegen::Convolution& convolution, bool packed, GemmIsa isa);

}  // namespace kiln::cpu
