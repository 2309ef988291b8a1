// Forward convolutions by native loops: of one channel, such as a first layer of grey images, and,
// with AVX2, of many channels.
#pragma once

#include "backends/codegen/host/prepared/convolution.h"
#include "backends/cpu/gemm/native_gemm.h"

namespace kiln::cpu {

/// Convolutions of fewer pixels of output are not divided into rows: they would read too much of
/// the filter for each pixel.
inline constexpr std::int64_t kMinPixelsOfRows = 512;

/// Whether the native loops compute forward convolutions of many channels like this one, by panels
/// of the filter: with AVX2, one group, 1 or 2 spatial axes, at least 16 channels, multiples of 16
/// filters, at most 25 taps. tools/kiln/bench/results/cpu-onednn.md has the measurements.
bool has_whole_panels(const codegen::Convolution& convolution, GemmIsa isa);

/// Whether the native loops compute this convolution in parts of rows: forward, one group, 1 or 2
/// spatial axes; one channel to at least 8 filters or has_whole_panels(), at least 2 taps, 8 rows
/// and kMinPixelsOfRows pixels of output.
bool takes_forward(const codegen::Convolution& convolution, GemmIsa isa);

/// The parts are rows of y and depend only on the sizes. The filter of one channel is read in
/// place. Others are packed into panels: by pack() if `packed`, else by start(). REQUIRES: a
/// forward convolution of one group and 1 or 2 spatial axes, all sizes above 0, the machine has the
/// ISA.
std::shared_ptr<const codegen::PreparedConvolution> make_forward(
    const codegen::Convolution& convolution, bool packed, GemmIsa isa);

}  // namespace kiln::cpu
