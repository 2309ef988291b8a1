// Resizes by repetition (nearest), or by two gathers and a weight per axis (bilinear).
#include <kiln/resize.h>

#include "core/k/image/data_format_impl.h"
#include "core/k/math/formulas_impl.h"

namespace kiln {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Op;
using ir::Value;

void require_factor(std::int64_t factor, const char* argument) {
  if (factor < 1) Call::value_error(argument, text(argument, " is ", factor, ", not at least 1"));
}

/// Repeats each element of an axis `factor` times.
Value nearest(const Value& x, int axis, std::int64_t factor) {
  return repeated_along(x, axis, factor);
}

/// Interpolates linearly at positions i / factor of an axis.
Value linear(const Value& x, int axis, std::int64_t factor) {
  if (factor == 1) return x;
  const Dim size = x.dims()[static_cast<std::size_t>(axis)];
  const Value index = ir::iota({DType::Int64, {size * factor}}, 0);
  const Value count = ir::like(index, static_cast<double>(factor));
  const Value left = index / count;
  const Value last = ir::broadcast_to(ir::dim_size(size), index.dims()) - ir::like(index, 1);
  const Value right = ir::binary(Op::Minimum, left + ir::like(index, 1), last);
  const Value weight = ir::cast(index - left * count, x.dtype()) / static_cast<double>(factor);
  const Value low = ir::gather(x, left, axis), high = ir::gather(x, right, axis);
  return low + (high - low) * ir::broadcast(weight, low.dims(), {axis});
}

}  // namespace

Tensor resize_images(const Operand& x, WholeNumber height_factor, WholeNumber width_factor,
                     const StringArgument& data_format, const ResizeImagesOptions& options) {
  return api_call("resize_images", x.where(), [&] {
    const int rows = first_spatial_axis(data_format_of(data_format));
    const bool is_linear = options.interpolation == "bilinear";
    if (!is_linear && options.interpolation != "nearest") {
      Call::value_error("interpolation", text("interpolation '", options.interpolation,
                                              "' is neither 'nearest' nor 'bilinear'"));
    }
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
