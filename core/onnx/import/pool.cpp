// Imports pooling: reductions over windows, channels last, and over all spatial axes.
#include "core/k/image/sliding_impl.h"
#include "core/k/math/formulas_impl.h"
#include "core/onnx/import/groups.h"
#include "core/onnx/import/shape_input.h"
#include "core/onnx/import/sliding_windows.h"
#include "core/types/at.h"

#include <limits>
#include <numeric>

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Op;
using ir::Value;
using Values = std::vector<Value>;

/// The windows of a pooling node over input 0.
SlidingWindows pool_windows(NodeContext& node) {
  const Value x = node.input(0);
  const Ints sizes = spatial_integers(node, "kernel_shape", spatial_rank(node, x), 0, 1);
  if (sizes.front() == 0) node.fail("attribute 'kernel_shape' is missing");
  return sliding_windows(node, x, Dims(sizes.begin(), sizes.end()));
}

Value from_channels_last(const Value& y) { return channels_from_end(y, DataFormat::ChannelsFirst); }

/// The axes of windowed() that are the elements of a window.
Ints element_axes(const SlidingWindows& windows) {
  Ints axes(windows.sizes.size());
  std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(axes.size()) + 2);
  return axes;
}

double element_count(const SlidingWindows& windows) {
  double count = 1;
  for (const Dim& size : windows.sizes) count *= static_cast<double>(size.value());
  return count;
}

/// The number of elements of each window along spatial axis i with coordinates from `begin` to
/// `end` - 1.
Value elements_between(const SlidingWindows& windows, std::size_t i, const Dim& begin,
                       const Dim& end) {
  const Value first = first_coordinates(windows, i);
  const Value zero = ir::zeros_like(first);
  const Value size = ir::like(first, static_cast<double>(windows.sizes[i].value()));
  const auto dilation = static_cast<double>(windows.dilations[i]);
  const auto below = [&](const Dim& bound) {
    const Value space = ir::broadcast_to(ir::dim_size(bound), first.dims()) - first;
    const Value count = (ir::binary(Op::Maximum, space, zero) + (dilation - 1)) / dilation;
    return ir::binary(Op::Minimum, count, size);
  };
  return below(end) - below(begin);
}

/// The number of elements of each window, with the type of y, channels last: without padding, or
/// `with_pads`; at least 1. Empty if no window covers elements that do not count.
Value counted_elements(const SlidingWindows& windows, const Value& y, bool with_pads) {
  double whole = 1;
  Value product;
  for (std::size_t i = 0; i < windows.sizes.size(); ++i) {
    const Dim &size = windows.input.dims()[i + 1], &low = windows.low[i], &high = windows.high[i];
    const bool is_padded = low != Dim(0) || high != Dim(0);
    if (windows.overhang[i] == Dim(0) && (with_pads || !is_padded)) {
      whole *= static_cast<double>(windows.sizes[i].value());
      continue;
    }
    const Value along = with_pads ? elements_between(windows, i, 0 - low, size + high)
                                  : elements_between(windows, i, 0, size);
    // Elements that are dilated by more than x is long may all be padding.
    const Value count = ir::binary(Op::Maximum, along, ir::like(along, 1));
    const Value wide =
        ir::broadcast(ir::cast(count, y.dtype()), y.dims(), {static_cast<std::int64_t>(i) + 1});
    product = product ? product * wide : wide;
  }
  return product && whole != 1 ? product * whole : product;
}

Values import_average_pool(NodeContext& node) {
  const DType dtype = node.input(0).dtype();
  SlidingWindows windows = pool_windows(node);
  windows.input = ir::widened(windows.input);
  const Value sum = ir::reduce_sum(windowed(windows, ir::scalar_constant(windows.input.dtype(), 0)),
                                   element_axes(windows));
  const bool with_pads = node.integer("count_include_pad", 0) != 0;
  const Value count = counted_elements(windows, sum, with_pads);
  const Value mean = count ? sum / count : sum / element_count(windows);
  return {from_channels_last(ir::cast(mean, dtype))};
}

