// Updates: broadcasts the new value to exactly the variable's type.
// runtime/function/compile/build_graph.h has the conditions on updates of a function.
#include <kiln/update.h>

#include "core/k/base/tensor_impl.h"

#include <algorithm>

namespace kiln {
namespace {

ir::Value variable_of(const Tensor& x, const char* argument) {
  const ir::Value value = value_of(x, argument);
  if (value.node->op != ir::Op::Variable) {
    Call::type_error(argument, text(argument, " is not a variable (", argument, " ", x, ")"));
  }
  return value;
}

/// Whether `value` can be broadcast to `type`.
bool broadcasts_to(const ir::Type& type, const ir::Type& value) {
  if (value.rank() > type.rank()) return false;
  return std::equal(value.dims.rbegin(), value.dims.rend(), type.dims.rbegin(),
                    [](const ir::Dim& from, const ir::Dim& to) {
                      return from.is_one() || equal(from, to) != ir::Ternary::No;
                    });
}

/// The operand broadcast to the type of the variable, or of the part of it that `name` is. Throws
/// TypeError for another dtype and ValueError for a shape that does not broadcast.
ir::Value fitted_to(const ir::Type& type, const Operand& operand, const char* argument,
                    const char* name) {
  const ir::Value value = value_of(operand, type.dtype, argument, "");
  const auto both = [&] {
    return text("(", name, " ", type, ", ", argument, " ", value.type(), ")");
  };
  if (value.dtype() != type.dtype) {
    Call::type_error(argument, text(argument, " has dtype ", value.dtype(),
                                    " but the variable has ", type.dtype, " ", both()));
  }
  if (!broadcasts_to(type, value.type())) {
    Call::value_error(argument, text(argument, " does not fit the variable ", both()));
  }
  return ir::broadcast_to(value, type.dims);
}

ir::Value fitted(const ir::Value& variable, const Operand& operand, const char* argument,
                 const char* name = "x") {
  return fitted_to(variable.type(), operand, argument, name);
}

/// The same for a value that is added or subtracted: not bool.
ir::Value number(const ir::Value& variable, const Operand& operand, const char* argument) {
  const ir::Value value = fitted(variable, operand, argument);
  if (value.dtype() != DType::Bool) return value;
  Call::type_error("x", text("x is bool, not a number (x ", variable.type(), ")"));
}

/// The index of an entry of axis 0 as int64; out of range, it is an error of the call.
ir::Value entry_index(const ir::Value& variable, const Operand& index) {
  const ir::Value given = value_of(index, DType::Int64, "index", "");
  if (!is_integer(given.dtype())) {
    Call::type_error("index", text("index is not an integer (index ", given.type(), ")"));
  }
  if (given.rank() != 0) {
    Call::value_error("index", text("index is not a scalar (index ", given.type(), ")"));
  }
  const ir::Value positions = ir::iota({DType::Int64, {variable.dims()[0]}}, 0);
  return ir::gather(positions, given);
}

/// An update at the line of the outermost running call, which is the user's.
UpdateOp make_update(const Tensor& x, const ir::Value& value) {
  return {x, wrap(value), Call::where()};
}

}  // namespace

UpdateOp update(const Tensor& x, const Operand& new_x, Where where) {
  return api_call("update", where, [&] {
    const ir::Value variable = variable_of(x, "x");
    const ir::Value value = value_of(new_x, variable.dtype(), "new_x", "");
    const auto both = [&] { return text("(x ", variable.type(), ", new_x ", value.type(), ")"); };
    if (new_x.is_tensor() && value.rank() != variable.rank()) {
      Call::value_error("new_x", text("new_x has rank ", value.rank(),
                                      " but the variable has rank ", variable.rank(), " ", both()));
    }
    for (int axis = 0; axis < value.rank(); ++axis) {
      if (equal(value.dims()[axis], variable.dims()[axis]) != ir::Ternary::No) continue;
      Call::value_error("new_x", text("new_x does not fit the variable ", both()));
    }
    return make_update(x, fitted(variable, new_x, "new_x"));
  });
}

UpdateOp update_add(const Tensor& x, const Operand& increment, Where where) {
  return api_call("update_add", where, [&] {
    const ir::Value variable = variable_of(x, "x");
    return make_update(x, variable + number(variable, increment, "increment"));
  });
}

UpdateOp update_sub(const Tensor& x, const Operand& decrement, Where where) {
  return api_call("update_sub", where, [&] {
    const ir::Value variable = variable_of(x, "x");
    return make_update(x, variable - number(variable, decrement, "decrement"));
  });
}

UpdateOp update_row(const Tensor& x, const Operand& index, const Operand& value, Where where) {
  return api_call("update_row", where, [&] {
    const ir::Value variable = variable_of(x, "x");
    const ir::Dims& dims = variable.dims();
    if (dims.empty()) Call::value_error("x", text("x is a scalar (x ", variable.type(), ")"));
    const ir::Type entry{variable.dtype(), {dims.begin() + 1, dims.end()}};
    const ir::Value row = fitted_to(entry, value, "value", "x[index]");
    const ir::Value position = ir::broadcast_to(entry_index(variable, index), dims);
    const ir::Value is_updated = ir::equal_to(ir::iota(position.type(), 0), position);
    return make_update(x, ir::select(is_updated, ir::broadcast_to(row, dims), variable));
  });
}

UpdateOp moving_average_update(const Tensor& variable, const Operand& value,
                               const Operand& momentum, Where where) {
  return api_call("moving_average_update", where, [&] {
    const ir::Value x = variable_of(variable, "variable");
    const ir::Value current = ir::cast(value_of(value, x.dtype(), "value", ""), x.dtype());
    const ir::Value m = ir::broadcast_to(fitted(x, momentum, "momentum", "variable"), x.dims());
    if (!broadcasts_to(x.type(), current.type())) {
      Call::value_error("value", text("value does not fit the variable (variable ", x.type(),
                                      ", value ", current.type(), ")"));
    }
    return make_update(variable, x * m + ir::broadcast_to(current, x.dims()) * (1.0 - m));
  });
}

}  // namespace kiln
