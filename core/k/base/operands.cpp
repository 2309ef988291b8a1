// Operands of K functions: numbers take the dtype of the other operand, shapes broadcast by NumPy's
// rules, unless a size is unknown: equality of symbolic dims is guarded.
#include "core/k/base/tensor_impl.h"

#include <kiln/elementwise.h>

#include <cmath>

namespace kiln {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Value;

std::string both(const ir::Type& x, const ir::Type& y, const PairNames& names) {
  return text("(", names.x, " ", x, ", ", names.y, " ", y, ")");
}

void require_equal_dtypes(const Value& x, const Value& y, const PairNames& names) {
  if (x.dtype() == y.dtype()) return;
  Call::type_error(names.y, text(names.x, " has dtype ", x.dtype(), " but ", names.y, " has dtype ",
                                 y.dtype(), " ", both(x.type(), y.type(), names)));
}

std::string number_text(const Operand& operand) {
  if (operand.kind() == Operand::Kind::Float) return text(operand.floating());
  const bool is_unsigned = operand.kind() == Operand::Kind::Unsigned;
  return is_unsigned ? text(operand.unsigned_integer()) : text(operand.integer());
}

bool fits_integer(const Operand& operand, DType dtype) {
  const bool is_signed = info(dtype).kind == DTypeKind::Signed;
  const int bits = static_cast<int>(dtype_bytes(dtype)) * 8 - (is_signed ? 1 : 0);
  if (operand.kind() == Operand::Kind::Unsigned) return bits == 64;
  const std::int64_t number = operand.integer();
  if (number < 0 && !is_signed) return false;
  return bits >= 63 || (number < 0 ? ~number : number) >> bits == 0;
}

/// Throws unless the dtype can hold the number. Floating-point numbers are none of integers, even
/// 255.0: x / 255.0 would be the integer division x / 255.
void require_representable(const Operand& operand, DType dtype, const char* argument,
                           const char* tensor) {
  if (is_float(dtype)) return;
  if (operand.kind() == Operand::Kind::Float) {
    const std::string cast = *tensor == '\0' ? "" : text("cast(", tensor, ", \"float32\") or ");
    Call::type_error(argument,
                     text(argument, " ", operand.floating(), " is floating point but the dtype is ",
                          dtype, ": write ", cast, "an integer"));
  }
  const double number = operand.floating();
  if (dtype == DType::Bool) {
    if (number == 0 || number == 1) return;
    Call::type_error(argument, text(argument, " ", number_text(operand),
                                    " is not 0 or 1, as dtype bool requires"));
  }
  if (fits_integer(operand, dtype)) return;
  Call::value_error(argument,
                    text(argument, " ", number_text(operand), " is outside the range of ", dtype));
}

/// The line of the call that made x; unknown for an empty or a sparse tensor.
Where line_of(const Tensor& x) {
  const Value* value = dense_value_of(x);
  return value ? value->node->origin.where : Where{};
}

Tensor arithmetic(const char* function, ir::Op op, const Operand& x, const Operand& y) {
  return api_call(function, where_of(x, y), [&] {
    const auto [a, b] = broadcast_numbers(x, y);
    return wrap(ir::binary(op, a, b));
  });
}

}  // namespace

Value value_of(const Operand& operand, DType dtype, const char* argument, const char* tensor) {
  if (operand.is_tensor()) return value_of(operand.tensor(), argument);
  require_representable(operand, dtype, argument, tensor);
  const bool is_unsigned = operand.kind() == Operand::Kind::Unsigned;
  if (is_unsigned && !is_float(dtype)) {
    return ir::scalar_constant_int(dtype, static_cast<std::int64_t>(operand.unsigned_integer()));
  }
  if (operand.kind() == Operand::Kind::Float || is_unsigned) {
    return ir::scalar_constant(dtype, operand.floating());
  }
  return ir::scalar_constant_int(dtype, operand.integer());
}

Value input_of(const Operand& operand, const char* argument) {
  if (operand.is_tensor()) return value_of(operand.tensor(), argument);
  return value_of(operand, floatx_dtype(), argument);
}

Value float_of(const Operand& operand, const char* argument) {
  const Value value = input_of(operand, argument);
  if (is_float(value.dtype())) return value;
  Call::type_error(argument,
                   text(argument, " is not floating point (", argument, " ", value.type(), ")"));
}

Value number_of(const Operand& operand, const char* argument) {
  const Value value = input_of(operand, argument);
  if (value.dtype() != DType::Bool) return value;
  Call::type_error(argument,
                   text(argument, " is bool, not a number (", argument, " ", value.type(), ")"));
}

