// Forward convolutions of few pixels with a filter that is not packed before the call. Each part
// packs and multiplies by its own panels of the filter, one at a time: a panel stays in the cache,
// and threads share the packing.
#pragma once

#include "backends/codegen/host/prepared/convolution.h"
#include "backends/cpu/gemm/native_gemm.h"

namespace kiln::cpu {

/// The parts are filters and depend only on the sizes. `flipped`: the convolution is backward data
/// in its forward form, and the filter is that of the original. REQUIRES: one group, 1 or 2 spatial
/// axes, all sizes above 0; filters are a multiple of P = NativeGemm<float>::panel_columns(),
/// channels * P is one of 16; the machine has the ISA.
std::shared_ptr<const codegen::PreparedConvolution> make_forward_by_panels(
    const codegen::Convolution& convolution, bool flipped, GemmIsa isa);

}  // namespace kiln::cpu
