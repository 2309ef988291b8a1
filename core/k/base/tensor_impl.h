// Shared by all K functions: TensorImpl behind Tensor, and the conversion of operands, shapes, axes
// and dtypes.
#pragma once

#include "core/k/base/call.h"
#include "core/ops/build.h"
#include "core/types/text.h"

#include <kiln/tensor.h>

#include <variant>

namespace kiln {

/// A sparse matrix in COO format, as dense values of the graph. Elements without an index are 0;
/// values with equal indices are added.
struct SparseParts {
  ir::Value indices;  // int64 (count, 2): row and column
  ir::Value values;  // (count)
  ir::Dims dims;  // rows, columns
  ir::Value extent;  // of a placeholder: bool (rows, columns, 0), which feeds the sizes
  ir::Type type() const { return {values.dtype(), dims}; }
};

/// The gradient of a variable on which the loss does not depend. Using it throws ValueError.
struct MissingGradient {
  std::string reason;
};

struct TensorImpl {
  std::variant<ir::Value, SparseParts, MissingGradient> content;
  std::string name = {};
};

/// The parts of a sparse tensor; null for a dense or an empty one.
const SparseParts* sparse_of(const Tensor& tensor);
/// The value of a dense tensor; null for a sparse or an empty one.
const ir::Value* dense_value_of(const Tensor& tensor);
/// The type of a dense or sparse tensor. Throws ValueError, which names `x`, if it is empty.
ir::Type type_of(const Tensor& x);

/// A tensor of this value. A non-empty name is prefixed by the current name scope.
Tensor wrap(const ir::Value& value, std::string name = "");

/// A new placeholder.
ir::Value fresh_placeholder(ir::Type type, std::string name);

/// The value of a tensor. Throws ValueError if it is empty and TypeError if it is sparse; both name
/// `argument`.
ir::Value value_of(const Tensor& tensor, const char* argument);
/// The same for tensors[i], which errors call "argument[i]".
ir::Value value_of(const std::vector<Tensor>& tensors, std::size_t i, const char* argument);
/// The value of a tensor, or a number as a scalar constant of `dtype`. Throws TypeError for a
/// floating-point number, whatever its value, and an integer dtype or bool, and for a number other
/// than 0 and 1 and bool; ValueError for a number out of the range of an integer dtype. `tensor`:
/// the argument that can be cast, for the message; empty for none.
ir::Value value_of(const Operand& operand, DType dtype, const char* argument,
                   const char* tensor = "x");
/// The same for the only operand of a function: a number has dtype floatx(), which is not read for
/// a tensor.
ir::Value input_of(const Operand& operand, const char* argument = "x");
/// input_of(); throws TypeError unless it is floating-point.
ir::Value float_of(const Operand& operand, const char* argument = "x");
/// input_of(); throws TypeError if it is bool.
ir::Value number_of(const Operand& operand, const char* argument = "x");

/// The argument names of two operands, for errors.
struct PairNames {
  const char* x = "x";
  const char* y = "y";
};
/// Two operands of equal dtype. A number takes the dtype of the other, a tensor; two numbers have
/// dtype floatx(). Throws TypeError for different dtypes.
std::pair<ir::Value, ir::Value> operand_pair(const Operand& x, const Operand& y,
                                             const PairNames& names = {});
/// operand_pair(); throws TypeError if they are bool.
std::pair<ir::Value, ir::Value> number_pair(const Operand& x, const Operand& y,
                                            const PairNames& names = {});
/// operand_pair(), broadcast against each other.
std::pair<ir::Value, ir::Value> broadcast_operands(const Operand& x, const Operand& y,
                                                   const PairNames& names = {});
/// number_pair(), broadcast against each other.
std::pair<ir::Value, ir::Value> broadcast_numbers(const Operand& x, const Operand& y,
                                                  const PairNames& names = {});
/// The same for values. Throws TypeError for different dtypes.
std::pair<ir::Value, ir::Value> broadcast_values(const ir::Value& x, const ir::Value& y,
                                                 const PairNames& names = {});
/// The dims of both broadcast by NumPy's rules; an unknown size must equal the other at the call.
/// Throws ValueError if they do not broadcast.
ir::Dims broadcast_dims(const ir::Type& x, const ir::Type& y, const PairNames& names = {});
/// The line of a call: of the first operand that has one.
inline Where where_of(const Operand& x, const Operand& y) {
  return x.where().known() ? x.where() : y.where();
}

/// The dtype of an argument, or `fallback` if it is unset. Throws TypeError for an unknown name.
DType dtype_of(const DTypeArgument& argument, DType fallback);
/// The same with floatx(), which is read only if the argument is unset: keras.json may have a value
/// that cannot be used.
DType dtype_of(const DTypeArgument& argument);
/// floatx() as a DType.
DType floatx_dtype();
/// A non-negative axis, from one that may be negative. Throws ValueError if it is out of range.
int axis_of(std::int64_t axis, int rank, const char* argument = "axis");
/// Sorted non-negative axes; all axes if unset. Throws ValueError for one out of range or repeated.
ir::Ints axes_of(const Axes& axes, int rank, const char* argument = "axis");
/// The dims of a shape argument; data-dependent entries become symbols. Throws ValueError for None
/// and for sizes that are known to be negative.
ir::Dims dims_of(const Shape& shape, const char* argument = "shape");
/// The dim that an integer scalar equals, if it is computed from constants and shapes only.
std::optional<ir::Dim> dim_of(const ir::Value& scalar);

}  // namespace kiln
