// Imports RoiAlign: weights of rows and columns in each bin, which contract the image of a region.
#include "core/k/image/sliding_impl.h"
#include "core/k/math/formulas_impl.h"
#include "core/onnx/import/groups.h"
#include "core/onnx/import/regions.h"
#include "core/onnx/import/sample_points.h"
#include "core/types/at.h"

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Op;
using ir::Value;
using Values = std::vector<Value>;

struct AlignOptions {
  std::int64_t sampling_ratio = 0;  // points per bin and axis; 0: ceil(the size of the bin)
  bool is_max = false;
};

/// Points of bins with the dims (regions, bins, points, more..): their coordinates brought inside
/// the axis, and whether they count.
struct BinPoints {
  Value coordinate, counts;
};

/// At most this many points of a bin are within 1 of an element: a bin of adaptive sampling has one
/// point, or its points are more than 1 / 2 apart.
constexpr std::int64_t kNearPoints = 5;

/// The points of the bins; with adaptive sampling, dims[3] is the axis of the image, and the points
/// are those from the first one near each element on. `divisor`: the points per bin, at least 1.
BinPoints bin_points(const RegionAxis& axis, const Dims& dims, std::int64_t sampling_ratio,
                     Value& divisor) {
  const DType dtype = axis.start.dtype();
  const auto wide = [&](const Value& vector) { return ir::broadcast(vector, dims, {0}); };
  const auto index = [&](std::int64_t i) { return ir::iota({dtype, dims}, i); };
  const Value bin = axis.extent / static_cast<double>(axis.bins);
  const Value one = ir::like(bin, 1);
  const Value count = sampling_ratio > 0 ? ir::like(bin, static_cast<double>(sampling_ratio))
                                         : -ir::unary(Op::Floor, -bin);
  divisor = ir::binary(Op::Maximum, count, one);
  const Value spacing = bin / divisor;
  const Value first = wide(axis.start) + index(1) * wide(bin);
  Value point = index(2);
  if (sampling_ratio == 0) {
    const Value step = wide(ir::select(ir::less(one, count), spacing, one));
    const Value near = -ir::unary(Op::Floor, -((index(3) - 1.0 - first) / step - 0.5));
    const Value start = ir::binary(Op::Maximum, near, ir::zeros_like(near));
    const Value many = ir::less(wide(one), wide(count));
    point = point + ir::select(many, start, ir::zeros_like(start));
  }
  const Value x = first + (point + 0.5) * wide(spacing);
  const Value size = ir::broadcast_to(ir::cast(ir::dim_size(axis.size), dtype), dims);
  const Value inside =
      ir::binary(Op::And, ir::less_equal_to(ir::like(x, -1), x), ir::less_equal_to(x, size));
  return {clipped(x, ir::zeros_like(x), size - 1.0),
          ir::binary(Op::And, inside, ir::less(point, wide(count)))};
}

/// The weight of every element of the axis in every bin: (regions, bins, size).
Value bin_weights(const RegionAxis& axis, std::int64_t sampling_ratio) {
  const std::int64_t points = sampling_ratio > 0 ? sampling_ratio : kNearPoints;
  const Dims dims{axis.start.dims()[0], axis.bins, points, axis.size};
  Value divisor;
  const BinPoints at_points = bin_points(axis, dims, sampling_ratio, divisor);
  const Value element = ir::iota({axis.start.dtype(), dims}, 3);
  const Value distance = ir::unary(Op::Abs, at_points.coordinate - element);
  const Value zero = ir::zeros_like(distance);
  const Value weight =
      ir::select(at_points.counts, ir::binary(Op::Maximum, 1.0 - distance, zero), zero);
  const Value sum = ir::reduce_sum(weight, {2});
  return sum / ir::broadcast(divisor, sum.dims(), {0});
}

