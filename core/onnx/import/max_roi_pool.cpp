// Imports MaxRoiPool: the largest elements of the rows and columns in each bin.
#include "core/onnx/import/groups.h"
#include "core/onnx/import/regions.h"
#include "core/ops/halves.h"
#include "core/types/at.h"

#include <limits>

namespace kiln::onnx {
namespace {

using ir::Dims;
using ir::Ints;
using ir::Op;
using ir::Value;
using Values = std::vector<Value>;

/// Halves away from zero, as C++ rounds.
Value rounded_away(const Value& x) {
  return ir::unary(Op::Sign, x) * ir::unary(Op::Floor, ir::unary(Op::Abs, x) + 0.5);
}

/// Whether the element of the axis is in the bin: (regions, bins, size). Bins overlap where their
/// ends are not whole.
Value bin_members(const RegionAxis& axis) {
  const Dims dims{axis.start.dims()[0], axis.bins, axis.size};
  const DType dtype = axis.start.dtype();
  const auto wide = [&](const Value& vector) { return ir::broadcast(vector, dims, {0}); };
  const Value bin = wide(axis.extent / static_cast<double>(axis.bins));
  const Value index = ir::iota({dtype, dims}, 1), element = ir::iota({dtype, dims}, 2);
  const Value begin = wide(axis.start) + ir::unary(Op::Floor, index * bin);
  const Value end = wide(axis.start) - ir::unary(Op::Floor, -((index + 1.0) * bin));
  return ir::binary(Op::And, ir::less_equal_to(begin, element), ir::less(element, end));
}

/// The largest elements in the bins of regions, whose ends are rounded; 0 in empty bins.
Values import_max_roi_pool(NodeContext& node) {
  const Value original = node.input(0), x = ir::widened(original);
  const Value rois = ir::cast(node.input(1), x.dtype());
  require_regions(node, x, rois, 5);
  const Ints shape = node.integers("pooled_shape").value_or(Ints());
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1) {
    node.fail(text("pooled_shape (", join_text(shape), ") is no height and width"));
  }
  const double scale = node.number("spatial_scale", 1);
  const auto axis = [&](std::int64_t first, std::int64_t bins, int image_axis) -> RegionAxis {
    const Value start = rounded_away(region_column(rois, first) * scale);
    const Value end = rounded_away(region_column(rois, first + 2) * scale);
    const Value extent = end - start + 1.0;
    return {start, ir::binary(Op::Maximum, extent, ir::like(extent, 1)), bins,
            x.dims()[at(image_axis)]};
  };
  const Value lowest = ir::scalar_constant(x.dtype(), -std::numeric_limits<double>::infinity());
  // The largest elements along the last axis of `values` in each bin, as the last axis.
  const auto largest = [&](const Value& values, const Value& members) {
    Dims dims = values.dims();
    dims.insert(dims.end() - 1, members.dims()[0]);
    const int last = static_cast<int>(dims.size()) - 1;
    Ints axes = ir::all_axes(values);
    axes.back() = last;
    const Value inside = ir::broadcast(members, dims, {last - 1, last});
    const Value wide = ir::broadcast(values, dims, axes);
    return ir::reduce_max(ir::select(inside, wide, ir::broadcast_to(lowest, dims)), {last});
  };
  const Value y = over_regions(
      x, ir::cast(region_column(rois, 0), DType::Int64), bin_members(axis(2, shape[0], 2)),
      bin_members(axis(1, shape[1], 3)),
      [&](const Value& image, const Value& rows, const Value& columns) {
        const Value narrow = ir::permute(largest(image, columns), {0, 2, 1});
        const Value pooled = ir::permute(largest(narrow, rows), {0, 2, 1});
        const Value is_empty = ir::equal_to(pooled, ir::broadcast_to(lowest, pooled.dims()));
        return ir::select(is_empty, ir::zeros_like(pooled), pooled);
      });
  return {ir::cast(y, original.dtype())};
}

constexpr OperatorRow kMaxRoiPoolRows[] = {
    {"MaxRoiPool", {1, 22}, import_max_roi_pool},
};

}  // namespace

std::span<const OperatorRow> max_roi_pool_operators() { return kMaxRoiPoolRows; }

}  // namespace kiln::onnx
