// Private side of Tensor and the frame in which every K function runs: the call's name and the
// user's line, conversion of operands, shapes, axes and dtypes, and error texts.
#pragma once

#include "core/ops/build.h"
#include "core/types/text.h"

#include <kiln/tensor.h>

namespace kiln {

/// The dense values behind a sparse tensor; the graph knows nothing of sparse ones.
/// Elements without an index are 0; those with the same one add up.
struct SparseParts {
  ir::Value indices;  // int64 (count, 2): row and column
  ir::Value values;   // (count)
  ir::Dims dims;      // rows, columns
  ir::Value extent;   // of a placeholder: bool (rows, columns, 0), which is fed for its sizes alone
  ir::Type type() const { return {values.dtype(), dims}; }
};

/// `value` is empty for a sparse tensor, which has `sparse`, and for a missing gradient; `missing`
/// then says what it would have been.
struct TensorImpl {
  ir::Value value;
  std::string name;
  std::string missing;
  std::shared_ptr<const SparseParts> sparse = {};
};

/// Null for a dense tensor and an empty one.
const SparseParts* sparse_of(const Tensor& tensor);
/// Of a dense or sparse tensor. ValueError naming `x` when it is empty.
ir::Type type_of(const Tensor& x);

/// The handle of a value. The current name scope is put before a non-empty name.
Tensor wrap(const ir::Value& value, std::string name = "");

/// A placeholder that no other call gives.
ir::Value fresh_placeholder(ir::Type type, std::string name);

/// One call of a K function by the user: names the origin of the nodes that are made and of the
/// errors that are thrown while it lives. When K functions call each other the outermost is named.
class Call {
 public:
  Call(const char* function, Where where) : scope_({where, function}) {}

  /// "dot": the outermost running call.
  static std::string function();
  static Where where();
  [[noreturn]] static void value_error(const char* argument, const std::string& fact);
  [[noreturn]] static void type_error(const char* argument, const std::string& fact);
  [[noreturn]] static void not_implemented(const char* argument, const std::string& fact);
  /// Throws OutOfMemory, for the handler of std::bad_alloc that every function of the public API
  /// has. Names the outermost running call, else `function`; where there is no memory for that
  /// either, the error has no text but "no memory".
  [[noreturn]] static void out_of_memory(const char* function, Where where);

 private:
  ir::OriginScope scope_;
};

/// The value behind a tensor; ValueError naming the argument when it is empty, TypeError when it is
/// sparse.
ir::Value value_of(const Tensor& tensor, const char* argument);
/// The same for one of several tensors, which the error calls "argument[i]".
ir::Value value_of(const std::vector<Tensor>& tensors, std::size_t i, const char* argument);
/// A tensor's value, or a number made a scalar of that dtype (TypeError when it is not integral
/// and the dtype is an integer's, or not 0 or 1 and the dtype is bool; ValueError when it lies
/// outside the range of an integer dtype).
ir::Value value_of(const Operand& operand, DType dtype, const char* argument);
/// The same for an operand that has no tensor beside it: a number is a scalar of floatx().
ir::Value input_of(const Operand& operand, const char* argument = "x");
/// input_of, with TypeError unless it is floating point.
ir::Value float_of(const Operand& operand, const char* argument = "x");
/// input_of, with TypeError when it is bool.
ir::Value number_of(const Operand& operand, const char* argument = "x");

/// What the user calls two operands, for the texts of errors.
struct PairNames {
  const char* x = "x";
  const char* y = "y";
};
/// Two operands of equal dtype, numbers having adopted the tensor's (floatx when both are
/// numbers). Errors name both types.
std::pair<ir::Value, ir::Value> operand_pair(const Operand& x, const Operand& y,
                                             const PairNames& names = {});
/// operand_pair, with TypeError when they are bool.
std::pair<ir::Value, ir::Value> number_pair(const Operand& x, const Operand& y,
                                            const PairNames& names = {});
/// operand_pair, broadcast against each other.
std::pair<ir::Value, ir::Value> broadcast_operands(const Operand& x, const Operand& y,
                                                   const PairNames& names = {});
/// number_pair, broadcast against each other.
std::pair<ir::Value, ir::Value> broadcast_numbers(const Operand& x, const Operand& y,
                                                  const PairNames& names = {});
/// The same for values; also checks equal dtype.
std::pair<ir::Value, ir::Value> broadcast_values(const ir::Value& x, const ir::Value& y,
                                                 const PairNames& names = {});
/// The dims that NumPy broadcasting of both gives; ValueError when they clash.
ir::Dims broadcast_dims(const ir::Type& x, const ir::Type& y, const PairNames& names = {});
/// The line of a call with two operands.
inline Where where_of(const Operand& x, const Operand& y) {
  return x.where().known() ? x.where() : y.where();
}

/// A set dtype, or the fallback. TypeError for an unknown name.
DType dtype_of(const DTypeArgument& argument, DType fallback);
/// floatx() as a DType.
DType floatx_dtype();
/// Axis made non-negative. ValueError when out of range.
int axis_of(std::int64_t axis, int rank, const char* argument = "axis");
/// Axes made non-negative, sorted; all when unset. ValueError when out of range or repeated.
ir::Ints axes_of(const Axes& axes, int rank, const char* argument = "axis");
/// Dims of a shape argument; ValueError for None and sizes that are known to be negative. What is
/// data has a symbol that a host function gives its value.
ir::Dims dims_of(const Shape& shape, const char* argument = "shape");
/// The dim that an integer scalar is, when it is computed from constants and shapes.
std::optional<ir::Dim> dim_of(const ir::Value& scalar);

}  // namespace kiln
