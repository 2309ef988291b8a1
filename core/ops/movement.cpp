// Type rules, axis rules and gradients of movement ops.
#include "core/ops/movement.h"

#include "core/types/at.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::ir {
namespace {

void require_count(Inference& in, std::size_t given, int rank, const char* what) {
  if (given == static_cast<std::size_t>(rank)) return;
  in.value_error(text(what, " has ", given, " entries for rank ", rank));
}

/// Whether the dims differ in axes of size 1 only. Then the tensors have as many elements, even if
/// the product of the known sizes overflows because one of the others has to be 0.
bool equal_without_ones(const Dims& a, const Dims& b) {
  std::size_t i = 0, j = 0;
  while (true) {
    while (i < a.size() && a[i].is_one()) ++i;
    while (j < b.size() && b[j].is_one()) ++j;
    if (i == a.size() || j == b.size()) return i == a.size() && j == b.size();
    if (!(a[i++] == b[j++])) return false;
  }
}

void require_not_negative(Inference& in, const Dim& dim, const char* what) {
  in.require_less_equal(0, dim, what, " ", dim, " is negative");
}

}  // namespace

std::vector<Type> infer_reshape(Inference& in) {
  const Dims& dims = in.as<DimsAttrs>().dims;
  for (const Dim& dim : dims) require_not_negative(in, dim, "size");
  const Type result{in.type(0).dtype, dims};
  if (equal_without_ones(in.type(0).dims, dims)) return {result};
  const Dim from = product(in.type(0).dims), to = product(dims);
  if (!(from == to)) {
    in.require_equal(from, to, "cannot reshape to ", to_string(dims), ": ", from,
                     " elements are not ", to);
  }
  // Dims are not required to be equal one by one, even for equal ranks: only their products are.
  return {result};
}

std::vector<Type> infer_permute(Inference& in) {
  const Ints& axes = in.as<AxesAttrs>().axes;
  const Type& x = in.type(0);
  require_count(in, axes.size(), x.rank(), "axes");
  Type result{x.dtype, {}};
  std::vector<bool> seen(axes.size(), false);
  for (std::int64_t axis : axes) {
    require_axis(in, axis, x.rank());
    if (seen[at(axis)]) in.value_error(text("axis ", axis, " occurs twice"));
    seen[at(axis)] = true;
    result.dims.push_back(x.dims[at(axis)]);
  }
  return {result};
}

std::vector<Type> infer_broadcast(Inference& in) {
  const auto& attrs = in.as<BroadcastAttrs>();
  const Type& x = in.type(0);
  require_count(in, attrs.axes.size(), x.rank(), "axes");
  for (const Dim& dim : attrs.dims) require_not_negative(in, dim, "size");
  std::int64_t previous = -1;
  for (std::size_t i = 0; i < attrs.axes.size(); ++i) {
    const std::int64_t axis = attrs.axes[i];
    require_axis(in, axis, static_cast<int>(attrs.dims.size()));
    if (axis <= previous) in.value_error("axes are not ascending");
    previous = axis;
    if (x.dims[i].is_one()) continue;
    const Dim& target = attrs.dims[at(axis)];
    in.require_equal(x.dims[i], target, "size ", x.dims[i], " of axis ", i, " is not ", target);
  }
  return {{x.dtype, attrs.dims}};
}

std::vector<Type> infer_slice(Inference& in) {
  const auto& attrs = in.as<SliceAttrs>();
  const Type& x = in.type(0);
  require_count(in, attrs.start.size(), x.rank(), "start");
  require_count(in, attrs.limit.size(), x.rank(), "limit");
  require_count(in, attrs.step.size(), x.rank(), "step");
  Type result{x.dtype, {}};
  for (std::size_t i = 0; i < x.dims.size(); ++i) {
    const Dim &start = attrs.start[i], &limit = attrs.limit[i];
    if (attrs.step[i] < 1) in.value_error(text("step ", attrs.step[i], " is not positive"));
    const auto require_order = [&](const Dim& low, const Dim& high) {
      in.require_less_equal(low, high, "slice ", start, ":", limit, " of axis ", i,
                            " is outside of 0:", x.dims[i]);
    };
    require_order(0, start);
    require_order(start, limit);
    require_order(limit, x.dims[i]);
    result.dims.push_back(ceil_div(simplified(limit - start), attrs.step[i]));
  }
  return {result};
}

