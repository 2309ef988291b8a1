// Chooses the implementation of a convolution from one table over classes of shapes.
#pragma once

#include "backends/codegen/host/prepared/convolution.h"
#include "backends/cpu/gemm_table.h"

namespace kiln::cpu {

enum class ConvolutionImplementation : std::uint8_t {
  Depthwise,          // make_depthwise
  Forward,            // make_forward
  ForwardByPanels,    // make_forward_by_panels
  BackwardWeights,    // make_backward_weights
  PointwiseGradient,  // make_pointwise_gradient
  FlippedByPanels,    // make_forward_by_panels of as_forward_convolution()
  FlippedForward,     // make_forward of as_forward_convolution()
  OneDnn,
};

/// A class of convolutions, and the implementation that was measured to be the fastest for it:
/// tools/kiln/bench/results/cpu-onednn.md and cpu-constants.md.
struct ConvolutionRow {
  std::string_view name;
  ConvolutionImplementation implementation;
  SetOf<GemmIsa> isas;
  SetOf<codegen::ConvRole> roles;
  Whether packed = Whether::Any;   // the filter is packed before the calls
  Whether strided = Whether::Any;  // a stride is not 1
  // Of the Flipped implementations: of as_forward_convolution(), which must exist.
  Range axes = {}, groups = {}, batch = {};
  Range channels = {}, filters = {};  // of one group
  std::int64_t filter_multiple = 1;
  Range taps = {};
  Range rows = {}, pixels = {};  // of the output, of all images
  bool same_pixels = false;      // only where output and input have equal sizes and no padding
};

/// All rows, by priority: the first row that matches decides. The last row matches every
/// convolution.
std::span<const ConvolutionRow> convolution_table();

/// Returns the row of a convolution, from its sizes, whether its filter is packed before the calls,
/// and the ISA; not from the number of threads, since implementations differ in the order of their
/// sums and results must not depend on threads. REQUIRES: all sizes above 0.
const ConvolutionRow& convolution_row(const codegen::Convolution& convolution, bool packed,
                                      GemmIsa isa);

/// Returns the convolution without the spatial axes that have one element, one tap and one output,
/// but for one axis: the tensors have the same layout, and implementations make their tiles along
/// the last axis. An image of 512x1 by a filter of 5x1 is a sequence of 512.
codegen::Convolution without_unit_axes(codegen::Convolution convolution);

}  // namespace kiln::cpu
