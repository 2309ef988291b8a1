// slice: one Slice node per axis where its start is a size, a gather where only the run knows it.
#include <kiln/shape_ops.h>

#include "core/kiln/tensor_impl.h"

namespace kiln {
namespace {

using ir::Dim;
using ir::Value;

[[noreturn]] void wrong_count(const Dim& count, const Value& x, const char* argument) {
  Call::value_error(argument, text(argument, " has ", count, " entries for the ", x.rank(),
                                   " axes of x (x ", x.type(), ")"));
}

/// The integer scalars of a list of starts or sizes, one for each axis of x.
std::vector<Value> entries_of(const Shape& list, const Value& x, const char* argument) {
  std::vector<Value> entries;
  if (list.is_tensor()) {
    const Value vector = value_of(list.tensor(), argument);
    if (!is_integer(vector.dtype()) || vector.rank() != 1) {
      Call::value_error(argument, text(argument, " is no integer vector (", argument, " ",
                                       vector.type(), ")"));
    }
    const Dim& count = vector.dims()[0];
    if (equal(count, x.rank()) == ir::Answer::No) wrong_count(count, x, argument);
    const Value known = ir::with_dims(vector, {x.rank()});
    for (int i = 0; i < x.rank(); ++i) {
      entries.push_back(ir::reshape(ir::slice_axis(known, 0, i, i + 1), {}));
    }
    return entries;
  }
  for (const ShapeEntry& entry : list.entries()) {
    if (entry.is_none()) Call::value_error(argument, text(argument, " holds None"));
    entries.push_back(entry.is_tensor() ? value_of(entry.tensor(), argument)
                                        : ir::scalar_constant_int(DType::Int64, entry.size()));
    const ir::Type& type = entries.back().type();
    if (is_integer(type.dtype) && type.rank() == 0) continue;
    Call::value_error(argument, text(argument, " holds a tensor that is no integer scalar (",
                                     argument, " ", type, ")"));
  }
  const Dim count = static_cast<std::int64_t>(entries.size());
  if (!(count == Dim(x.rank()))) wrong_count(count, x, argument);
  return entries;
}

/// Elements of one axis from a start that only the run knows.
Value sliced_at_run(const Value& x, int axis, const Value& start, const Dim& size) {
  const Value index = ir::iota({DType::Int64, {size}}, 0);
  const Value from = ir::broadcast_to(ir::cast(start, DType::Int64), index.dims());
  return ir::gather(x, index + from, axis);
}

Value sliced(const Value& x, int axis, const Value& start, const Value& size) {
  const Dim& whole = x.dims()[static_cast<std::size_t>(axis)];
  const auto from = dim_of(start), count = dim_of(size);
  if (!count) {
    Call::value_error("size", text("size of axis ", axis, " is not computed from shapes"));
  }
  const bool is_rest = count->is_static() && count->value() == -1;
  if (!from && is_rest) {
    Call::value_error("size", text("size of axis ", axis, " is -1 but its start is not computed "
                                   "from shapes"));
  }
  if (!from) return sliced_at_run(x, axis, start, *count);
  const Dim limit = is_rest ? whole : *from + *count;
  const bool is_outside = less_equal(0, *from) == ir::Answer::No ||
                          less_equal(*from, limit) == ir::Answer::No ||
                          less_equal(limit, whole) == ir::Answer::No;
  if (is_outside) {
    Call::value_error("start", text("start ", *from, " and size ", *count, " leave axis ", axis,
                                    " (x ", x.type(), ")"));
  }
  return ir::slice_axis(x, axis, *from, limit);
}

}  // namespace

Tensor slice(const Operand& x, const Shape& start, const Shape& size) {
  const Call call("slice", x.where());
  Value value = input_of(x);
  const auto starts = entries_of(start, value, "start"), sizes = entries_of(size, value, "size");
  for (int axis = 0; axis < value.rank(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    value = sliced(value, axis, starts[i], sizes[i]);
  }
  return wrap(value);
}

}  // namespace kiln