std::vector<Type> infer_pad(Inference& in) {
  const auto& attrs = in.as<PadAttrs>();
  const Type& x = in.type(0);
  if (!(in.type(1) == Type{x.dtype, {}})) in.type_error("value is not a scalar of x's dtype");
  require_count(in, attrs.low.size(), x.rank(), "low");
  require_count(in, attrs.high.size(), x.rank(), "high");
  require_count(in, attrs.interior.size(), x.rank(), "interior");
  Type result{x.dtype, {}};
  for (std::size_t i = 0; i < x.dims.size(); ++i) {
    require_not_negative(in, attrs.low[i], "low");
    require_not_negative(in, attrs.high[i], "high");
    if (attrs.interior[i] < 0) in.value_error("interior is negative");
    Dim inner = x.dims[i];
    if (attrs.interior[i] != 0) inner = inner + max(inner - 1, 0) * attrs.interior[i];
    result.dims.push_back(simplified(attrs.low[i] + inner + attrs.high[i]));
  }
  return {result};
}

std::vector<Type> infer_reverse(Inference& in) {
  std::int64_t previous = -1;
  for (std::int64_t axis : in.as<AxesAttrs>().axes) {
    require_axis(in, axis, in.type(0).rank());
    if (axis <= previous) in.value_error("axes are not ascending");
    previous = axis;
  }
  return {in.type(0)};
}

std::vector<Type> infer_concat(Inference& in) {
  if (in.count() == 0) in.value_error("no parts are given");
  const std::int64_t axis = in.as<AxisAttrs>().axis;
  Type result = in.type(0);
  require_axis(in, axis, result.rank());
  Dims joined{result.dims[at(axis)]};
  for (std::size_t p = 1; p < in.count(); ++p) {
    const Type& part = in.type(p);
    if (part.dtype != result.dtype) in.type_error("parts have different dtypes");
    if (part.rank() != result.rank()) in.value_error("parts have different ranks");
    for (std::size_t i = 0; i < part.dims.size(); ++i) {
      if (static_cast<std::int64_t>(i) == axis) {
        joined.push_back(part.dims[i]);
      } else {
        in.require_equal(result.dims[i], part.dims[i], "sizes ", result.dims[i], " and ",
                         part.dims[i], " of axis ", i, " differ");
      }
    }
  }
  result.dims[at(axis)] = simplified(total(joined));
  return {result};
}

int axis_before_reshape(const Node& node, std::size_t operand, int axis) {
  const Value& x = node.operands[operand];
  const bool keeps_first =
      axis == 0 && x.rank() > 0 && equal(x.dims()[0], node.types[0].dims[0]) == Ternary::Yes;
  return keeps_first ? 0 : kNoAxis;
}

int axis_before_permute(const Node& node, std::size_t, int axis) {
  return static_cast<int>(node.as<AxesAttrs>().axes[at(axis)]);
}

int axis_before_broadcast(const Node& node, std::size_t operand, int axis) {
  const int before = axis_in(node.as<BroadcastAttrs>().axes, axis);
  if (before == kNoAxis) return kNoAxis;
  const bool is_stretched =
      node.operands[operand].dims()[at(before)].is_one() && !node.types[0].dims[at(axis)].is_one();
  return is_stretched ? kNoAxis : before;
}

