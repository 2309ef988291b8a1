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

/// The operands of a deformable convolution, in the dtype that it computes in, and its shapes.
struct DeformConv {
  Value x, w, offset;
  std::int64_t groups, offset_groups;
  Dims sizes;  // of the window, per spatial axis
  Dim area;  // elements of a window
  Dims points;  // (batch, offset groups, area, positions..)

  std::int64_t rank() const { return static_cast<std::int64_t>(sizes.size()); }
  /// The dims of `points` before the positions.
  Dims leading() const { return {x.dims()[0], offset_groups, area}; }
};

/// x with the dims `leading` instead of those before axis `kept_from`.
Value with_leading(const Value& x, const Dims& leading, std::size_t kept_from) {
  Dims dims = leading;
  dims.insert(dims.end(), x.dims().begin() + static_cast<std::ptrdiff_t>(kept_from),
              x.dims().end());
  return ir::reshape(x, dims);
}

/// The coordinates along spatial axis i: of the window, of its element, and the offset.
Value deformed_points(const DeformConv& conv, const Value& offset, std::size_t i,
                      std::int64_t stride, std::int64_t dilation, std::int64_t low) {
  const DType dtype = offset.dtype();
  Dim inner = 1;
  for (std::size_t j = i + 1; j < conv.sizes.size(); ++j) inner = inner * conv.sizes[j];
  const Value element = ir::iota({DType::Int64, {conv.area}}, 0);
  const auto number = [&](const Dim& dim) {
    return ir::broadcast_to(ir::dim_size(dim), element.dims());
  };
  const Value along = ir::binary(Op::Mod, element / number(inner), number(conv.sizes[i]));
  const Value tap = ir::cast(along, dtype) * static_cast<double>(dilation);
  const auto axis = static_cast<std::int64_t>(i) + 3;
  const Value position = ir::iota({dtype, conv.points}, axis) * static_cast<double>(stride);
  const auto column = static_cast<std::int64_t>(i);
  const Value given = ir::reshape(ir::slice_axis(offset, 3, column, column + 1), conv.points);
  return position + ir::broadcast(tap, conv.points, {2}) + given - static_cast<double>(low);
}

DeformConv deform_conv_of(NodeContext& node, const Value& x) {
  const Value w = ir::cast(node.input(1), x.dtype()), offset = ir::cast(node.input(2), x.dtype());
  spatial_rank(node, x);  // at least one
  if (w.rank() != x.rank() || offset.rank() != x.rank()) {
    node.fail(text("w and offset do not have the rank of x (x ", x.type(), ", w ", w.type(),
                   ", offset ", offset.type(), ")"));
  }
  DeformConv conv{.x = x,
                  .w = w,
                  .offset = offset,
                  .groups = node.integer("group", 1),
                  .offset_groups = node.integer("offset_group", 1),
                  .sizes = {w.dims().begin() + 2, w.dims().end()},
                  .area = 1,
                  .points = {}};
  if (conv.groups < 1 || conv.offset_groups < 1) {
    node.fail(text("group ", conv.groups, " or offset_group ", conv.offset_groups, " is below 1"));
  }
  conv.area = product(conv.sizes);
  conv.points = conv.leading();
  conv.points.insert(conv.points.end(), offset.dims().begin() + 2, offset.dims().end());
  return conv;
}

/// The elements of all windows, times the mask: (batch, offset groups, area, positions.., channels
/// of an offset group).
Value sampled_windows(NodeContext& node, const DeformConv& conv) {
  const std::size_t n = conv.sizes.size();
  Dims offset_dims = conv.leading();
  offset_dims.push_back(conv.rank());
  const Value offsets = with_leading(conv.offset, offset_dims, 2);
  const Ints strides = spatial_integers(node, "strides", n, 1, 1);
  const Ints dilations = spatial_integers(node, "dilations", n, 1, 1);
  const SpatialPads pads = spatial_pads(node, n);
  Values points;
  for (std::size_t i = 0; i < n; ++i) {
    points.push_back(deformed_points(conv, offsets, i, strides[i], dilations[i], pads.low[i]));
  }
  // Every group of offsets has a table of its channels.
  const Dim &batch = conv.x.dims()[0], part = floor_div(conv.x.dims()[1], conv.offset_groups);
  const PixelTable table = pixel_table(with_leading(conv.x, {batch * conv.offset_groups, part}, 2));
  const auto index = [&](std::int64_t axis) { return ir::iota({DType::Int64, conv.points}, axis); };
  const Value image = index(0) * static_cast<double>(conv.offset_groups) + index(1);
  const Value elements = sampled(table, image, points, {});
  if (!node.has(4)) return elements;
  const Value mask = with_leading(ir::cast(node.input(4), conv.x.dtype()), conv.leading(), 2);
  return elements * ir::broadcast(mask, elements.dims(), ir::all_axes(mask));
}

/// The sums of the windows' elements times the filter: (batch, filters, positions..).
Value contracted(const DeformConv& conv, const Value& elements) {
  const Dim &batch = conv.x.dims()[0], &filters = conv.w.dims()[0];
  const std::int64_t rank = conv.rank();
  // (batch, offset groups, area, positions.., part) to (batch, positions.., channels, area).
  Ints order{0};
  for (std::int64_t i = 0; i < rank; ++i) order.push_back(i + 3);
  order.insert(order.end(), {1, rank + 3, 2});
  const Dim group_channels = floor_div(conv.x.dims()[1], conv.groups);
  Dims dims{batch}, result{batch, filters};
  dims.insert(dims.end(), conv.points.begin() + 3, conv.points.end());
  result.insert(result.end(), conv.points.begin() + 3, conv.points.end());
  dims.insert(dims.end(), {conv.groups, group_channels, conv.area});
  const Value columns = ir::reshape(ir::permute(elements, order), dims);
  const Value filter = ir::reshape(
      conv.w, {conv.groups, floor_div(filters, conv.groups), group_channels, conv.area});
  // Labels: the batch 0, positions 1 .. rank, then group, channel, area, and filter.
  Ints column_labels(conv.sizes.size() + 4), result_labels{0, rank + 1, rank + 4};
  std::iota(column_labels.begin(), column_labels.end(), 0);
  for (std::int64_t i = 1; i <= rank; ++i) result_labels.push_back(i);
  return ir::reshape(ir::dot(columns, column_labels, filter,
                             {rank + 1, rank + 4, rank + 2, rank + 3}, result_labels),
                     result);
}

Values import_deform_conv(NodeContext& node) {
  const Value original = node.input(0), x = ir::widened(original);
  const DeformConv conv = deform_conv_of(node, x);
  Value y = contracted(conv, sampled_windows(node, conv));
  if (node.has(3)) {
    const Value bias = ir::cast(node.input(3), x.dtype());
    y = y + ir::broadcast(ir::with_dims(bias, {conv.w.dims()[0]}), y.dims(), {1});
  }
  return {ir::cast(y, original.dtype())};
}

constexpr OperatorRow kDeformConvRows[] = {
    {"DeformConv", {19, 22}, import_deform_conv},
};

}  // namespace

std::span<const OperatorRow> deform_conv_operators() { return kDeformConvRows; }

}  // namespace kiln::onnx
