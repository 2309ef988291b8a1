// Resizes by repetition or a gather per axis (nearest), or by the pixels on both sides and a weight
// per axis (bilinear).
#include <kiln/resize.h>

#include "core/k/image/data_format_impl.h"
#include "core/k/math/formulas_impl.h"
#include "core/types/at.h"

namespace kiln {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Op;
using ir::Value;

void require_factor(std::int64_t factor, const char* argument) {
  if (factor < 1) Call::value_error(argument, text(argument, " is ", factor, ", not at least 1"));
}

/// Repeats each element of an axis `factor` times.
Value nearest(const Value& x, int axis, std::int64_t factor) {
  return repeated_along(x, axis, factor);
}

/// Whether the interpolation is bilinear. Throws ValueError unless it is known.
bool is_bilinear(const std::string& interpolation) {
  if (interpolation == "bilinear") return true;
  if (interpolation == "nearest") return false;
  Call::value_error("interpolation", text("interpolation '", interpolation,
                                          "' is neither 'nearest' nor 'bilinear'"));
}

/// x with a further axis of `factor` after `axis`, along which it is constant.
Value with_repeats(const Value& x, int axis, std::int64_t factor) {
  Dims dims = x.dims();
  dims.insert(dims.begin() + axis + 1, factor);
  Ints axes;
  for (int i = 0; i < x.rank(); ++i) axes.push_back(i <= axis ? i : i + 1);
  return ir::broadcast(x, dims, axes);
}

/// Interpolates linearly at positions i / factor of an axis: between each pixel and the next one.
Value linear(const Value& x, int axis, std::int64_t factor) {
  if (factor == 1) return x;
  Dims dims = x.dims();
  Dim& size = dims[at(axis)];
  const Value index = ir::iota({DType::Int64, {size}}, 0);
  const Value last = ir::broadcast_to(ir::dim_size(size), index.dims()) - ir::like(index, 1);
  const Value right = ir::binary(Op::Minimum, index + ir::like(index, 1), last);
  const Value low = with_repeats(x, axis, factor);
  const Value high = with_repeats(ir::gather(x, right, axis), axis, factor);
  const Value part = ir::iota({DType::Int64, {factor}}, 0);
  const Value weight = ir::cast(part, x.dtype()) / static_cast<double>(factor);
  size = size * factor;
  return ir::reshape(low + (high - low) * ir::broadcast(weight, low.dims(), {axis + 1}), dims);
}

void require_size(std::int64_t size, const char* argument) {
  if (size < 1) Call::value_error(argument, text(argument, " is ", size, ", not at least 1"));
  // The squares of sizes fit int64.
  if (size <= INT32_MAX / 2) return;
  Call::value_error(argument, text(argument, " is ", size, ", more than ", INT32_MAX / 2));
}

/// Throws ValueError if the axis is known to be empty.
void require_pixels(const Value& x, int axis) {
  if (equal(x.dims()[at(axis)], 0) != ir::Ternary::Yes) return;
  Call::value_error("x", text("axis ", axis, " of x has no pixels (x ", x.type(), ")"));
}

/// A vector of the number as int64.
Value filled(std::int64_t number, const ir::Dims& dims) {
  return ir::broadcast_to(ir::scalar_constant_int(DType::Int64, number), dims);
}

// Half-pixel centres: positions are exact in units of 1 / (2 new_size) of a pixel, in which element
// i of the new axis is at (2 i + 1) size - new_size.

/// (2 i + 1) size for each element i of the new axis.
Value doubled_centres(const Dim& size, std::int64_t new_size) {
  const Value index = ir::iota({DType::Int64, {new_size}}, 0);
  const Value old_size = ir::broadcast_to(ir::dim_size(size), index.dims());
  return (index + index + filled(1, index.dims())) * old_size;
}

/// Pixel floor((i + 0.5) size / new_size) for each element i.
Value nearest_to(const Value& x, int axis, std::int64_t new_size) {
  const Value centres = doubled_centres(x.dims()[at(axis)], new_size);
  return ir::gather(x, centres / filled(2 * new_size, centres.dims()), axis);
}

/// Interpolates between the pixels on both sides of (i + 0.5) size / new_size - 0.5.
Value linear_to(const Value& x, int axis, std::int64_t new_size) {
  const Dim& size = x.dims()[at(axis)];
  if (size == Dim(new_size)) return x;
  const Value centres = doubled_centres(size, new_size);
  const ir::Dims& dims = centres.dims();
  const Value zero = filled(0, dims), one = filled(1, dims), unit = filled(2 * new_size, dims);
  const Value position = ir::binary(Op::Maximum, centres - filled(new_size, dims), zero);
  const Value left = position / unit;
  const Value last = ir::broadcast_to(ir::dim_size(size), dims) - one;
  // At the centre of a pixel both sides are that pixel, so that no NaN comes from the next one.
  const Value right = ir::binary(Op::Minimum, (position + (unit - one)) / unit, last);
  const Value fraction = ir::cast(position - left * unit, x.dtype());
  const Value weight = fraction / static_cast<double>(2 * new_size);
  const Value low = ir::gather(x, left, axis), high = ir::gather(x, right, axis);
  return low + (high - low) * ir::broadcast(weight, low.dims(), {axis});
}

}  // namespace

Tensor resize_images(const Operand& x, WholeNumber height_factor, WholeNumber width_factor,
                     const StringArgument& data_format, const ResizeImagesOptions& options) {
  return api_call("resize_images", x.where(), [&] {
    const int rows = first_spatial_axis(data_format_of(data_format));
    const bool is_linear = is_bilinear(options.interpolation);
    require_factor(height_factor, "height_factor");
    require_factor(width_factor, "width_factor");
    const Value value = is_linear ? float_of(x) : input_of(x);
    require_rank(value, 4);
    if (!is_linear) {
      return wrap(nearest(nearest(value, rows, height_factor), rows + 1, width_factor));
    }
    const Value tall = linear(widened(value), rows, height_factor);
    return wrap(ir::cast(linear(tall, rows + 1, width_factor), value.dtype()));
  });
}

Tensor resize_images_to(const Operand& x, WholeNumber height, WholeNumber width,
                        const ResizeImagesToOptions& options) {
  return api_call("resize_images_to", x.where(), [&] {
    const int rows = first_spatial_axis(data_format_of(options.data_format));
    const bool is_linear = is_bilinear(options.interpolation);
    require_size(height, "height");
    require_size(width, "width");
    const Value value = is_linear ? float_of(x) : input_of(x);
    require_rank(value, 4);
    require_pixels(value, rows);
    require_pixels(value, rows + 1);
    if (!is_linear) return wrap(nearest_to(nearest_to(value, rows, height), rows + 1, width));
    const Value tall = linear_to(widened(value), rows, height);
    return wrap(ir::cast(linear_to(tall, rows + 1, width), value.dtype()));
  });
}

Tensor resize_volumes(const Operand& x, WholeNumber depth_factor, WholeNumber height_factor,
                      WholeNumber width_factor, const StringArgument& data_format) {
  return api_call("resize_volumes", x.where(), [&] {
    const int first = first_spatial_axis(data_format_of(data_format));
    require_factor(depth_factor, "depth_factor");
    require_factor(height_factor, "height_factor");
    require_factor(width_factor, "width_factor");
    Value value = input_of(x);
    require_rank(value, 5);
    value = nearest(value, first, depth_factor);
    value = nearest(value, first + 1, height_factor);
    return wrap(nearest(value, first + 2, width_factor));
  });
}

}  // namespace kiln
