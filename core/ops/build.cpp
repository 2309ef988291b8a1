// Builds nodes. Builders whose node would change nothing (equal dims, no axes) return the operand.
#include "core/ops/build.h"

#include "core/ops/convert.h"
#include "core/types/at.h"

#include <algorithm>
#include <numeric>

namespace kiln::ir {
namespace {

Ints ascending(int count) {
  Ints axes(static_cast<std::size_t>(count));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Ints sorted_unique(Ints axes) {
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

}  // namespace

Value constant(Type type, std::vector<std::byte> bytes) {
  auto shared = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return make(Op::Constant, ConstantAttrs{std::move(type), {std::move(shared)}}, {});
}

Value scalar_constant(DType dtype, double value) {
  return constant({dtype, {}}, scalar_bytes(dtype, value));
}

Value scalar_constant_int(DType dtype, std::int64_t value) {
  return constant({dtype, {}}, scalar_bytes_int(dtype, value));
}

Value full(DType dtype, const Dims& dims, double value) {
  return broadcast(scalar_constant(dtype, value), dims, {});
}

Value like(const Value& x, double value) { return full(x.dtype(), x.dims(), value); }
Value zeros_like(const Value& x) { return like(x, 0); }

Value iota(Type type, std::int64_t axis) {
  return make(Op::Iota, IotaAttrs{.type = std::move(type), .axis = axis}, {});
}

Value dim_size(const Dim& dim) { return make(Op::DimSize, DimAttrs{dim}, {}); }

Value cast(const Value& x, DType dtype) {
  return x.dtype() == dtype ? x : make(Op::Cast, CastAttrs{dtype}, {x});
}

Value bitcast(const Value& x, DType dtype) {
  return x.dtype() == dtype ? x : make(Op::Bitcast, CastAttrs{dtype}, {x});
}

Value unary(Op op, const Value& x) { return make(op, NoAttrs{}, {x}); }
Value binary(Op op, const Value& x, const Value& y) { return make(op, NoAttrs{}, {x, y}); }
Value select(const Value& condition, const Value& x, const Value& y) {
  return make(Op::Select, NoAttrs{}, {condition, x, y});
}
Value equal_to(const Value& x, const Value& y) { return binary(Op::Equal, x, y); }
Value less(const Value& x, const Value& y) { return binary(Op::Less, x, y); }
Value less_equal_to(const Value& x, const Value& y) { return binary(Op::LessEqual, x, y); }

Value operator+(const Value& x, const Value& y) { return binary(Op::Add, x, y); }
Value operator-(const Value& x, const Value& y) { return binary(Op::Sub, x, y); }
Value operator*(const Value& x, const Value& y) { return binary(Op::Mul, x, y); }
Value operator/(const Value& x, const Value& y) { return binary(Op::Div, x, y); }
Value operator-(const Value& x) { return unary(Op::Neg, x); }
Value operator+(const Value& x, double y) { return x + like(x, y); }
Value operator-(const Value& x, double y) { return x - like(x, y); }
Value operator*(const Value& x, double y) { return x * like(x, y); }
Value operator/(const Value& x, double y) { return x / like(x, y); }
Value operator+(double x, const Value& y) { return like(y, x) + y; }
Value operator-(double x, const Value& y) { return like(y, x) - y; }
Value operator*(double x, const Value& y) { return like(y, x) * y; }
Value operator/(double x, const Value& y) { return like(y, x) / y; }

Value reduce(Op op, const Value& x, Ints axes) {
  axes = sorted_unique(std::move(axes));
  return axes.empty() ? x : make(op, AxesAttrs{std::move(axes)}, {x});
}

Value reduce_sum(const Value& x, Ints axes) { return reduce(Op::Sum, x, std::move(axes)); }
Value reduce_max(const Value& x, Ints axes) { return reduce(Op::Max, x, std::move(axes)); }

Ints all_axes(const Value& x) { return ascending(x.rank()); }

Value reshape(const Value& x, const Dims& dims) {
  return x.dims() == dims ? x : make(Op::Reshape, DimsAttrs{dims}, {x});
}

Value with_dims(const Value& x, const Dims& dims) {
  // A broadcast guards each axis but would stretch a literal 1; a reshape guards the product, which
  // is exact once the other axes agree.
  Dims unstretched = dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (x.dims()[i].is_one()) unstretched[i] = 1;
  }
  return reshape(broadcast(x, unstretched, all_axes(x)), dims);
}

Value require(const Value& x, const RequireAttrs& attrs) {
  const bool is_equal = attrs.kind == Guard::Kind::Equal;
  const Ternary holds =
      is_equal ? equal(attrs.left, attrs.right) : less_equal(attrs.left, attrs.right);
  return holds == Ternary::Yes ? x : make(Op::Require, attrs, {x});
}

Value fits(const Value& x, const Dims& sizes) {
  Value checked = x;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::string message =
        sizes[i].is_one()
            ? text("axis ", i, " is empty")
            : text("a window over {left} elements does not fit into {right} of axis ", i);
    checked = require(checked, {.kind = Guard::Kind::LessEqual,
                                .left = sizes[i],
                                .right = x.dims()[i],
                                .message = message});
  }
  return checked;
}

Value permute(const Value& x, Ints axes) {
  if (axes == all_axes(x)) return x;
  return make(Op::Permute, AxesAttrs{std::move(axes)}, {x});
}

Ints inverse_permutation(const Ints& axes) {
  Ints inverse(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    inverse[at(axes[i])] = static_cast<std::int64_t>(i);
  }
  return inverse;
}

Value broadcast(const Value& x, const Dims& dims, Ints axes) {
  if (x.dims() == dims) return x;
  return make(Op::Broadcast, BroadcastAttrs{.dims = dims, .axes = std::move(axes)}, {x});
}

Value broadcast_to(const Value& x, const Dims& dims) {
  Ints axes = ascending(x.rank());
  for (std::int64_t& axis : axes) axis += static_cast<std::int64_t>(dims.size()) - x.rank();
  return broadcast(x, dims, std::move(axes));
}

Value broadcast_over(const Value& reduced, const Dims& dims, const Ints& axes) {
  Ints others;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(dims.size()); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) others.push_back(axis);
  }
  return broadcast(reduced, dims, std::move(others));
}

