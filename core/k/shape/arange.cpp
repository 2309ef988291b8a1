// arange: an index, scaled and moved. Whole numbers are counted in 64 bits and as dims, so that
// ends may be sizes; numbers with fractions are counted in double. What is data is counted by
// the host at the run.
#include <kiln/shape_ops.h>

#include "core/k/shape/sizing_call_impl.h"

#include <array>
#include <cmath>
#include <cstdint>

namespace kiln {
namespace {

using ir::Dim;
using ir::Value;

/// start, stop or step: a dim where it is whole (a size, or a number), and a number where known.
struct Bound {
  const char* name;
  std::optional<Dim> whole;
  double number = 0;
  Value data = {};  // when only the run knows

  bool is_number() const { return !data && (!whole || whole->is_static()); }
};

Bound bound_of_tensor(const Value& value, const char* name, DType dtype) {
  const std::string type = text(" (", name, " ", value.type(), ")");
  if (value.rank() != 0) Call::value_error(name, text(name, " is no scalar", type));
  if (!is_integer(value.dtype()) && !(is_float(dtype) && is_float(value.dtype()))) {
    Call::type_error(name, text(name, " is no integer beside dtype ", dtype, type));
  }
  const auto dim = dim_of(value);
  if (!dim) return {name, std::nullopt, 0, value};
  return {name, dim, dim->is_static() ? static_cast<double>(dim->value()) : 0};
}

Bound bound_of(const Operand& operand, const char* name, DType dtype) {
  if (operand.is_tensor()) return bound_of_tensor(value_of(operand.tensor(), name), name, dtype);
  const double number = operand.real();
  if (operand.kind() != Operand::Kind::Real) return {name, Dim(operand.integer()), number};
  if (!std::isfinite(number)) Call::value_error(name, text(name, " is ", number));
  const bool is_whole = std::trunc(number) == number && std::abs(number) < 0x1p63;
  return {name, is_whole ? std::optional(Dim(static_cast<std::int64_t>(number))) : std::nullopt,
          number};
}

struct Range {
  Bound start, stop, step;

  std::array<const Bound*, 3> bounds() const { return {&start, &stop, &step}; }
};

/// A number with a fraction has no place among integers, and none beside a size that is unknown.
void require_whole(const Range& range, const std::string& beside) {
  for (const Bound* bound : range.bounds()) {
    if (bound->whole || bound->data) continue;
    Call::type_error(bound->name, text(bound->name, " ", bound->number, " is not a 64-bit integer "
                                       "beside ", beside));
  }
}

/// ceil((stop - start) / step), not below zero.
Dim whole_length(const Range& range) {
  const std::int64_t step = range.step.whole->value();
  const Dim span = step > 0 ? *range.stop.whole - *range.start.whole
                            : *range.start.whole - *range.stop.whole;
  return max(ceil_div(span, step > 0 ? Dim(step) : -Dim(step)), 0);
}

Dim fractional_length(const Range& range) {
  const double length =
      std::ceil((range.stop.number - range.start.number) / range.step.number);
  if (!(length < 0x1p63)) {
    Call::value_error("stop", text(range.start.number, " to ", range.stop.number, " in steps of ",
                                   range.step.number, " are 2^63 elements or more"));
  }
  return static_cast<std::int64_t>(std::max(0.0, length));
}

/// The elements start and start + (length - 1) step of a known range lie between all others.
void require_in_range(const Range& range, const Dim& length, DType dtype) {
  if (dtype != DType::Int32 || !length.is_static() || length == Dim(0)) return;
  if (!range.start.is_number()) return;
  const Dim first = *range.start.whole, last = first + (length - 1) * *range.step.whole;
  for (const Dim& element : {first, last}) {
    if (less_equal(INT32_MIN, element) == ir::Answer::Yes &&
        less_equal(element, INT32_MAX) == ir::Answer::Yes) continue;
    Call::value_error("dtype", text("element ", element, " is outside the range of int32"));
  }
}

Value scalar_of(const Bound& bound, DType dtype) {
  if (bound.data) return ir::cast(bound.data, dtype);
  if (!bound.whole) return ir::scalar_constant(dtype, bound.number);
  if (!bound.whole->is_static()) return ir::cast(ir::dim_size(*bound.whole), dtype);
  return ir::scalar_constant_int(dtype, bound.whole->value());
}

Dim length_of(const Range& range, DType dtype) {
  const bool is_known = range.start.is_number() && range.stop.is_number();
  if (range.start.data || range.stop.data) {
    const DType wide = is_float(dtype) ? DType::Float64 : DType::Int64;
    std::vector<Value> ends;
    for (const Bound* bound : range.bounds()) ends.push_back(scalar_of(*bound, wide));
    return sizes_at_run("range_length", std::string(dtype_name(dtype)), ends, 1).front();
  }
  if (!is_known) require_whole(range, "a size that is unknown");
  const bool is_whole = range.start.whole && range.stop.whole && range.step.whole;
  const Dim length = is_whole ? whole_length(range) : fractional_length(range);
  require_in_range(range, length, dtype);
  return length;
}

Tensor make_arange(const Operand& start, const Operand& stop, double step,
                   const ArangeOptions& options) try {
  const Call call("arange", stop.where());
  const DType dtype = dtype_of(options.dtype, DType::Int32);
  if (dtype != DType::Int32 && dtype != DType::Int64 && dtype != DType::Float32 &&
      dtype != DType::Float64) {
    Call::type_error("dtype", text("dtype ", dtype, " is none of int32, int64, float32, float64"));
  }
  const Range range{bound_of(start, "start", dtype), bound_of(stop, "stop", dtype),
                    bound_of(step, "step", dtype)};
  if (step == 0) Call::value_error("step", "step is 0");
  if (!is_float(dtype)) require_whole(range, text("dtype ", dtype));
  const Dim length = length_of(range, dtype);
  const DType wide = is_float(dtype) ? DType::Float64 : DType::Int64;
  const Value index = ir::iota({wide, {length}}, 0);
  const Value scaled = step == 1 ? index : index * ir::like(index, step);
  const Value offset = ir::broadcast_to(scalar_of(range.start, wide), index.dims());
  return wrap(ir::cast(scaled + offset, dtype));
} catch (const std::bad_alloc&) {
  Call::out_of_memory("arange", stop.where());
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