/// The largest element of each window. Padding has the lowest value and ties with elements of that
/// value, so its share of the gradient is given to them.
Value largest_of(const SlidingWindows& windows, const Value& view, const Value& lowest) {
  const Value y = ir::reduce_max(view, element_axes(windows));
  if (!is_float(y.dtype())) return y;
  const Value count = counted_elements(windows, ir::widened(y), /*with_pads=*/false);
  if (!count) return y;
  const Value tied = ir::equal_to(y, ir::broadcast_to(lowest, y.dims()));
  return ir::scale_gradient(y,
                            ir::select(tied, element_count(windows) / count, ir::like(count, 1)));
}

/// The linear index in x of the first largest element of each window. With storage_order = 1, the
/// spatial axes are counted from the first one on.
Value largest_indices(const SlidingWindows& windows, const Value& view, bool is_column_major) {
  const std::size_t n = windows.sizes.size();
  const Dims& sizes = windows.input.dims();
  Dims flat(view.dims().begin(), view.dims().begin() + static_cast<std::ptrdiff_t>(n) + 2);
  flat.push_back(product(windows.sizes));
  const auto last = static_cast<std::int64_t>(n) + 2;
  const Value best = ir::make(Op::ArgMax, ir::AxisAttrs{last}, {ir::reshape(view, flat)});
  const Dims& dims = best.dims();
  const auto number = [&](const Dim& dim) { return ir::broadcast(ir::dim_size(dim), dims, {}); };
  Dim area = 1;
  for (std::size_t i = 0; i < n; ++i) area = area * sizes[i + 1];
  const Value batch = ir::iota({DType::Int64, dims}, 0);
  const Value channel = ir::iota({DType::Int64, dims}, last - 1);
  Value index = (batch * number(sizes.back()) + channel) * number(area);
  Value rest = best;
  Dim row_stride = 1;
  for (std::size_t i = n; i-- > 0;) {  // the last axis of the window varies fastest
    const Value size = number(windows.sizes[i]);
    const Value element = ir::binary(Op::Mod, rest, size);
    rest = rest / size;
    const Value first =
        ir::broadcast(first_coordinates(windows, i), dims, {static_cast<std::int64_t>(i) + 1});
    const Value coordinate = first + element * static_cast<double>(windows.dilations[i]);
    const Dim column_stride = floor_div(area, row_stride * sizes[i + 1]);
    // Padding is the largest only where all elements have the lowest value.
    const Value inside = clipped(coordinate, number(0), number(sizes[i + 1] - 1));
    index = index + inside * number(is_column_major ? column_stride : row_stride);
    row_stride = row_stride * sizes[i + 1];
  }
  return index;
}

Values import_max_pool(NodeContext& node) {
  const SlidingWindows windows = pool_windows(node);
  const Value lowest =
      ir::scalar_constant(windows.input.dtype(), -std::numeric_limits<double>::infinity());
  const Value view = windowed(windows, lowest);
  Values results{from_channels_last(largest_of(windows, view, lowest))};
  if (!node.uses(1)) return results;
  const bool is_column_major = node.integer("storage_order", 0) != 0;
  results.push_back(from_channels_last(largest_indices(windows, view, is_column_major)));
  return results;
}

/// (sum |x|^p)^(1/p) of x over the axes. The gradient at 0 is 0.
Value lp_norm(NodeContext& node, const Value& x, const Ints& axes) {
  const std::int64_t p = node.integer("p", 2);
  if (p < 1) node.fail(text("p is ", p, ", below 1"));
  if (p == 2) return sqrt_or_zero(ir::reduce_sum(x * x, axes));
  const Value size = ir::unary(Op::Abs, x);
  if (p == 1) return ir::reduce_sum(size, axes);
  const auto power = static_cast<double>(p);
  const Value sum = ir::reduce_sum(ir::binary(Op::Pow, size, ir::like(size, power)), axes);
  const Value zero = ir::zeros_like(sum), is_zero = ir::equal_to(sum, zero);
  const Value base = ir::select(is_zero, ir::like(sum, 1), sum);
  return ir::select(is_zero, zero, ir::binary(Op::Pow, base, ir::like(sum, 1 / power)));
}

