// slice: one Slice node per axis, or a gather if the start is data-dependent.
#include <kiln/shape_ops.h>

#include "core/k/shape/data_dependent_impl.h"
#include "core/types/at.h"

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
  if (list.is_tensor()) {
    const Value vector = value_of(list.tensor(), argument);
    // A guard requires a vector of unknown length to fit.
    if (vector.rank() == 1 && equal(vector.dims()[0], x.rank()) == ir::Ternary::Unknown) {
      return integers_in(wrap(ir::with_dims(vector, {x.rank()})), argument);
    }
  }
  std::vector<Value> entries = integers_in(list, argument);
  const Dim count = static_cast<std::int64_t>(entries.size());
  if (!(count == Dim(x.rank()))) wrong_count(count, x, argument);
  return entries;
}

/// A slice of one axis with a data-dependent start.
Value gathered_slice(const Value& x, int axis, const Value& start, const Dim& size) {
  const Value index = ir::iota({DType::Int64, {size}}, 0);
  const Value from = ir::broadcast_to(start, index.dims());
  return ir::gather(x, index + from, axis);
}

Value sliced(const Value& x, int axis, const Value& start, const Value& size) {
  const Dim& extent = x.dims()[at(axis)];
  const auto from = dim_of(start), count = dim_of(size);
  const bool is_rest = count && count->is_static() && count->value() == -1;
  if (!count || (is_rest && !from)) {
    const std::vector<Value> inputs{start, size, ir::dim_size(extent)};
    const Dim found =
        data_dependent_dims("slice_size", text("size[", axis, "]"), inputs, 1).front();
    return from ? ir::slice_axis(x, axis, *from, *from + found)
                : gathered_slice(x, axis, start, found);
  }
  if (!from) return gathered_slice(x, axis, start, *count);
  const Dim limit = is_rest ? extent : *from + *count;
  const bool is_outside = less_equal(0, *from) == ir::Ternary::No ||
                          less_equal(*from, limit) == ir::Ternary::No ||
                          less_equal(limit, extent) == ir::Ternary::No;
  if (is_outside) {
    Call::value_error("start", text("start ", *from, " and size ", *count, " are outside of axis ",
                                    axis, " (x ", x.type(), ")"));
  }
  return ir::slice_axis(x, axis, *from, limit);
}

}  // namespace

Tensor slice(const Operand& x, const Shape& start, const Shape& size) {
  return api_call("slice", x.where(), [&] {
    Value value = input_of(x);
    const auto starts = entries_of(start, value, "start"), sizes = entries_of(size, value, "size");
    for (int axis = 0; axis < value.rank(); ++axis) {
      value = sliced(value, axis, starts[at(axis)], sizes[at(axis)]);
    }
    return wrap(value);
  });
}

}  // namespace kiln
