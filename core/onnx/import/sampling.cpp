// Imports samplers at points of a grid, and sums of blocks.
#include "core/k/image/sliding_impl.h"
#include "core/onnx/import/groups.h"
#include "core/onnx/import/sample_points.h"
#include "core/onnx/import/shape_input.h"
#include "core/onnx/import/sliding_windows.h"
#include "core/ops/halves.h"
#include "core/types/at.h"

#include <numeric>

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Value;
using Values = std::vector<Value>;

PointSampling point_sampling(const NodeContext& node, bool aligns_corners) {
  PointSampling result;
  const std::string mode = node.string("mode", node.opset() < 20 ? "bilinear" : "linear");
  if (mode == "nearest") {
    result.mode = ResampleMode::Nearest;
  } else if (mode == "cubic" || mode == "bicubic") {
    result.mode = ResampleMode::Cubic;
  } else if (mode != "linear" && mode != "bilinear") {
    node.fail(text("mode '", mode, "' is none of linear, nearest and cubic"));
  }
  const std::string padding = node.string("padding_mode", "zeros");
  if (padding == "border") {
    result.padding = PointPadding::Border;
  } else if (padding == "reflection") {
    result.padding = PointPadding::Reflection;
  } else if (padding != "zeros") {
    node.fail(text("padding_mode '", padding, "' is none of zeros, border and reflection"));
  }
  result.mirrors_at_elements = aligns_corners;
  return result;
}

/// x at the points of the grid, whose last axis has a coordinate from -1 to 1 for each spatial axis
/// of x, the last axis first.
Values import_grid_sample(NodeContext& node) {
  const Value original = node.input(0), x = ir::widened(original);
  const Value grid = ir::widened(node.input(1));
  const std::size_t n = spatial_rank(node, x);
  const Dims dims(grid.dims().begin(), grid.dims().end() - (grid.rank() > 0 ? 1 : 0));
  const bool fits = grid.rank() == x.rank() &&
                    equal(grid.dims().back(), static_cast<std::int64_t>(n)) != ir::Ternary::No;
  if (!fits) node.fail(text("grid does not fit x (x ", x.type(), ", grid ", grid.type(), ")"));
  const bool aligns_corners = node.integer("align_corners", 0) != 0;
  const PixelTable table = pixel_table(x);
  Values points;
  for (std::size_t i = 0; i < n; ++i) {
    const auto column = static_cast<std::int64_t>(n - 1 - i);
    const Value given =
        ir::reshape(ir::slice_axis(grid, grid.rank() - 1, column, column + 1), dims);
    const Value size =
        ir::broadcast_to(ir::cast(ir::dim_size(table.sizes[i]), given.dtype()), given.dims());
    points.push_back(aligns_corners ? (given + 1.0) * 0.5 * (size - 1.0)
                                    : ((given + 1.0) * size - 1.0) * 0.5);
  }
  const Value guarded =
      ir::require(points[0], {.kind = ir::Guard::Kind::Equal,
                              .left = grid.dims()[0],
                              .right = x.dims()[0],
                              .message = "grid has a batch of {left}, x of {right}"});
  points[0] =
      ir::require(guarded, {.left = grid.dims().back(),
                            .right = static_cast<std::int64_t>(n),
                            .message = "points of the grid have {left} coordinates, not {right}"});
  const Value batch = ir::iota({DType::Int64, dims}, 0);
  const Value y = sampled(table, batch, points, point_sampling(node, aligns_corners));
  return {ir::cast(channels_from_end(y, DataFormat::ChannelsFirst), original.dtype())};
}

/// The centres of `size` elements from -1 to 1, at which the first and last ones are, or end.
Value spread_positions(DType dtype, const Dim& size, bool aligns_corners) {
  const Value index = ir::iota({dtype, {size}}, 0);
  const Value count = ir::broadcast_to(ir::cast(ir::dim_size(size), dtype), index.dims());
  if (!aligns_corners) return (index * 2.0 + 1.0) / count - 1.0;
  const Value steps = count - 1.0, none = ir::equal_to(steps, ir::zeros_like(steps));
  const Value position = index * 2.0 / ir::select(none, ir::like(steps, 1), steps) - 1.0;
  return ir::select(none, ir::zeros_like(position), position);
}