Values import_lp_pool(NodeContext& node) {
  const DType dtype = node.input(0).dtype();
  SlidingWindows windows = pool_windows(node);
  windows.input = ir::widened(windows.input);
  const Value view = windowed(windows, ir::scalar_constant(windows.input.dtype(), 0));
  return {from_channels_last(ir::cast(lp_norm(node, view, element_axes(windows)), dtype))};
}

/// function(x, spatial axes) with the axes kept.
template <class Function>
Values global_pool(NodeContext& node, const Function& function) {
  const Value x = node.input(0);
  Ints axes(spatial_rank(node, x));
  std::iota(axes.begin(), axes.end(), 2);
  return {with_ones(ir::cast(function(ir::widened(x), axes), x.dtype()), x, axes)};
}

Values import_global_average_pool(NodeContext& node) { return global_pool(node, ir::reduce_mean); }
Values import_global_max_pool(NodeContext& node) { return global_pool(node, ir::reduce_max); }
Values import_global_lp_pool(NodeContext& node) {
  return global_pool(node,
                     [&](const Value& x, const Ints& axes) { return lp_norm(node, x, axes); });
}

/// Writes the elements of x at linear indices of a tensor whose sizes follow from the windows, and
/// pads that to output_shape. Windows of MaxPool that share their largest element have it once.
Values import_max_unpool(NodeContext& node) {
  const Value x = node.input(0);
  const std::size_t n = spatial_rank(node, x);
  const Ints sizes = spatial_integers(node, "kernel_shape", n, 1, 1);
  const Ints strides = spatial_integers(node, "strides", n, 1, 1);
  const SpatialPads pads = spatial_pads(node, n);
  Dims dims{x.dims()[0], x.dims()[1]};
  for (std::size_t i = 0; i < n; ++i) {
    dims.push_back((x.dims()[i + 2] - 1) * Dim(strides[i]) + sizes[i] - pads.low[i] - pads.high[i]);
  }
  const Dims count{product(x.dims())};
  const Value indices = ir::reshape(ir::with_dims(node.input(1), x.dims()), count);
  const Value updates = ir::reshape(x, count);
  const auto scattered = [&](const Value& values) {
    return ir::scatter_add(indices, values, 0, product(dims));
  };
  const Value times = scattered(ir::like(updates, 1));
  const Value once = ir::binary(Op::Maximum, times, ir::like(times, 1));
  const Value y = ir::reshape(scattered(updates) / once, dims);
  if (!node.has(2)) return {y};
  const Dims shape = shape_input(node, 2, "output_shape");
  if (shape.size() != dims.size()) {
    node.fail(text("output_shape ", to_string(shape), " has ", shape.size(), " entries, not ",
                   dims.size()));
  }
  Dims high;
  for (std::size_t i = 0; i < dims.size(); ++i) high.push_back(shape[i] - dims[i]);
  const Value zero = ir::scalar_constant(x.dtype(), 0);
  return {ir::with_dims(ir::pad(y, zero, Dims(dims.size(), 0), high), shape)};
}

constexpr OperatorRow kPoolRows[] = {
    {"AveragePool", {1, 7, 10, 11, 19, 22}, import_average_pool},
    {"GlobalAveragePool", {1, 22}, import_global_average_pool},
    {"GlobalLpPool", {2, 22}, import_global_lp_pool},
    {"GlobalMaxPool", {1, 22}, import_global_max_pool},
    {"LpPool", {2, 11, 18, 22}, import_lp_pool},
    {"MaxPool", {1, 8, 10, 11, 12, 22}, import_max_pool},
    {"MaxUnpool", {9, 11, 22}, import_max_unpool},
};

}  // namespace

std::span<const OperatorRow> pool_operators() { return kPoolRows; }

}  // namespace kiln::onnx
