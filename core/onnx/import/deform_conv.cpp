// Imports deformable convolution: the elements of every window are sampled at points of their own,
// and contracted with the filter.
#include "core/onnx/import/groups.h"
#include "core/onnx/import/sample_points.h"
#include "core/onnx/import/sliding_windows.h"
#include "core/ops/halves.h"
#include "core/types/at.h"

#include <numeric>

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Op;
using ir::Value;
using Values = std::vector<Value>;

/// The shapes of a deformable convolution: points have the dims (batch, offset groups, elements of
/// the window, positions..).
struct DeformedWindows {
  Dims points;
  Dims sizes;  // of the window
  Dim area;
  std::int64_t offset_groups;
};

/// x with the dims `leading` instead of those before axis `kept_from`.
Value with_leading(const Value& x, const Dims& leading, std::size_t kept_from) {
  Dims dims = leading;
  dims.insert(dims.end(), x.dims().begin() + static_cast<std::ptrdiff_t>(kept_from),
              x.dims().end());
  return ir::reshape(x, dims);
}

/// The coordinates along spatial axis i: of the window, of its element, and the offset.
Value deformed_points(const DeformedWindows& windows, const Value& offset, std::size_t i,
                      std::int64_t stride, std::int64_t dilation, std::int64_t low) {
  const DType dtype = offset.dtype();
  Dim inner = 1;
  for (std::size_t j = i + 1; j < windows.sizes.size(); ++j) inner = inner * windows.sizes[j];
  const Value element = ir::iota({DType::Int64, {windows.area}}, 0);
  const auto number = [&](const Dim& dim) {
    return ir::broadcast_to(ir::dim_size(dim), element.dims());
  };
  const Value along = ir::binary(Op::Mod, element / number(inner), number(windows.sizes[i]));
  const Value tap = ir::cast(along, dtype) * static_cast<double>(dilation);
  const auto axis = static_cast<std::int64_t>(i) + 3;
  const Value position = ir::iota({dtype, windows.points}, axis) * static_cast<double>(stride);
  const auto column = static_cast<std::int64_t>(i);
  const Value given = ir::reshape(ir::slice_axis(offset, 3, column, column + 1), windows.points);
  return position + ir::broadcast(tap, windows.points, {2}) + given - static_cast<double>(low);
}

Values import_deform_conv(NodeContext& node) {
  const Value original = node.input(0), x = ir::widened(original);
  const Value w = ir::cast(node.input(1), x.dtype()), offset = ir::cast(node.input(2), x.dtype());
  const std::size_t n = spatial_rank(node, x);
  const auto rank = static_cast<std::int64_t>(n);
  if (w.rank() != x.rank() || offset.rank() != x.rank()) {
    node.fail(text("w and offset do not have the rank of x (x ", x.type(), ", w ", w.type(),
                   ", offset ", offset.type(), ")"));
  }
  const std::int64_t groups = node.integer("group", 1);
  DeformedWindows windows{.points = {},
                          .sizes = {w.dims().begin() + 2, w.dims().end()},
                          .area = 1,
                          .offset_groups = node.integer("offset_group", 1)};
  if (groups < 1 || windows.offset_groups < 1)
    node.fail(text("group ", groups, " or offset_group ", windows.offset_groups, " is below 1"));
  windows.area = product(windows.sizes);
  const Dim &batch = x.dims()[0], &channels = x.dims()[1], &filters = w.dims()[0];
  const Dims leading{batch, windows.offset_groups, windows.area};
  windows.points = leading;
  windows.points.insert(windows.points.end(), offset.dims().begin() + 2, offset.dims().end());
  Dims leading_offset = leading;
  leading_offset.push_back(rank);
  const Value offsets = with_leading(offset, leading_offset, 2);
  const Ints strides = spatial_integers(node, "strides", n, 1, 1);
  const Ints dilations = spatial_integers(node, "dilations", n, 1, 1);
  const SpatialPads pads = spatial_pads(node, n);
  Values points;
  for (std::size_t i = 0; i < n; ++i) {
    points.push_back(deformed_points(windows, offsets, i, strides[i], dilations[i], pads.low[i]));
  }
  // Every group of offsets has a table of its channels.
  const Dim part = floor_div(channels, windows.offset_groups);
  const PixelTable table = pixel_table(with_leading(x, {batch * windows.offset_groups, part}, 2));
  const auto index = [&](std::int64_t axis) {
    return ir::iota({DType::Int64, windows.points}, axis);
  };
  const Value image = index(0) * static_cast<double>(windows.offset_groups) + index(1);
  Value elements = sampled(table, image, points, {});
  if (node.has(4)) {
    const Value mask = with_leading(ir::cast(node.input(4), x.dtype()), leading, 2);
    elements = elements * ir::broadcast(mask, elements.dims(), ir::all_axes(mask));
  }
  // (batch, offset groups, area, positions.., part) to (batch, positions.., channels, area).
  Ints order{0};
  for (std::int64_t i = 0; i < rank; ++i) order.push_back(i + 3);
  order.insert(order.end(), {1, rank + 3, 2});
  const Dim group_channels = floor_div(channels, groups);
  Dims dims{batch}, result{batch, filters};
  dims.insert(dims.end(), windows.points.begin() + 3, windows.points.end());
  result.insert(result.end(), windows.points.begin() + 3, windows.points.end());
  dims.insert(dims.end(), {groups, group_channels, windows.area});
  const Value columns = ir::reshape(ir::permute(elements, order), dims);
  const Value filter =
      ir::reshape(w, {groups, floor_div(filters, groups), group_channels, windows.area});
  // Labels: the batch 0, positions 1 .. rank, then group, channel, area, and filter.
  Ints column_labels(n + 4), result_labels{0, rank + 1, rank + 4};
  std::iota(column_labels.begin(), column_labels.end(), 0);
  for (std::int64_t i = 1; i <= rank; ++i) result_labels.push_back(i);
  Value y = ir::reshape(ir::dot(columns, column_labels, filter,
                                {rank + 1, rank + 4, rank + 2, rank + 3}, result_labels),
                        result);
  if (node.has(3)) {
    const Value bias = ir::cast(node.input(3), x.dtype());
    y = y + ir::broadcast(ir::with_dims(bias, {filters}), result, {1});
  }
  return {ir::cast(y, original.dtype())};
}

constexpr OperatorRow kDeformConvRows[] = {
    {"DeformConv", {19, 22}, import_deform_conv},
};

}  // namespace

std::span<const OperatorRow> deform_conv_operators() { return kDeformConvRows; }

}  // namespace kiln::onnx