Dims broadcast_dims(const ir::Type& x, const ir::Type& y, const PairNames& names) {
  const bool x_is_longer = x.rank() >= y.rank();
  const ir::Type &longer = x_is_longer ? x : y, &shorter = x_is_longer ? y : x;
  Dims dims = longer.dims;
  const std::size_t offset = longer.dims.size() - shorter.dims.size();
  for (std::size_t i = 0; i < shorter.dims.size(); ++i) {
    Dim& dim = dims[offset + i];
    const Dim& other = shorter.dims[i];
    if (dim == other || other.is_one()) continue;
    if (dim.is_one()) {
      dim = other;
      continue;
    }
    if (equal(dim, other) == ir::Ternary::No) {
      const auto axis = static_cast<std::int64_t>(i) - shorter.rank();
      Call::value_error(names.y,
                        text("shapes do not broadcast: sizes ", x_is_longer ? dim : other, " and ",
                             x_is_longer ? other : dim, " of axis ", axis, " ", both(x, y, names)));
    }
    if (other.is_static()) dim = other;  // the static one of the two
  }
  return dims;
}

std::pair<Value, Value> broadcast_values(const Value& x, const Value& y, const PairNames& names) {
  require_equal_dtypes(x, y, names);
  const Dims dims = broadcast_dims(x.type(), y.type(), names);
  return {ir::broadcast_to(x, dims), ir::broadcast_to(y, dims)};
}

std::pair<Value, Value> operand_pair(const Operand& x, const Operand& y, const PairNames& names) {
  const DType dtype = x.is_tensor()   ? value_of(x.tensor(), names.x).dtype()
                      : y.is_tensor() ? value_of(y.tensor(), names.y).dtype()
                                      : floatx_dtype();
  const Value a = value_of(x, dtype, names.x, names.y), b = value_of(y, dtype, names.y, names.x);
  require_equal_dtypes(a, b, names);
  return {a, b};
}

std::pair<Value, Value> number_pair(const Operand& x, const Operand& y, const PairNames& names) {
  const auto pair = operand_pair(x, y, names);
  if (pair.first.dtype() != DType::Bool) return pair;
  Call::type_error(names.x, text(names.x, " is bool, not a number ",
                                 both(pair.first.type(), pair.second.type(), names)));
}

std::pair<Value, Value> broadcast_numbers(const Operand& x, const Operand& y,
                                          const PairNames& names) {
  const auto [a, b] = number_pair(x, y, names);
  return broadcast_values(a, b, names);
}

std::pair<Value, Value> broadcast_operands(const Operand& x, const Operand& y,
                                           const PairNames& names) {
  const auto [a, b] = operand_pair(x, y, names);
  return broadcast_values(a, b, names);
}

Tensor operator+(const Operand& x, const Operand& y) {
  return arithmetic("operator+", ir::Op::Add, x, y);
}
Tensor operator-(const Operand& x, const Operand& y) {
  return arithmetic("operator-", ir::Op::Sub, x, y);
}
Tensor operator*(const Operand& x, const Operand& y) {
  return arithmetic("operator*", ir::Op::Mul, x, y);
}
Tensor operator/(const Operand& x, const Operand& y) {
  return arithmetic("operator/", ir::Op::Div, x, y);
}
Tensor operator<(const Operand& x, const Operand& y) {
  return api_call("operator<", where_of(x, y), [&] { return less(x, y); });
}
Tensor operator<=(const Operand& x, const Operand& y) {
  return api_call("operator<=", where_of(x, y), [&] { return less_equal(x, y); });
}
Tensor operator>(const Operand& x, const Operand& y) {
  return api_call("operator>", where_of(x, y), [&] { return greater(x, y); });
}
Tensor operator>=(const Operand& x, const Operand& y) {
  return api_call("operator>=", where_of(x, y), [&] { return greater_equal(x, y); });
}
Tensor operator==(const Operand& x, const Operand& y) {
  return api_call("operator==", where_of(x, y), [&] { return equal(x, y); });
}
Tensor operator!=(const Operand& x, const Operand& y) {
  return api_call("operator!=", where_of(x, y), [&] { return not_equal(x, y); });
}
Tensor operator&&(const Tensor& x, const Operand& y) {
  return api_call("operator&&", y.where(), [&] { return logical_and(Operand(x, y.where()), y); });
}
Tensor operator||(const Tensor& x, const Operand& y) {
  return api_call("operator||", y.where(), [&] { return logical_or(Operand(x, y.where()), y); });
}
Tensor operator!(const Tensor& x) {
  return api_call("operator!", line_of(x), [&] { return logical_not(Operand(x, line_of(x))); });
}
Tensor operator-(const Operand& x) {
  return api_call("operator-", x.where(), [&] { return wrap(-number_of(x)); });
}

}  // namespace kiln
