// Imports convolutions. ONNX has channels first and filters (filters, channels, spatial..), Conv
// channels last and filters (spatial.., channels, filters).
#include "core/onnx/import/convolution.h"

#include "core/k/image/sliding_impl.h"
#include "core/onnx/import/groups.h"
#include "core/onnx/import/sliding_windows.h"
#include "core/types/at.h"

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Value;
using Values = std::vector<Value>;

/// (filters, channels, spatial..) as (spatial.., channels, filters). Throws ValueError unless it
/// has `spatial` spatial axes, of the sizes in the attribute kernel_shape.
Value filter_of(const NodeContext& node, const Value& w, std::size_t spatial) {
  const int rank = static_cast<int>(spatial) + 2;
  if (w.rank() != rank)
    node.fail(text("w has rank ", w.rank(), ", not ", rank, " (w ", w.type(), ")"));
  Dims smallest(w.dims().size(), 0);
  const Ints shape = spatial_integers(node, "kernel_shape", spatial, -1, 1);
  for (std::size_t i = 0; i < spatial; ++i) {
    smallest[i + 2] = 1;
    if (shape[i] < 0 || equal(shape[i], w.dims()[i + 2]) != ir::Ternary::No) continue;
    node.fail(text("kernel_shape (", join_text(shape), ") is not that of w (w ", w.type(), ")"));
  }
  Ints axes;
  for (int i = 2; i < rank; ++i) axes.push_back(i);
  axes.push_back(1);
  axes.push_back(0);
  return ir::permute(ir::fits(w, smallest), axes);
}

std::int64_t groups_of(const NodeContext& node) {
  const std::int64_t groups = node.integer("group", 1);
  if (groups < 1) node.fail(text("group is ", groups, ", below 1"));
  return groups;
}

/// y, channels last, plus the bias, channels first.
Value with_bias(NodeContext& node, const Value& y) {
  if (!node.has(2)) return channels_from_end(y, DataFormat::ChannelsFirst);
  const Value bias = node.input(2);
  const Dim& channels = y.dims().back();
  if (bias.rank() != 1 || equal(bias.dims()[0], channels) == ir::Ternary::No) {
    node.fail(text("b is no vector of ", channels, " elements (b ", bias.type(), ")"));
  }
  const Value wide = ir::broadcast(ir::with_dims(bias, {channels}), y.dims(), {y.rank() - 1});
  return channels_from_end(y + wide, DataFormat::ChannelsFirst);
}

Values import_conv(NodeContext& node) {
  return {with_bias(node, convolved(node, node.input(0), node.input(1)))};
}

/// The size and the padding of the result of ConvTranspose along one axis.
struct TransposedAxis {
  Dim size, low, high;
};

/// `whole`: the size without padding. `given`: of the result, which the padding must leave over.
TransposedAxis padded_to(const Dim& whole, const Dim& given, AutoPad auto_pad) {
  const Dim total = max(whole - given, 0), less = floor_div(total, 2);
  const Dim low = auto_pad == AutoPad::SameUpper ? less : total - less;
  return {given, low, total - low};
}

/// A convolution whose result is the input of a forward one. Its size without padding is
///   stride (size - 1) + output_padding + (window - 1) dilation + 1.
/// output_shape, or auto_pad = SAME_*, which makes it size * stride, decide the padding.
Values import_conv_transpose(NodeContext& node) {
  const Value x = node.input(0);
  const std::size_t n = spatial_rank(node, x);
  const Value filter = filter_of(node, node.input(1), n);
  ir::ConvAttrs attrs{.role = ir::ConvRole::Input,
                      .strides = spatial_integers(node, "strides", n, 1, 1),
                      .dilations = spatial_integers(node, "dilations", n, 1, 1),
                      .low = {},
                      .high = {},
                      .sizes = {},
                      .groups = groups_of(node)};
  const Ints more = spatial_integers(node, "output_padding", n, 0, 0);
  const SpatialPads pads = spatial_pads(node, n);
  const AutoPad auto_pad = auto_pad_of(node);
  // Some exporters give the batch and the channels, too.
  auto shape = node.integers("output_shape");
  if (shape && shape->size() == n + 2) shape->erase(shape->begin(), shape->begin() + 2);
  if (shape && shape->size() != n) {
    node.fail(
        text("output_shape (", join_text(*shape), ") has ", shape->size(), " entries, not ", n));
  }
  Dims smallest(n + 2, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const Dim &size = x.dims()[i + 2], stride = attrs.strides[i];
    const Dim width = (filter.dims()[i] - 1) * Dim(attrs.dilations[i]) + 1;
    const Dim whole = stride * (size - 1) + more[i] + width;
    const TransposedAxis axis = [&]() -> TransposedAxis {
      if (shape) return padded_to(whole, (*shape)[i], auto_pad);
      if (auto_pad == AutoPad::Valid) return {whole, 0, 0};
      if (auto_pad != AutoPad::NotSet) return padded_to(whole, size * stride, auto_pad);
      const Dim low = pads.low[i], high = pads.high[i];
      return {whole - low - high, low, high};
    }();
    smallest[i + 1] = 1;
    attrs.sizes.push_back(axis.size);
    attrs.low.push_back(axis.low);
    attrs.high.push_back(axis.high);
  }
  const Value last = ir::fits(channels_to_end(x, DataFormat::ChannelsFirst), smallest);
  return {with_bias(node, ir::make(ir::Op::Conv, attrs, {filter, last}))};
}

constexpr OperatorRow kConvolutionRows[] = {
    {"Conv", {1, 11, 22}, import_conv},
    {"ConvTranspose", {1, 11, 22}, import_conv_transpose},
};

}  // namespace

ir::Value convolved(const NodeContext& node, const ir::Value& x, const ir::Value& w) {
  const std::size_t n = spatial_rank(node, x);
  const Value filter = filter_of(node, w, n);
  const Dims sizes(filter.dims().begin(), filter.dims().begin() + static_cast<std::ptrdiff_t>(n));
  const SlidingWindows windows = sliding_windows(node, x, sizes);
  return ir::make(ir::Op::Conv,
                  ir::ConvAttrs{.role = ir::ConvRole::Output,
                                .strides = windows.strides,
                                .dilations = windows.dilations,
                                .low = windows.low,
                                .high = windows.high,
                                .sizes = windows.counts,
                                .groups = groups_of(node)},
                  {windows.input, filter});
}

std::span<const OperatorRow> convolution_operators() { return kConvolutionRows; }

}  // namespace kiln::onnx
