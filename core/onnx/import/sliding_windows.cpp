// Computes window positions and padding by the formulas of Conv and the pools in the ONNX docs.
#include "core/onnx/import/sliding_windows.h"

#include "core/k/image/sliding_impl.h"

#include <numeric>

namespace kiln::onnx {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Value;

AutoPad auto_pad_of(const NodeContext& node) {
  const std::string name = node.string("auto_pad", "NOTSET");
  if (name == "NOTSET" || name.empty()) return AutoPad::NotSet;
  if (name == "VALID") return AutoPad::Valid;
  if (name == "SAME_UPPER") return AutoPad::SameUpper;
  if (name == "SAME_LOWER") return AutoPad::SameLower;
  node.fail(text("auto_pad '", name, "' is none of NOTSET, VALID, SAME_UPPER and SAME_LOWER"));
}

Ints spatial_integers(const NodeContext& node, const char* name, std::size_t count,
                      std::int64_t otherwise, std::int64_t smallest) {
  const auto given = node.integers(name);
  if (!given || given->empty()) return Ints(count, otherwise);
  if (given->size() != count) {
    node.fail(
        text(name, " (", join_text(*given), ") has ", given->size(), " entries, not ", count));
  }
  for (const std::int64_t one : *given) {
    if (one < smallest) node.fail(text(name, " (", join_text(*given), ") are below ", smallest));
  }
  return *given;
}

SpatialPads spatial_pads(const NodeContext& node, std::size_t count) {
  const Ints all = spatial_integers(node, "pads", 2 * count, 0, 0);
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(count);
  return {{all.begin(), middle}, {middle, all.end()}};
}

std::size_t spatial_rank(const NodeContext& node, const Value& x) {
  if (x.rank() < 3) node.fail(text("x has no spatial axes (x ", x.type(), ")"));
  return static_cast<std::size_t>(x.rank()) - 2;
}

namespace {

/// Padding so that ceil(size / stride) windows of `width` elements fit.
void append_same(SlidingWindows& windows, const Dim& size, const Dim& width, const Dim& stride,
                 AutoPad auto_pad) {
  const Dim count = ceil_div(size, stride);
  const Dim total = max((count - 1) * stride + width - size, 0);
  const Dim less = floor_div(total, 2), more = total - less;
  const bool is_upper = auto_pad == AutoPad::SameUpper;
  windows.counts.push_back(count);
  windows.low.push_back(is_upper ? less : more);
  windows.high.push_back(is_upper ? more : less);
  windows.overhang.push_back(0);
}

}  // namespace

SlidingWindows sliding_windows(const NodeContext& node, const Value& x, const Dims& sizes) {
  const std::size_t n = spatial_rank(node, x);
  SlidingWindows result{.input = channels_to_end(x, DataFormat::ChannelsFirst),
                        .sizes = sizes,
                        .strides = spatial_integers(node, "strides", n, 1, 1),
                        .dilations = spatial_integers(node, "dilations", n, 1, 1),
                        .low = {},
                        .high = {},
                        .counts = {},
                        .overhang = {}};
  const AutoPad auto_pad = auto_pad_of(node);
  // auto_pad = VALID rounds down whatever ceil_mode is, by its formula.
  const bool rounds_up = node.integer("ceil_mode", 0) != 0 && auto_pad == AutoPad::NotSet;
  const SpatialPads pads = spatial_pads(node, n);
  Dims smallest(n + 2, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const Dim& size = x.dims()[i + 2];
    const Dim width = (sizes[i] - 1) * Dim(result.dilations[i]) + 1, stride = result.strides[i];
    if (auto_pad == AutoPad::SameUpper || auto_pad == AutoPad::SameLower) {
      append_same(result, size, width, stride, auto_pad);
      continue;
    }
    const bool has_pads = auto_pad == AutoPad::NotSet;
    const Dim low = has_pads ? pads.low[i] : 0, high = has_pads ? pads.high[i] : 0;
    const Dim padded = low + size + high;
    smallest[i + 1] = max(width - low - high, 0);
    result.low.push_back(low);
    result.high.push_back(high);
    if (!rounds_up) {
      result.counts.push_back(floor_div(padded - width, stride) + 1);
      result.overhang.push_back(0);
      continue;
    }
    // Windows that would start in the padding behind the elements are left out.
    const Dim count = min(ceil_div(padded - width, stride) + 1, ceil_div(low + size, stride));
    result.counts.push_back(count);
    result.overhang.push_back(max((count - 1) * stride + width - padded, 0));
  }
  result.input = ir::fits(result.input, smallest);
  return result;
}

Value windowed(const SlidingWindows& windows, const Value& padding) {
  const std::size_t n = windows.sizes.size();
  Dims low(n + 2, 0), high = low;
  Ints axes(n);
  std::iota(axes.begin(), axes.end(), 1);
  for (std::size_t i = 0; i < n; ++i) {
    low[i + 1] = windows.low[i];
    high[i + 1] = windows.high[i] + windows.overhang[i];
  }
  return ir::window(ir::pad(windows.input, padding, low, high), {.axes = axes,
                                                                 .counts = windows.counts,
                                                                 .sizes = windows.sizes,
                                                                 .strides = windows.strides,
                                                                 .dilations = windows.dilations});
}

Value first_coordinates(const SlidingWindows& windows, std::size_t i) {
  const Value position = ir::iota({DType::Int64, {windows.counts[i]}}, 0);
  const Value low = ir::broadcast_to(ir::dim_size(windows.low[i]), position.dims());
  return position * static_cast<double>(windows.strides[i]) - low;
}

}  // namespace kiln::onnx
