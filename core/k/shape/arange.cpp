// arange: an Iota, scaled and shifted. Integers are counted in 64 bits, as dims, so that bounds may
// be sizes; numbers with a fraction in double. The host counts data-dependent ranges.
#include <kiln/shape_ops.h>

#include "core/k/shape/data_dependent_impl.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <variant>

namespace kiln {
namespace {

using ir::Dim;
using ir::Value;

/// start, stop or step.
struct Bound {
  const char* name;
  /// A 64-bit integer or a size; a number with a fraction; or a data-dependent scalar.
  std::variant<Dim, double, Value> value;

  const Dim* dim() const { return std::get_if<Dim>(&value); }
  const Value* data() const { return std::get_if<Value>(&value); }
  /// Whether it is known when the graph is built.
  bool is_number() const { return !data() && (!dim() || dim()->is_static()); }
  /// REQUIRES: is_number().
  double number() const {
    return dim() ? static_cast<double>(dim()->value()) : std::get<double>(value);
  }
};

Bound bound_of_tensor(const Value& value, const char* name, DType dtype) {
  const std::string type = text(" (", name, " ", value.type(), ")");
  if (value.rank() != 0) Call::value_error(name, text(name, " is not a scalar", type));
  if (!is_integer(value.dtype()) && !(is_float(dtype) && is_float(value.dtype()))) {
    Call::type_error(name, text(name, " does not fit dtype ", dtype, type));
  }
  if (const auto dim = dim_of(value)) return {name, *dim};
  return {name, value};
}

Bound bound_of(const Operand& operand, const char* name, DType dtype) {
  if (operand.is_tensor()) return bound_of_tensor(value_of(operand.tensor(), name), name, dtype);
  const bool is_large = operand.kind() == Operand::Kind::Unsigned;  // beyond int64
  if (operand.kind() != Operand::Kind::Float && !is_large) return {name, Dim(operand.integer())};
  const double number = operand.floating();
  if (!std::isfinite(number)) Call::value_error(name, text(name, " is ", number));
  const bool is_integral = std::trunc(number) == number && std::abs(number) < 0x1p63;
  if (is_integral) return {name, Dim(static_cast<std::int64_t>(number))};
  return {name, number};
}

struct Range {
  Bound start, stop, step;

  std::array<const Bound*, 3> bounds() const { return {&start, &stop, &step}; }
};

/// Throws TypeError for a bound with a fraction, which neither integer dtypes nor symbolic sizes
/// allow. `reason` names the one that rules it out.
void require_integral(const Range& range, const std::string& reason) {
  for (const Bound* bound : range.bounds()) {
    if (!std::holds_alternative<double>(bound->value)) continue;
    Call::type_error(bound->name, text(bound->name, " ", bound->number(),
                                       " is not a 64-bit integer, as ", reason, " requires"));
  }
}

/// max(ceil((stop - start) / step), 0). REQUIRES: all bounds are dims.
Dim integral_length(const Range& range) {
  const std::int64_t step = range.step.dim()->value();
  const Dim span =
      step > 0 ? *range.stop.dim() - *range.start.dim() : *range.start.dim() - *range.stop.dim();
  return max(ceil_div(span, step > 0 ? Dim(step) : -Dim(step)), 0);
}

Dim fractional_length(const Range& range) {
  const double length =
      std::ceil((range.stop.number() - range.start.number()) / range.step.number());
  if (!(length < 0x1p63)) {
    Call::value_error("stop",
                      text(range.start.number(), " to ", range.stop.number(), " in steps of ",
                           range.step.number(), " are 2^63 elements or more"));
  }
  return static_cast<std::int64_t>(std::max(0.0, length));
}

/// Throws ValueError if the first or last element of a known range is out of the range of int32.
void require_in_range(const Range& range, const Dim& length, DType dtype) {
  if (dtype != DType::Int32 || !length.is_static() || length == Dim(0)) return;
  if (!range.start.is_number()) return;
  const Dim first = *range.start.dim(), last = first + (length - 1) * *range.step.dim();
  for (const Dim& element : {first, last}) {
    if (less_equal(INT32_MIN, element) == ir::Ternary::Yes &&
        less_equal(element, INT32_MAX) == ir::Ternary::Yes)
      continue;
    Call::value_error("dtype", text("element ", element, " is outside the range of int32"));
  }
}

Value scalar_of(const Bound& bound, DType dtype) {
  if (const Value* data = bound.data()) return ir::cast(*data, dtype);
  const Dim* dim = bound.dim();
  if (!dim) return ir::scalar_constant(dtype, bound.number());
  if (!dim->is_static()) return ir::cast(ir::dim_size(*dim), dtype);
  return ir::scalar_constant_int(dtype, dim->value());
}

Dim length_of(const Range& range, DType dtype) {
  const bool is_known = range.start.is_number() && range.stop.is_number();
  if (range.start.data() || range.stop.data()) {
    const DType wide = is_float(dtype) ? DType::Float64 : DType::Int64;
    std::vector<Value> ends;
    for (const Bound* bound : range.bounds()) ends.push_back(scalar_of(*bound, wide));
    return data_dependent_dims("range_length", std::string(dtype_name(dtype)), ends, 1).front();
  }
  if (!is_known) require_integral(range, "an unknown size");
  const bool is_integral = range.start.dim() && range.stop.dim() && range.step.dim();
  const Dim length = is_integral ? integral_length(range) : fractional_length(range);
  require_in_range(range, length, dtype);
  return length;
}

Tensor make_arange(const Operand& start, const Operand& stop, double step,
                   const ArangeOptions& options) {
  return api_call("arange", stop.where(), [&] {
    const DType dtype = dtype_of(options.dtype, DType::Int32);
    if (dtype != DType::Int32 && dtype != DType::Int64 && dtype != DType::Float32 &&
        dtype != DType::Float64) {
      Call::type_error("dtype",
                       text("dtype ", dtype, " is not one of int32, int64, float32, float64"));
    }
    const Range range{bound_of(start, "start", dtype), bound_of(stop, "stop", dtype),
                      bound_of(step, "step", dtype)};
    if (step == 0) Call::value_error("step", "step is 0");
    if (!is_float(dtype)) require_integral(range, text("dtype ", dtype));
    const Dim length = length_of(range, dtype);
    const DType wide = is_float(dtype) ? DType::Float64 : DType::Int64;
    const Value index = ir::iota({wide, {length}}, 0);
    const Value scaled = step == 1 ? index : index * ir::like(index, step);
    const Value offset = ir::broadcast_to(scalar_of(range.start, wide), index.dims());
    return wrap(ir::cast(scaled + offset, dtype));
  });
}

}  // namespace

Tensor arange(const Operand& stop, const ArangeOptions& options) {
  return make_arange(0, stop, 1, options);
}

Tensor arange(const Operand& start, const Operand& stop, const ArangeOptions& options) {
  return make_arange(start, stop, 1, options);
}

Tensor arange(const Operand& start, const Operand& stop, double step,
              const ArangeOptions& options) {
  return make_arange(start, stop, step, options);
}

}  // namespace kiln