/// The largest weighted neighbour of the points of each bin, as ONNX's reference has it.
Value largest_neighbours(const Value& x, const Value& batch, const RegionAxis& rows,
                         const RegionAxis& columns, std::int64_t ratio) {
  const PixelTable table = pixel_table(x);
  const Dims dims{rows.start.dims()[0], rows.bins, columns.bins, ratio, ratio};
  struct Neighbours {
    Value index[2], weight[2];
  };
  const auto neighbours = [&](const RegionAxis& axis, const Ints& axes) {
    Value divisor;
    const BinPoints points = bin_points(axis, {dims[0], axis.bins, ratio}, ratio, divisor);
    const Value low = ir::unary(Op::Floor, points.coordinate), zero = ir::zeros_like(low);
    const Value fraction = points.coordinate - low;
    const Value index = ir::cast(low, DType::Int64);
    const Value last = ir::broadcast_to(ir::dim_size(axis.size - 1), index.dims());
    const auto wide = [&](const Value& value) { return ir::broadcast(value, dims, axes); };
    return Neighbours{
        {wide(index), wide(ir::binary(Op::Minimum, index + ir::like(index, 1), last))},
        {wide(ir::select(points.counts, 1.0 - fraction, zero)),
         wide(ir::select(points.counts, fraction, zero))}};
  };
  const Neighbours y = neighbours(rows, {0, 1, 3}), z = neighbours(columns, {0, 2, 4});
  const auto number = [&](const Dim& dim) { return ir::broadcast_to(ir::dim_size(dim), dims); };
  const Value image = ir::broadcast(batch, dims, {0});
  Value largest;
  for (int corner = 0; corner < 4; ++corner) {
    const int i = corner / 2, j = corner % 2;
    const Value row = (image * number(table.sizes[0]) + y.index[i]) * number(table.sizes[1]);
    const Value pixels = ir::gather(table.rows, row + z.index[j], 0);
    const Value weight = ir::broadcast(y.weight[i] * z.weight[j], pixels.dims(), {0, 1, 2, 3, 4});
    const Value value = pixels * weight;
    largest = largest ? ir::binary(Op::Maximum, largest, value) : value;
  }
  return channels_from_end(ir::reduce_max(largest, {3, 4}), DataFormat::ChannelsFirst);
}

AlignOptions align_options(const NodeContext& node) {
  const std::string mode = node.string("mode", "avg");
  if (mode != "avg" && mode != "max") node.fail(text("mode '", mode, "' is neither avg nor max"));
  const AlignOptions options{node.integer("sampling_ratio", 0), mode == "max"};
  if (options.sampling_ratio < 0) node.fail(text("sampling_ratio is ", options.sampling_ratio));
  if (options.is_max && options.sampling_ratio == 0) {
    node.fail("mode 'max' is only imported with a sampling_ratio above 0");
  }
  return options;
}

/// The means of bilinear samples in the bins of regions (He, Gkioxari, Dollar and Girshick 2017).
/// Weights of rows and of columns are independent, so that a region is two matmuls.
Values import_roi_align(NodeContext& node) {
  const Value original = node.input(0), x = ir::widened(original);
  const Value rois = ir::cast(node.input(1), x.dtype());
  require_regions(node, x, rois, 4);
  const Value batch = ir::cast(ir::with_dims(node.input(2), {rois.dims()[0]}), DType::Int64);
  const AlignOptions options = align_options(node);
  const bool is_half_pixel = node.opset() >= 16 && node.string("coordinate_transformation_mode",
                                                               "half_pixel") == "half_pixel";
  const double scale = node.number("spatial_scale", 1);
  const auto axis = [&](std::int64_t first, const char* bins, int image_axis) -> RegionAxis {
    const auto end_at = [&](std::int64_t i) {
      const Value scaled = region_column(rois, i) * scale;
      return is_half_pixel ? scaled - 0.5 : scaled;
    };
    const Value start = end_at(first), extent = end_at(first + 2) - start;
    const Value one = ir::like(extent, 1);
    return {start, is_half_pixel ? extent : ir::binary(Op::Maximum, extent, one),
            node.integer(bins, 1), x.dims()[at(image_axis)]};
  };
  const RegionAxis rows = axis(1, "output_height", 2), columns = axis(0, "output_width", 3);
  if (rows.bins < 1 || columns.bins < 1) node.fail("output_height or output_width is below 1");
  if (options.is_max) {
    const Value y = largest_neighbours(x, batch, rows, columns, options.sampling_ratio);
    return {ir::cast(y, original.dtype())};
  }
  const Value y = over_regions(
      x, batch, bin_weights(rows, options.sampling_ratio),
      bin_weights(columns, options.sampling_ratio),
      [](const Value& image, const Value& row_weights, const Value& column_weights) {
        const Value narrow = ir::dot(image, {0, 1, 2}, column_weights, {3, 2}, {0, 1, 3});
        return ir::dot(narrow, {0, 1, 3}, row_weights, {4, 1}, {0, 4, 3});
      });
  return {ir::cast(y, original.dtype())};
}

constexpr OperatorRow kRoiAlignRows[] = {
    {"RoiAlign", {10, 16, 22}, import_roi_align},
};

}  // namespace

std::span<const OperatorRow> roi_align_operators() { return kRoiAlignRows; }

}  // namespace kiln::onnx
