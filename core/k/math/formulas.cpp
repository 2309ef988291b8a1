// Composes each formula from ops whose gradients are finite where the formula is.
#include "core/k/math/formulas_impl.h"

#include "core/types/at.h"

namespace kiln {

using ir::Op;
using ir::Value;

Value sqrt_or_zero(const Value& x) {
  const Value below = ir::less_equal_to(x, ir::zeros_like(x));
  const Value root = ir::unary(Op::Sqrt, ir::select(below, ir::like(x, 1), x));
  return ir::select(below, ir::zeros_like(x), root);
}

Value clipped(const Value& x, const Value& low, const Value& high) {
  return ir::binary(Op::Maximum, ir::binary(Op::Minimum, x, high), low);
}

Value clipped(const Value& x, double low, double high) {
  return clipped(x, ir::like(x, low), ir::like(x, high));
}

Value positive_part(const Value& x) {
  const Value zero = ir::zeros_like(x);
  return ir::select(ir::less_equal_to(x, zero), zero, x);
}

Value log1p_exp_of_minus_abs(const Value& x) {
  const Value minus_abs = ir::select(ir::less_equal_to(x, ir::zeros_like(x)), x, -x);
  return ir::unary(Op::Log1p, ir::unary(Op::Exp, minus_abs));
}

Value with_ones(const Value& reduced, const Value& x, const ir::Ints& axes) {
  ir::Dims dims = x.dims();
  for (std::int64_t axis : axes) dims[at(axis)] = 1;
  return ir::reshape(reduced, dims);
}

Value repeated_along(const Value& x, int axis, const ir::Dim& count) {
  if (count.is_one()) return x;
  // (.., d, ..) -> (.., d, 1, ..) -> (.., d, count, ..) -> (.., d * count, ..)
  ir::Dims repeated = x.dims(), merged = x.dims();
  repeated.insert(repeated.begin() + axis + 1, count);
  ir::Dim& size = merged[at(axis)];
  size = size * count;
  ir::Ints axes;
  for (int i = 0; i < x.rank(); ++i) axes.push_back(i <= axis ? i : i + 1);
  return ir::reshape(ir::broadcast(x, repeated, axes), merged);
}

Value pick_last(const Value& x, const Value& indices) {
  const int last = x.rank() - 1;
  const Value wide = ir::cast(indices, DType::Int64);
  const Value classes = ir::iota({DType::Int64, x.dims()}, last);
  const Value is_picked = ir::equal_to(ir::broadcast_over(wide, x.dims(), {last}), classes);
  return ir::reduce_sum(ir::select(is_picked, x, ir::zeros_like(x)), {last});
}

}  // namespace kiln
