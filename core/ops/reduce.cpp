// Type rules, axis rules and gradients of reductions.
#include "core/ops/reduce.h"

#include "core/ops/halves.h"
#include "core/types/at.h"

#include <numeric>

namespace kiln::ir {
namespace {

/// The exclusive prefix product along `axis`: 1 at the first element.
Value exclusive_product(const Value& x, int axis) {
  Dims low(x.dims().size(), 0), high(x.dims().size(), 0), start = low;
  low[at(axis)] = 1;
  const Value padded = pad(x, scalar_constant(x.dtype(), 1), low, high);
  return make(Op::CumProd, AxisAttrs{axis}, {slice(padded, start, x.dims())});
}

/// Moves `axes` to the end and merges them into one: dims (others.., merged). `order` gets the
/// permutation.
Value flatten_axes(const Value& x, const Ints& axes, Ints* order) {
  Dims dims;
  for (std::int64_t axis = 0; axis < x.rank(); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
    order->push_back(axis);
    dims.push_back(x.dims()[at(axis)]);
  }
  order->insert(order->end(), axes.begin(), axes.end());
  dims.push_back(count_along(x, axes));
  return reshape(permute(x, *order), dims);
}

Value unflatten_axes(const Value& flat, const Dims& dims, const Ints& order) {
  Dims permuted;
  for (std::int64_t axis : order) permuted.push_back(dims[at(axis)]);
  return permute(reshape(flat, permuted), inverse_permutation(order));
}

/// A dtype that counts the elements along `axes` of x exactly: `dtype`, float32 or float64, if it
/// holds every whole number up to their number.
DType counter(DType dtype, const Value& x, const Ints& axes) {
  constexpr std::int64_t kMaxCount = std::int64_t{1} << 24;  // of float32
  const Dim elements = count_along(x, axes);
  const bool is_exact = elements.is_static() && elements.value() <= kMaxCount;
  return is_exact || dtype == DType::Float64 ? dtype : DType::Int64;
}

}  // namespace

std::vector<Type> infer_reduce(Inference& in) {
  const Ints& axes = in.as<AxesAttrs>().axes;
  const Type& x = in.type(0);
  Type result{x.dtype, {}};
  std::int64_t previous = -1;
  for (std::int64_t axis : axes) {
    require_axis(in, axis, x.rank());
    if (axis <= previous) in.value_error("axes are not ascending");
    previous = axis;
  }
  for (std::int64_t axis = 0; axis < x.rank(); ++axis) {
    const bool dropped = std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (!dropped) result.dims.push_back(x.dims[at(axis)]);
  }
  return {result};
}

std::vector<Type> infer_arg_max(Inference& in) {
  const std::int64_t axis = in.as<AxisAttrs>().axis;
  const Type& x = in.type(0);
  require_axis(in, axis, x.rank());
  in.require_less_equal(1, x.dims[at(axis)], "axis ", axis, " has no elements");
  Type result{DType::Int64, x.dims};
  result.dims.erase(result.dims.begin() + axis);
  return {result};
}

std::vector<Type> infer_cumulate(Inference& in) {
  require_axis(in, in.as<AxisAttrs>().axis, in.type(0).rank());
  return {in.type(0)};
}

// dx[i] = dy * (product before i) * (product after i), which is right where an element is 0, too.
int axis_before_arg_max(const Node& node, std::size_t, int axis) {
  return axis + (node.as<AxisAttrs>().axis <= axis);
}

Grads grad_prod(const Grad& g) {
  const Ints& axes = g.node.as<AxesAttrs>().axes;
  Ints order;
  const Value flat = flatten_axes(g.x[0], axes, &order);
  const int last = flat.rank() - 1;
  const Value before = exclusive_product(flat, last);
  const Value after = reverse(exclusive_product(reverse(flat, {last}), last), {last});
  const Value dy = broadcast_over(g.dy[0], flat.dims(), {last});
  return {unflatten_axes(dy * (before * after), g.x[0].dims(), order)};
}

Grads grad_minmax(const Grad& g) {
  const Ints& axes = g.node.as<AxesAttrs>().axes;
  const Value& x = g.x[0];
  const Value extreme = broadcast_over(g.y[0], x.dims(), axes);
  const Value is_extreme = equal_to(x, extreme);
  const Value dy = widened(g.dy[0]);
  const Value count = reduce_sum(cast(is_extreme, counter(dy.dtype(), x, axes)), axes);
  const Value each = cast(dy / cast(count, dy.dtype()), x.dtype());
  const Value share = broadcast_over(each, x.dims(), axes);
  return {select(is_extreme, share, zeros_like(x))};
}

Grads grad_cumprod(const Grad& g) {
  // dx[j] = sum_i dy[i] [j <= i] prod_{k <= i, k != j} x[k]. The products are prefix products of a
  // copy of x per j in which x[j] is 1, not quotients, so that they are right where x is 0.
  const int axis = static_cast<int>(g.node.as<AxisAttrs>().axis);
  const Value& x = g.x[0];
  Dims dims = x.dims();  // axis `axis` is j, axis `axis + 1` is i
  dims.insert(dims.begin() + axis, x.dims()[at(axis)]);
  Ints over_i, over_j;
  for (int i = 0; i < x.rank(); ++i) over_i.push_back(i < axis ? i : i + 1);
  for (int i = 0; i < x.rank(); ++i) over_j.push_back(i <= axis ? i : i + 1);
  const Value j = iota({DType::Int64, dims}, axis), i = iota({DType::Int64, dims}, axis + 1);
  const Value one = full(x.dtype(), dims, 1);
  const Value without = select(equal_to(i, j), one, broadcast(x, dims, over_i));
  const Value products = make(Op::CumProd, AxisAttrs{axis + 1}, {without});
  const Value terms = broadcast(g.dy[0], dims, over_i) * products;
  const Value masked = select(less_equal_to(j, i), terms, zeros_like(terms));
  return {reduce_sum(masked, {axis + 1})};
}

}  // namespace kiln::ir