/// grid[n, .., k] is the sum of theta[n, k, j] times coordinate j, the last axis first, and
/// theta[n, k, rank].
Values import_affine_grid(NodeContext& node) {
  const Value original = node.input(0), theta = ir::widened(original);
  const Dims size = shape_input(node, 1, "size");
  const auto n = static_cast<std::int64_t>(size.size()) - 2;
  const bool fits = n >= 1 && theta.rank() == 3 &&
                    equal(theta.dims(), {theta.dims()[0], n, n + 1}) != ir::Ternary::No;
  if (!fits) {
    node.fail(text("theta does not fit the size ", to_string(size), " (theta ", theta.type(), ")"));
  }
  const bool aligns_corners = node.integer("align_corners", 0) != 0;
  Dims dims(size.begin() + 2, size.end());
  dims.insert(dims.begin(), theta.dims()[0]);
  dims.push_back(n);
  const auto column = [&](std::int64_t j) {
    const Value entries = ir::slice_axis(theta, 2, j, j + 1);
    return ir::broadcast(ir::reshape(entries, {theta.dims()[0], n}), dims, {0, n + 1});
  };
  Value grid = column(n);
  for (std::int64_t j = 0; j < n; ++j) {
    const std::int64_t axis = n - j;
    const Value position = spread_positions(theta.dtype(), dims[at(axis)], aligns_corners);
    grid = grid + column(j) * ir::broadcast(position, dims, {axis});
  }
  return {ir::cast(grid, original.dtype())};
}

/// Adds the blocks (n, channels * block, positions) to an image, at the positions of a convolution.
Values import_col2im(NodeContext& node) {
  const Value x = node.input(0);
  const Dims image = shape_input(node, 1, "image_shape");
  const Ints block = node.known_integers(2, "block_shape");
  const std::size_t n = image.size();
  if (x.rank() != 3 || n == 0 || block.size() != n) {
    node.fail(text("block_shape (", join_text(block), ") does not fit image_shape ",
                   to_string(image), " (x ", x.type(), ")"));
  }
  const Ints strides = spatial_integers(node, "strides", n, 1, 1);
  const Ints dilations = spatial_integers(node, "dilations", n, 1, 1);
  const SpatialPads pads = spatial_pads(node, n);
  const Dims sizes(block.begin(), block.end());
  Dims dims{x.dims()[0], floor_div(x.dims()[1], product(sizes))}, padded, start(2, 0);
  dims.insert(dims.end(), sizes.begin(), sizes.end());
  Dims limit(dims.begin(), dims.begin() + 2);
  Ints order{0, 1}, axes;
  for (std::size_t i = 0; i < n; ++i) {
    padded.push_back(image[i] + pads.low[i] + pads.high[i]);
    const Dim width = (sizes[i] - 1) * Dim(dilations[i]) + 1;
    dims.push_back(floor_div(padded[i] - width, strides[i]) + 1);
    axes.push_back(static_cast<std::int64_t>(i) + 2);
    order.push_back(static_cast<std::int64_t>(n + i) + 2);
    start.push_back(pads.low[i]);
    limit.push_back(pads.low[i] + image[i]);
  }
  order.insert(order.end(), axes.begin(), axes.end());
  const Value blocks = ir::permute(ir::reshape(x, dims), order);
  const Value sum =
      ir::fold(blocks, {.axes = axes, .sizes = padded, .strides = strides, .dilations = dilations});
  return {ir::slice(sum, start, limit)};
}

constexpr OperatorRow kSamplingRows[] = {
    {"AffineGrid", {20}, import_affine_grid},
    {"Col2Im", {18}, import_col2im},
    {"GridSample", {16, 20, 22}, import_grid_sample},
};

}  // namespace

std::span<const OperatorRow> sampling_operators() { return kSamplingRows; }

}  // namespace kiln::onnx