int axis_before_slice(const Node& node, std::size_t operand, int axis) {
  const SliceAttrs& attrs = node.as<SliceAttrs>();
  const bool is_whole = attrs.start[at(axis)] == Dim(0) &&
                        attrs.limit[at(axis)] == node.operands[operand].dims()[at(axis)] &&
                        attrs.step[at(axis)] == 1;
  return is_whole ? axis : kNoAxis;
}

int axis_before_reverse(const Node& node, std::size_t, int axis) {
  return axis_in(node.as<AxesAttrs>().axes, axis) == kNoAxis ? axis : kNoAxis;
}

Grads grad_permute(const Grad& g) {
  return {permute(g.dy[0], inverse_permutation(g.node.as<AxesAttrs>().axes))};
}

Grads grad_broadcast(const Grad& g) {
  const auto& attrs = g.node.as<BroadcastAttrs>();
  Ints repeated;
  for (std::int64_t axis = 0; axis < g.dy[0].rank(); ++axis) {
    const auto source = std::find(attrs.axes.begin(), attrs.axes.end(), axis);
    const bool is_new = source == attrs.axes.end();
    const bool stretched = !is_new && g.x[0].dims()[at(source - attrs.axes.begin())].is_one() &&
                           !attrs.dims[at(axis)].is_one();
    if (is_new || stretched) repeated.push_back(axis);
  }
  return {reshape(reduce_sum(g.dy[0], repeated), g.x[0].dims())};
}

// The elements that the slice took get dy, all others 0: a pad with step - 1 zeros between.
// A step of the axis' size or more selects one element, between which and the next one there is
// nothing to pad: backends visit what lies between. Axes of kLongStep elements are rare, and the
// reshape rejects them.
Grads grad_slice(const Grad& g) {
  constexpr std::int64_t kLongStep = INT32_MAX;
  const auto& attrs = g.node.as<SliceAttrs>();
  const Dims& dims = g.x[0].dims();
  Dims low = attrs.start, high;
  Ints interior;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const Dim& count = g.dy[0].dims()[i];
    const std::int64_t step = attrs.step[i];
    const bool selects_one = step >= (dims[i].is_static() ? dims[i].value() : kLongStep);
    interior.push_back(selects_one ? 0 : step - 1);
    const Dim extent = step == 1 ? count : count + max(count - 1, 0) * (step - 1);
    high.push_back(simplified(dims[i] - attrs.start[i] - extent));
  }
  const Value zero = scalar_constant(g.x[0].dtype(), 0);
  return {reshape(pad(g.dy[0], zero, low, high, interior), dims)};
}

// The padding value gets the part of dy that x does not.
Grads grad_pad(const Grad& g) {
  const auto& attrs = g.node.as<PadAttrs>();
  const Dims& dims = g.x[0].dims();
  Dims limit;
  Ints step;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    step.push_back(attrs.interior[i] + 1);
    limit.push_back(g.dy[0].dims()[i] - attrs.high[i]);
  }
  Grads dx(2);
  const Value inner = reshape(slice(g.dy[0], attrs.low, limit, step), dims);
  dx[0] = inner;
  if (g.wanted[1]) {
    const Value zero = scalar_constant(DType::Bool, 0);
    const Value is_x = pad(full(DType::Bool, dims, 1), zero, attrs.low, attrs.high, attrs.interior);
    const Value outer = select(with_dims(is_x, g.dy[0].dims()), zeros_like(g.dy[0]), g.dy[0]);
    dx[1] = reduce_sum(outer, all_axes(outer));
  }
  return dx;
}

Grads grad_concat(const Grad& g) {
  const auto axis = static_cast<int>(g.node.as<AxisAttrs>().axis);
  Grads dx;
  Dim start = 0;
  for (const Value& part : g.x) {
    const Dim limit = start + part.dims()[at(axis)];
    dx.push_back(reshape(slice_axis(g.dy[0], axis, start, limit), part.dims()));
    start = limit;
  }
  return dx;
}

}  // namespace kiln::ir