Value slice(const Value& x, Dims start, Dims limit, Ints step) {
  if (step.empty()) step.assign(start.size(), 1);
  const bool unit = std::all_of(step.begin(), step.end(), [](auto s) { return s == 1; });
  if (unit && start == Dims(start.size(), 0) && limit == x.dims()) return x;
  return make(
      Op::Slice,
      SliceAttrs{.start = std::move(start), .limit = std::move(limit), .step = std::move(step)},
      {x});
}

Value slice_axis(const Value& x, int axis, const Dim& start, const Dim& limit) {
  Dims starts(x.dims().size(), 0), limits = x.dims();
  starts[at(axis)] = start;
  limits[at(axis)] = limit;
  return slice(x, std::move(starts), std::move(limits));
}

Value pad(const Value& x, const Value& value, Dims low, Dims high, Ints interior) {
  if (interior.empty()) interior.assign(low.size(), 0);
  const Dims none(low.size(), 0);
  if (low == none && high == none && interior == Ints(low.size(), 0)) return x;
  return make(
      Op::Pad,
      PadAttrs{.low = std::move(low), .high = std::move(high), .interior = std::move(interior)},
      {x, value});
}

Value reverse(const Value& x, Ints axes) {
  axes = sorted_unique(std::move(axes));
  return axes.empty() ? x : make(Op::Reverse, AxesAttrs{std::move(axes)}, {x});
}

Value concat(std::vector<Value> parts, int axis) {
  if (parts.size() == 1) return parts[0];
  return make(Op::Concat, AxisAttrs{axis}, std::move(parts));
}

Value window(const Value& x, WindowAttrs attrs) {
  return attrs.axes.empty() ? x : make(Op::Window, std::move(attrs), {x});
}

Value fold(const Value& x, FoldAttrs attrs) {
  return attrs.axes.empty() ? x : make(Op::Fold, std::move(attrs), {x});
}

Value gather(const Value& reference, const Value& indices, int axis) {
  return make(Op::Gather, AxisAttrs{axis}, {reference, indices});
}

Value scatter_add(const Value& indices, const Value& updates, int axis, const Dim& size) {
  return make(Op::ScatterAdd, ScatterAttrs{.axis = axis, .size = size}, {indices, updates});
}

Value scatter_sub(const Value& x, const Value& rate, const Value& indices, const Value& updates) {
  return make(Op::ScatterSub, NoAttrs{}, {x, rate, indices, updates});
}

Value dot(const Value& lhs, const Ints& lhs_labels, const Value& rhs, const Ints& rhs_labels,
          const Ints& result_labels) {
  Ints seen;
  const auto renumbered = [&](const Ints& labels) {
    Ints result;
    for (std::int64_t label : labels) {
      const auto found = std::find(seen.begin(), seen.end(), label);
      result.push_back(found - seen.begin());
      if (found == seen.end()) seen.push_back(label);
    }
    return result;
  };
  return make(Op::Dot,
              DotAttrs{.lhs = renumbered(lhs_labels),
                       .rhs = renumbered(rhs_labels),
                       .result = renumbered(result_labels)},
              {lhs, rhs});
}

Value identity(const Value& x) { return unary(Op::Identity, x); }
Value stop_gradient(const Value& x) { return unary(Op::StopGradient, x); }
Value scale_gradient(const Value& x, const Value& scale) {
  return binary(Op::ScaleGradient, x, scale);
}
Value softmax(const Value& x, int axis) { return make(Op::Softmax, AxisAttrs{axis}, {x}); }
Value log_softmax(const Value& x, int axis) { return make(Op::LogSoftmax, AxisAttrs{axis}, {x}); }
Value attention(const Value& q, const Value& k, const Value& v, const Value& scale,
                const Value& bias, const AttentionAttrs& attrs) {
  std::vector<Value> operands{q, k, v, scale};
  if (bias) operands.push_back(bias);
  return make(Op::Attention, attrs, std::move(operands));
}

Dim count_along(const Value& x, const Ints& axes) {
  Dims counted;
  for (const std::int64_t axis : axes) counted.push_back(x.dims()[at(axis)]);
  return product(counted);
}

Value divided_by_count(const Value& y, const Value& x, const Ints& axes) {
  const Dim count = count_along(x, axes);
  if (count.is_static()) return y / static_cast<double>(count.value());
  return y / broadcast_to(cast(dim_size(count), y.dtype()), y.dims());
}

Value reduce_mean(const Value& x, const Ints& axes) {
  return divided_by_count(reduce_sum(x, axes), x, axes);
}

Value deviations(const Value& x, const Ints& axes) {
  return x - broadcast_over(reduce_mean(x, axes), x.dims(), axes);
}

Value variance(const Value& x, Ints axes) {
  return make(Op::Variance, AxesAttrs{sorted_unique(std::move(axes))}, {x});
}

Value add_cotangents(const Value& a, const Value& b) {
  if (!a || !b) return a ? a : b;
  return a + b;
}

}  // namespace kiln::ir
