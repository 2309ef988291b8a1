// The convolution table and its lookup. A row is added or changed only with a measurement.
#include "backends/cpu/convolution_table.h"

#include "backends/cpu/onednn/flipped_filter.h"

#include <algorithm>
#include <iterator>

namespace kiln::cpu {
namespace {

using codegen::Convolution;
using codegen::product;
using enum ConvolutionImplementation;
using enum codegen::ConvRole;
using enum GemmIsa;

constexpr SetOf<GemmIsa> kAllIsas{Baseline, Avx2, Avx512, Amx};
constexpr SetOf<GemmIsa> kWideVectors{Avx512, Amx};
constexpr Range kOne{1, 1};
constexpr Range kUpTo2{.max = 2};
/// Fewer channels make short runs of contiguous elements.
constexpr Range kPanelChannels{.min = 16};
/// The columns of a panel with AVX2; a partial one leaves the second vector of its tiles unused.
constexpr std::int64_t kPanel = 16;
/// With larger windows, too many pixels at the borders have tiles of one pixel.
constexpr std::int64_t kMaxTaps = 25;
/// Fewer pixels are not divided into rows: they would read too much of the filter for each pixel.
constexpr std::int64_t kMinPixelsOfRows = 512;
/// Fewer rows are too few parts for threads.
constexpr Range kRows{.min = 8};
/// Fewer filters are too few parts for threads.
constexpr Range kPanelFilters{.min = 64};

constexpr ConvolutionRow kTable[] = {
    {.name = "depthwise",
     .implementation = Depthwise,
     .isas = kAllIsas,
     .roles = {Output},
     .axes = kUpTo2,
     .groups = {.min = 8},
     .channels = kOne,
     .filters = kOne},
    {.name = "backward data of a depthwise convolution",
     .implementation = Depthwise,
     .isas = kAllIsas,
     .roles = {Input},
     .strided = Whether::No,
     .axes = kUpTo2,
     .groups = {.min = 8},
     .channels = kOne,
     .filters = kOne},

    {.name = "one channel",
     .implementation = Forward,
     .isas = kAllIsas,
     .roles = {Output},
     .axes = kUpTo2,
     .groups = kOne,
     .channels = kOne,
     .filters = {.min = 8}},
    {.name = "whole panels",
     .implementation = Forward,
     .isas = {Avx2},
     .roles = {Output},
     .axes = kUpTo2,
     .groups = kOne,
     .channels = kPanelChannels,
     .filter_multiple = kPanel,
     .taps = {2, kMaxTaps},
     .rows = kRows,
     .pixels = {.min = kMinPixelsOfRows}},
    {.name = "whole panels of few pixels",
     .implementation = ForwardByPanels,
     .isas = {Avx2},
     .roles = {Output},
     .axes = kUpTo2,
     .groups = kOne,
     .channels = kPanelChannels,
     .filters = kPanelFilters,
     .filter_multiple = kPanel,
     .taps = {2, kMaxTaps},
     .pixels = {.max = kMinPixelsOfRows - 1}},
    {.name = "1x1 with strides, of few pixels",
     .implementation = ForwardByPanels,
     .isas = {Avx2},
     .roles = {Output},
     .packed = Whether::No,
     .strided = Whether::Yes,
     .axes = kUpTo2,
     .groups = kOne,
     .channels = kPanelChannels,
     .filters = kPanelFilters,
     .filter_multiple = kPanel,
     .taps = kOne,
     .pixels = {.max = kMinPixelsOfRows - 1}},

    // Multiples of a vector of filters.
    {.name = "backward weights",
     .implementation = BackwardWeights,
     .isas = kWideVectors,
     .roles = {Filter},
     .axes = kUpTo2,
     .groups = kOne,
     .channels = {.min = 8},
     .filters = {.min = 16},
     .filter_multiple = 16},
    {.name = "backward weights of several taps",
     .implementation = BackwardWeights,
     .isas = {Avx2},
     .roles = {Filter},
     .axes = kUpTo2,
     .groups = kOne,
     .channels = {.min = 8},
     .filters = {.min = 16},
     .filter_multiple = 8,
     .taps = {.min = 2}},
    // oneDNN is faster with 8 or more images.
    {.name = "gradients of a 1x1 convolution of few images",
     .implementation = PointwiseGradient,
     .isas = {Avx2},
     .roles = {Input, Filter},
     .packed = Whether::No,
     .strided = Whether::No,
     .groups = kOne,
     .batch = {.max = 7},
     .taps = kOne,
     .same_pixels = true},

    {.name = "backward data, whole panels of few pixels",
     .implementation = FlippedByPanels,
     .isas = {Avx2},
     .roles = {Input},
     .packed = Whether::No,
     .axes = kUpTo2,
     .channels = kPanelChannels,
     .filters = kPanelFilters,
     .filter_multiple = kPanel,
     .taps = {2, kMaxTaps},
     .pixels = {.max = kMinPixelsOfRows - 1}},
    {.name = "backward data, whole panels",
     .implementation = FlippedForward,
     .isas = {Avx2},
     .roles = {Input},
     .axes = kUpTo2,
     .channels = kPanelChannels,
     .filter_multiple = kPanel,
     .taps = {2, kMaxTaps},
     .rows = kRows,
     .pixels = {.min = kMinPixelsOfRows}},

    {.name = "all others",
     .implementation = OneDnn,
     .isas = kAllIsas,
     .roles = {Output, Input, Filter}},
};

bool is_met(Whether wanted, bool value) {
  return wanted == Whether::Any || (wanted == Whether::Yes) == value;
}

bool are_all(const ir::Ints& sizes, std::int64_t value) {
  return std::all_of(sizes.begin(), sizes.end(), [&](std::int64_t s) { return s == value; });
}

bool has_sizes(const ConvolutionRow& row, const Convolution& c) {
  const std::size_t axes = c.output_sizes.size();
  const std::int64_t rows = axes < 2 ? 1 : c.output_sizes[axes - 2];
  return is_met(row.strided, !are_all(c.strides, 1)) &&
         row.axes.has(static_cast<std::int64_t>(axes)) && row.groups.has(c.groups) &&
         row.batch.has(c.batch) && row.channels.has(c.channels) && row.filters.has(c.filters) &&
         c.filters % row.filter_multiple == 0 && row.taps.has(product(c.windows)) &&
         row.rows.has(c.batch * rows) && row.pixels.has(c.batch * product(c.output_sizes)) &&
         (!row.same_pixels || (c.sizes == c.output_sizes && are_all(c.low, 0)));
}

bool has(const ConvolutionRow& row, const Convolution& c, bool packed, GemmIsa isa) {
  if (!row.isas.has(isa) || !row.roles.has(c.role) || !is_met(row.packed, packed)) return false;
  if (row.implementation != FlippedByPanels && row.implementation != FlippedForward) {
    return has_sizes(row, c);
  }
  const std::optional<Convolution> forward = as_forward_convolution(c);
  return forward && has_sizes(row, *forward);
}

}  // namespace

std::span<const ConvolutionRow> convolution_table() { return kTable; }

const ConvolutionRow& convolution_row(const Convolution& convolution, bool packed, GemmIsa isa) {
  return *std::find_if(std::begin(kTable), std::end(kTable), [&](const ConvolutionRow& row) {
    return has(row, convolution, packed, isa);
  });
}

codegen::Convolution without_unit_axes(codegen::Convolution convolution) {
  Convolution& c = convolution;
  const auto is_unit = [&](std::size_t i) {
    return c.sizes[i] == 1 && c.windows[i] == 1 && c.output_sizes[i] == 1 && c.low[i] == 0;
  };
  for (std::size_t i = c.sizes.size(); i-- > 0 && c.sizes.size() > 1;) {
    if (!is_unit(i)) continue;
    for (ir::Ints* list : {&c.sizes, &c.windows, &c.output_sizes, &c.strides, &c.dilations, &c.low})
      list->erase(list->begin() + static_cast<std::ptrdiff_t>(i));
  }
  return convolution;
}

}  // namespace kiln::cpu
