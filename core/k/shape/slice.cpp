// slice: one Slice node per axis where its start is a size, a gather where it is data.
#include <kiln/shape_ops.h>

#include "core/k/shape/sizing_call_impl.h"

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
    // A vector of unknown length is taken to fit.
    if (vector.rank() == 1 && equal(vector.dims()[0], x.rank()) == ir::Answer::Unknown) {
      return integers_in(wrap(ir::with_dims(vector, {x.rank()})), argument);
    }
  }
  std::vector<Value> entries = integers_in(list, argument);
  const Dim count = static_cast<std::int64_t>(entries.size());
  if (!(count == Dim(x.rank()))) wrong_count(count, x, argument);
  return entries;
}

/// Elements of one axis from a start that only the run knows.
Value sliced_at_run(const Value& x, int axis, const Value& start, const Dim& size) {
  const Value index = ir::iota({DType::Int64, {size}}, 0);
  const Value from = ir::broadcast_to(start, index.dims());
  return ir::gather(x, index + from, axis);
}

Value sliced(const Value& x, int axis, const Value& start, const Value& size) {
  const Dim& whole = x.dims()[static_cast<std::size_t>(axis)];
  const auto from = dim_of(start), count = dim_of(size);
  const bool is_rest = count && count->is_static() && count->value() == -1;
  if (!count || (is_rest && !from)) {
    const std::vector<Value> known_at_run{start, size, ir::dim_size(whole)};
    const Dim found =
        sizes_at_run("slice_size", text("size[", axis, "]"), known_at_run, 1).front();
    return from ? ir::slice_axis(x, axis, *from, *from + found)
                : sliced_at_run(x, axis, start, found);
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

Tensor slice(const Operand& x, const Shape& start, const Shape& size) try {
  const Call call("slice", x.where());
  Value value = input_of(x);
  const auto starts = entries_of(start, value, "start"), sizes = entries_of(size, value, "size");
  for (int axis = 0; axis < value.rank(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    value = sliced(value, axis, starts[i], sizes[i]);
  }
  return wrap(value);
} catch (const std::bad_alloc&) {
  Call::out_of_memory("slice", x.where());
}

}  // namespace kiln
