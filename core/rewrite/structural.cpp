// Rules about movement, casts and structure. They change no computed number. For example:
//
//   Before: %1 = permute %0 axes=[1,0]; %2 = permute %1 axes=[1,0]     After: %0
//   Before: %2 = slice (concat %0 %1), the part of %0                  After: %0
#include "core/ops/build.h"
#include "core/ops/lambda_builder.h"
#include "core/rewrite/conv_of_pad.h"
#include "core/rewrite/rules.h"
#include "core/types/at.h"

#include <algorithm>
#include <limits>

namespace kiln::rewrite {
namespace {

using ir::Dims;
using ir::Ints;
using ir::Node;
using ir::Op;
using ir::Value;

template <Op... kOps>
bool is_one_of(Op op) {
  return ((op == kOps) || ...);
}
bool is_elementwise(Op op) { return ir::def(op).lowering == ir::Lowering::Elementwise; }

const Node& operand(const Node& node, std::size_t i = 0) { return *node.operands[i].node; }

/// A fresh parameter, for examples.
Value sample(const Dims& dims, DType dtype) {
  return ir::LambdaBuilder({{dtype, dims}}).parameters()[0];
}

Value drop_identity(const Node& node) { return node.operands[0]; }

/// A cast or bitcast to the dtype of x.
Value convert_same(const Node& node) {
  if (node.operands[0].dtype() != node.types[0].dtype) return {};
  return node.operands[0];
}

/// Whether every value of `from` is a value of `to`.
bool is_lossless(DType from, DType to) {
  if (from == to || from == DType::Bool) return true;
  if (to == DType::Bool) return false;
  if (is_float(from)) {
    const bool half = from == DType::Float16 || from == DType::BFloat16;
    return to == DType::Float64 || (half && to == DType::Float32);
  }
  if (is_float(to)) {
    const std::size_t digits = to == DType::Float64 ? 53 : to == DType::Float32 ? 24 : 8;
    return dtype_bytes(from) * 8 <= digits;
  }
  const bool from_unsigned = info(from).kind == DTypeKind::Unsigned;
  const bool to_unsigned = info(to).kind == DTypeKind::Unsigned;
  if (from_unsigned == to_unsigned) return dtype_bytes(from) <= dtype_bytes(to);
  return from_unsigned && dtype_bytes(from) < dtype_bytes(to);
}

Value cast_cast(const Node& node) {
  if (operand(node).op != Op::Cast) return {};
  const Value& x = operand(node).operands[0];
  const DType middle = operand(node).types[0].dtype, last = node.types[0].dtype;
  if (!is_lossless(x.dtype(), middle)) return {};
  // Casts to an integer saturate from floats but wrap from integers; they agree if the integer type
  // holds every value of x.
  const bool saturates = is_float(middle) && is_integer(last) && !is_float(x.dtype());
  if (saturates && !is_lossless(x.dtype(), last)) return {};
  return ir::cast(x, last);
}

Value bitcast_bitcast(const Node& node) {
  if (operand(node).op != Op::Bitcast) return {};
  return ir::bitcast(operand(node).operands[0], node.types[0].dtype);
}

Value reshape_reshape(const Node& node) {
  if (operand(node).op != Op::Reshape) return {};
  return ir::reshape(operand(node).operands[0], node.types[0].dims);
}

Value reshape_same(const Node& node) {
  if (node.operands[0].dims() != node.types[0].dims) return {};
  return node.operands[0];
}

Value permute_permute(const Node& node) {
  if (operand(node).op != Op::Permute) return {};
  const Ints& inner = operand(node).as<ir::AxesAttrs>().axes;
  Ints axes;
  for (std::int64_t axis : node.as<ir::AxesAttrs>().axes) {
    axes.push_back(inner[at(axis)]);
  }
  return ir::permute(operand(node).operands[0], axes);
}

Value permute_same(const Node& node) {
  const Ints& axes = node.as<ir::AxesAttrs>().axes;
  return std::is_sorted(axes.begin(), axes.end()) ? node.operands[0] : Value{};
}

Value broadcast_broadcast(const Node& node) {
  if (operand(node).op != Op::Broadcast) return {};
  const Ints& outer = node.as<ir::BroadcastAttrs>().axes;
  Ints axes;
  for (std::int64_t axis : operand(node).as<ir::BroadcastAttrs>().axes) {
    axes.push_back(outer[at(axis)]);
  }
  return ir::broadcast(operand(node).operands[0], node.types[0].dims, axes);
}

Value broadcast_same(const Node& node) {
  if (node.operands[0].dims() != node.types[0].dims) return {};
  return node.operands[0];
}

Value reverse_reverse(const Node& node) {
  if (operand(node).op != Op::Reverse) return {};
  if (!(node.attrs == operand(node).attrs)) return {};
  return operand(node).operands[0];
}

Value slice_all(const Node& node) {
  if (node.operands[0].dims() != node.types[0].dims) return {};
  return node.operands[0];
}

Value slice_slice(const Node& node) {
  if (operand(node).op != Op::Slice) return {};
  const auto& outer = node.as<ir::SliceAttrs>();
  const auto& inner = operand(node).as<ir::SliceAttrs>();
  ir::SliceAttrs both = outer;
  for (std::size_t i = 0; i < outer.start.size(); ++i) {
    if (inner.step[i] != 1) return {};
    both.start[i] = inner.start[i] + outer.start[i];
    both.limit[i] = inner.start[i] + outer.limit[i];
  }
  return ir::slice(operand(node).operands[0], both.start, both.limit, both.step);
}

Value concat_one(const Node& node) {
  return node.operands.size() == 1 ? node.operands[0] : Value{};
}

/// A slice of a concat that is exactly one of its parts.
Value slice_concat(const Node& node) {
  if (operand(node).op != Op::Concat) return {};
  const auto& attrs = node.as<ir::SliceAttrs>();
  const auto axis = static_cast<std::size_t>(operand(node).as<ir::AxisAttrs>().axis);
  for (std::size_t i = 0; i < attrs.start.size(); ++i) {
    if (attrs.step[i] != 1) return {};
    if (i != axis && node.operands[0].dims()[i] != node.types[0].dims[i]) return {};
  }
  ir::Dim start = 0;
  for (const Value& part : operand(node).operands) {
    const ir::Dim limit = start + part.dims()[axis];
    if (attrs.start[axis] == start && attrs.limit[axis] == limit) return part;
    start = limit;
  }
  return {};
}

/// An elementwise op on operands broadcast alike: broadcast the result instead.
Value elementwise_broadcast(const Node& node) {
  if (operand(node).op != Op::Broadcast) return {};
  const Node& first = operand(node);
  std::vector<Value> inner;
  for (const Value& value : node.operands) {
    const Node& broadcast = *value.node;
    if (broadcast.op != Op::Broadcast || !(broadcast.attrs == first.attrs)) return {};
    if (broadcast.operands[0].dims() != first.operands[0].dims()) return {};
    inner.push_back(broadcast.operands[0]);
  }
  const Value value = ir::make(node.op, node.attrs, std::move(inner));
  return ir::broadcast(value, node.types[0].dims, first.as<ir::BroadcastAttrs>().axes);
}

/// A Cond with a constant predicate.
Value cond_constant(const Node& node) {
  if (operand(node).op != Op::Constant || node.types.size() != 1) return {};
  const auto& attrs = node.as<ir::CondAttrs>();
  const bool taken = operand(node).as<ir::ConstantAttrs>().data.bytes->front() != std::byte{0};
  const ir::LambdaRef& branch = taken ? attrs.then_branch : attrs.else_branch;
  if (!branch->guards.empty()) return {};  // only the branch checks them
  const std::span<const Value> arguments(node.operands.data() + 1, node.operands.size() - 1);
  return ir::inline_lambda(*branch, arguments)[0];
}

/// A reduction over no elements, whatever the other axes.
Value reduce_nothing(const Node& node) {
  const Value& x = node.operands[0];
  const Ints& axes = node.as<ir::AxesAttrs>().axes;
  const bool is_empty = std::any_of(axes.begin(), axes.end(), [&](std::int64_t axis) {
    return x.dims()[at(axis)] == ir::Dim(0);
  });
  if (!is_empty) return {};
  const double highest = x.dtype() == DType::Bool ? 1 : std::numeric_limits<double>::infinity();
  const double lowest = x.dtype() == DType::Bool ? 0 : -highest;
  const double neutral = node.op == Op::Sum    ? 0
                         : node.op == Op::Prod ? 1
                         : node.op == Op::Max  ? lowest
                                               : highest;
  return ir::full(x.dtype(), node.types[0].dims, neutral);
}

Value cumulate_nothing(const Node& node) {
  const Value& x = node.operands[0];
  const bool is_empty = std::find(x.dims().begin(), x.dims().end(), ir::Dim(0)) != x.dims().end();
  return is_empty ? x : Value();
}

using Examples = std::vector<Value>;

constexpr StructuralRule kRules[] = {
    {"drop_identity",
     "identity(x) = x; stop_gradient(x) = x; scale_gradient(x, s) = x; require(x) = x",
     is_one_of<Op::Identity, Op::StopGradient, Op::ScaleGradient, Op::Require>, drop_identity,
     [](DType dtype) {
       const Value x = sample({2, 3}, dtype);
       const Value required = ir::make(
           Op::Require,
           ir::RequireAttrs{
               .kind = ir::Guard::Kind::LessEqual, .left = 2, .right = 3, .message = "two"},
           {x});
       Examples examples{ir::identity(x), ir::stop_gradient(x), required};
       if (is_float(dtype)) examples.push_back(ir::scale_gradient(x, x));
       return examples;
     }},
    {"reduce_nothing", "over no elements, sum(x) = 0, prod(x) = 1, max(x) = lowest",
     is_one_of<Op::Sum, Op::Prod, Op::Max, Op::Min>, reduce_nothing,
     [](DType dtype) {
       const Value x = sample({2, 0, 3}, dtype);
       Examples examples{ir::reduce_max(x, {1}), ir::reduce(Op::Min, x, {0, 1})};
       if (dtype == DType::Bool) return examples;
       examples.push_back(ir::reduce_sum(x, {0, 1, 2}));
       examples.push_back(ir::reduce(Op::Prod, x, {1, 2}));
       return examples;
     }},
    {"cumulate_nothing", "cumsum(x) = x, cumprod(x) = x for an x without elements",
     is_one_of<Op::CumSum, Op::CumProd>, cumulate_nothing,
     [](DType dtype) {
       const ir::AxisAttrs axis{0};
       const Value x = sample({2, 0}, dtype == DType::Bool ? DType::UInt8 : dtype);
       return Examples{ir::make(Op::CumSum, axis, {x}), ir::make(Op::CumProd, axis, {x})};
     }},
    {"cast_same", "cast(x, dtype of x) = x; bitcast(x, dtype of x) = x",
     is_one_of<Op::Cast, Op::Bitcast>, convert_same,
     [](DType dtype) {
       const Value x = sample({3}, dtype);
       Examples examples{ir::make(Op::Cast, ir::CastAttrs{dtype}, {x})};
       if (dtype != DType::Bool) {
         examples.push_back(ir::make(Op::Bitcast, ir::CastAttrs{dtype}, {x}));
       }
       return examples;
     }},
    {"bitcast_bitcast", "bitcast(bitcast(x, u), t) = bitcast(x, t)", is_one_of<Op::Bitcast>,
     bitcast_bitcast,
     [](DType dtype) {
       Examples examples;
       for (int i = 0; i < kDTypeCount && dtype != DType::Bool; ++i) {
         const auto middle = static_cast<DType>(i);
         const bool fits = middle != DType::Bool && dtype_bytes(middle) == dtype_bytes(dtype);
         if (!fits || middle == dtype) continue;
         const Value inner = ir::bitcast(sample({3}, dtype), middle);
         examples.push_back(ir::make(Op::Bitcast, ir::CastAttrs{dtype}, {inner}));
       }
       return examples;
     }},
    {"cast_cast", "cast(cast(x, u), t) = cast(x, t) if u holds x, unless t wraps where u saturates",
     is_one_of<Op::Cast>, cast_cast,
     [](DType dtype) {
       Examples examples;
       for (int i = 0; i < kDTypeCount; ++i) {
         const auto wide = static_cast<DType>(i);
         if (wide == dtype || !is_lossless(dtype, wide)) continue;
         const Value inner = ir::cast(sample({32}, dtype), wide);
         examples.push_back(ir::make(Op::Cast, ir::CastAttrs{dtype}, {inner}));
         examples.push_back(ir::make(Op::Cast, ir::CastAttrs{DType::Float16}, {inner}));
       }
       return examples;
     }},
    {"reshape_reshape", "reshape(reshape(x)) = reshape(x)", is_one_of<Op::Reshape>, reshape_reshape,
     [](DType dtype) {
       return Examples{
           ir::make(Op::Reshape, ir::DimsAttrs{{6}}, {ir::reshape(sample({2, 3}, dtype), {3, 2})})};
     }},
    {"reshape_same", "reshape(x, dims of x) = x", is_one_of<Op::Reshape>, reshape_same,
     [](DType dtype) {
       return Examples{ir::make(Op::Reshape, ir::DimsAttrs{{2, 3}}, {sample({2, 3}, dtype)})};
     }},
    {"permute_permute", "permute(permute(x, p), q) = permute(x, p q)", is_one_of<Op::Permute>,
     permute_permute,
     [](DType dtype) {
       const Value x = sample({2, 3, 4}, dtype);
       return Examples{
           ir::make(Op::Permute, ir::AxesAttrs{{1, 0, 2}}, {ir::permute(x, {2, 0, 1})})};
     }},
    {"permute_same", "permute(x, identity) = x", is_one_of<Op::Permute>, permute_same,
     [](DType dtype) {
       return Examples{ir::make(Op::Permute, ir::AxesAttrs{{0, 1}}, {sample({2, 3}, dtype)})};
     }},
    {"broadcast_broadcast", "broadcast(broadcast(x)) = broadcast(x)", is_one_of<Op::Broadcast>,
     broadcast_broadcast,
     [](DType dtype) {
       const Value x = sample({3}, dtype);
       const Value inner = ir::broadcast(x, {2, 3}, {1});
       const ir::BroadcastAttrs attrs{.dims = {4, 2, 3}, .axes = {1, 2}};
       return Examples{ir::make(Op::Broadcast, attrs, {inner})};
     }},
    {"broadcast_same", "broadcast(x, dims of x) = x", is_one_of<Op::Broadcast>, broadcast_same,
     [](DType dtype) {
       const ir::BroadcastAttrs attrs{.dims = {2, 3}, .axes = {0, 1}};
       return Examples{ir::make(Op::Broadcast, attrs, {sample({2, 3}, dtype)})};
     }},
    {"reverse_reverse", "reverse(reverse(x, a), a) = x", is_one_of<Op::Reverse>, reverse_reverse,
     [](DType dtype) {
       const Value x = sample({2, 3}, dtype);
       return Examples{ir::make(Op::Reverse, ir::AxesAttrs{{1}}, {ir::reverse(x, {1})})};
     }},
    {"slice_all", "slice(x, everything) = x", is_one_of<Op::Slice>, slice_all,
     [](DType dtype) {
       const ir::SliceAttrs attrs{.start = {0, 0}, .limit = {2, 3}, .step = {1, 1}};
       return Examples{ir::make(Op::Slice, attrs, {sample({2, 3}, dtype)})};
     }},
    {"slice_slice", "slice(slice(x, a), b) = slice(x, a + b)", is_one_of<Op::Slice>, slice_slice,
     [](DType dtype) {
       const Value inner = ir::slice_axis(sample({8}, dtype), 0, 1, 7);
       return Examples{ir::make(Op::Slice, ir::SliceAttrs{{1}, {5}, {2}}, {inner})};
     }},
    {"concat_one", "concat(x) = x", is_one_of<Op::Concat>, concat_one,
     [](DType dtype) {
       return Examples{ir::make(Op::Concat, ir::AxisAttrs{0}, {sample({3}, dtype)})};
     }},
    {"slice_concat", "slice(concat(x, y), x's part) = x", is_one_of<Op::Slice>, slice_concat,
     [](DType dtype) {
       const Value both = ir::concat({sample({2, 3}, dtype), sample({2, 4}, dtype)}, 1);
       return Examples{ir::slice_axis(both, 1, 0, 3), ir::slice_axis(both, 1, 3, 7)};
     }},
    {"elementwise_broadcast", "f(broadcast(x), broadcast(y)) = broadcast(f(x, y))", is_elementwise,
     elementwise_broadcast,
     [](DType dtype) {
       const auto rows = [](const Value& x) { return ir::broadcast(x, {2, 16}, {1}); };
       const Value x = rows(sample({16}, dtype)), y = rows(sample({16}, dtype));
       const Value c = rows(sample({16}, DType::Bool));
       const Value both = ir::make(dtype == DType::Bool ? Op::And : Op::Mul, ir::NoAttrs{}, {x, y});
       return Examples{both, ir::make(Op::Equal, ir::NoAttrs{}, {x, y}), ir::select(c, x, y)};
     }},
    {"conv_of_pad", "conv(pad(x, 0), w) = conv(x, w) with more padding", is_one_of<Op::Conv>,
     conv_of_pad, conv_of_pad_examples},
    {"cond_constant", "cond(true, a, b) = a", is_one_of<Op::Cond>, cond_constant,
     [](DType dtype) {
       const Value x = sample({3}, dtype);
       ir::Trace trace;
       const Value reversed = [&] {
         const ir::Trace::Scope tracing(trace);
         return ir::reverse(x, {0});
       }();
       const auto closures = ir::close_branches({reversed}, trace, {x}, trace);
       const ir::CondAttrs attrs{.then_branch = {closures.then_branch},
                                 .else_branch = {closures.else_branch}};
       Examples examples;
       for (const std::int64_t taken : {1, 0}) {
         std::vector<Value> operands{ir::scalar_constant_int(DType::Bool, taken)};
         operands.insert(operands.end(), closures.captures.begin(), closures.captures.end());
         examples.push_back(ir::make(Op::Cond, attrs, operands));
       }
       return examples;
     }},
};

}  // namespace

std::span<const StructuralRule> structural_rules() { return kRules; }

}  // namespace kiln::rewrite
