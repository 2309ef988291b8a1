// Forward convolutions of few pixels. Each part multiplies by its own panels of the filter, one at
// a time: a panel stays in the cache and is read once. Where the filter is not packed before the
// call, each part packs its panels, so that threads share the packing.
#pragma once

#include "backends/codegen/host/prepared/convolution.h"
#include "backends/cpu/gemm/native_gemm.h"

namespace kiln::cpu {

enum class PanelFilter : std::uint8_t {
  Packing,    // each run packs it
  Prepacked,  // it is packed before the runs
  Flipped,    // each run packs it: the filter of backward data, given in its forward form
};

/// The parts are filters and depend only on the sizes. REQUIRES: one group, 1 or 2 spatial
/// axes, all sizes above 0; filters are a multiple of P = NativeGemm<float>::panel_columns(),
/// channels * P is a multiple of 16; the machine has the ISA.
std::shared_ptr<const codegen::PreparedConvolution> make_forward_by_panels(
    const codegen::Convolution& convolution, PanelFilter filter, GemmIsa isa);

}  // namespace kiln::cpu
