// Operands of K functions: numbers adopt the dtype of the tensor beside them, shapes broadcast as
// NumPy's do, and unknown sizes that meet are held equal by a guard.
#include "core/kiln/tensor_impl.h"

#include <cmath>
#include <limits>

namespace kiln {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Value;

std::string both(const ir::Type& x, const ir::Type& y) {
  return text("(x ", x, ", y ", y, ")");
}

Tensor elementwise(const char* function, ir::Op op, const Operand& x, const Operand& y) {
  const Call call(function, x.is_tensor() ? x.where() : y.where());
  const auto [a, b] = broadcast_operands(x, y);
  return wrap(ir::binary(op, a, b));
}

void require_integral(const Operand& operand, DType dtype, const char* argument) {
  if (!is_integer(dtype) || operand.kind() != Operand::Kind::Real) return;
  if (std::trunc(operand.real()) == operand.real()) return;
  Call::type_error(argument, text(argument, " ", operand.real(),
                                  " is not integral beside a tensor of dtype ", dtype));
}

}  // namespace

Value value_of(const Operand& operand, DType dtype, const char* argument) {
  if (operand.is_tensor()) return value_of(operand.tensor(), argument);
  require_integral(operand, dtype, argument);
  if (operand.kind() == Operand::Kind::Real) return ir::scalar_constant(dtype, operand.real());
  return ir::scalar_constant_int(dtype, operand.integer());
}

Dims broadcast_dims(const ir::Type& x, const ir::Type& y) {
  const ir::Type& longer = x.rank() >= y.rank() ? x : y;
  const ir::Type& shorter = x.rank() >= y.rank() ? y : x;
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
    if (equal(dim, other) == ir::Answer::No) {
      Call::value_error("y", text("shapes do not broadcast: sizes ", x.dims.size() >= y.dims.size()
                                                                         ? dim : other,
                                  " and ", x.dims.size() >= y.dims.size() ? other : dim,
                                  " of axis ", static_cast<std::int64_t>(i) -
                                                   static_cast<std::int64_t>(shorter.dims.size()),
                                  " ", both(x, y)));
    }
    if (other.is_static()) dim = other;  // the known size of the two
  }
  return dims;
}

std::pair<Value, Value> broadcast_values(const Value& x, const Value& y) {
  if (x.dtype() != y.dtype()) {
    Call::type_error("y", text("x has dtype ", x.dtype(), " but y has dtype ", y.dtype(), " ",
                               both(x.type(), y.type())));
  }
  const Dims dims = broadcast_dims(x.type(), y.type());
  return {ir::broadcast_to(x, dims), ir::broadcast_to(y, dims)};
}

std::pair<Value, Value> broadcast_operands(const Operand& x, const Operand& y) {
  if (x.is_tensor()) {
    const Value a = value_of(x.tensor(), "x");
    return broadcast_values(a, value_of(y, a.dtype(), "y"));
  }
  const DType dtype = y.is_tensor() ? value_of(y.tensor(), "y").dtype() : floatx_dtype();
  return broadcast_values(value_of(x, dtype, "x"), value_of(y, dtype, "y"));
}

Tensor operator+(const Operand& x, const Operand& y) {
  return elementwise("operator+", ir::Op::Add, x, y);
}
Tensor operator-(const Operand& x, const Operand& y) {
  return elementwise("operator-", ir::Op::Sub, x, y);
}
Tensor operator*(const Operand& x, const Operand& y) {
  return elementwise("operator*", ir::Op::Mul, x, y);
}
Tensor operator/(const Operand& x, const Operand& y) {
  return elementwise("operator/", ir::Op::Div, x, y);
}
Tensor operator<(const Operand& x, const Operand& y) {
  return elementwise("operator<", ir::Op::Less, x, y);
}
Tensor operator<=(const Operand& x, const Operand& y) {
  return elementwise("operator<=", ir::Op::LessEqual, x, y);
}
Tensor operator>(const Operand& x, const Operand& y) {
  const Call call("operator>", x.is_tensor() ? x.where() : y.where());
  const auto [a, b] = broadcast_operands(x, y);
  return wrap(ir::less(b, a));
}
Tensor operator>=(const Operand& x, const Operand& y) {
  const Call call("operator>=", x.is_tensor() ? x.where() : y.where());
  const auto [a, b] = broadcast_operands(x, y);
  return wrap(ir::less_equal_to(b, a));
}
Tensor operator==(const Operand& x, const Operand& y) {
  return elementwise("operator==", ir::Op::Equal, x, y);
}
Tensor operator!=(const Operand& x, const Operand& y) {
  const Call call("operator!=", x.is_tensor() ? x.where() : y.where());
  const auto [a, b] = broadcast_operands(x, y);
  return wrap(ir::logical_not(ir::equal_to(a, b)));
}
Tensor operator-(const Operand& x) {
  const Call call("operator-", x.where());
  return wrap(-value_of(x, floatx_dtype(), "x"));
}

}  // namespace kiln
