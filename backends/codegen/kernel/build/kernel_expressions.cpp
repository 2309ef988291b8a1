// Traces each value through views to a load or a computation. Expressions are value-numbered: the
// same element under the same guard is built once.
#include "backends/codegen/kernel/build/kernel_expressions.h"

#include "backends/codegen/access/bounded_product.h"
#include "core/ops/halves.h"
#include "core/types/text.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace kiln::codegen {

using ir::Dim;
using ir::Dims;
using ir::Node;
using ir::Op;
using ir::Value;

KernelExpressions::KernelExpressions(const KernelGroup& group, const FusionPlan& fusion_plan,
                                     const SizeNames& names)
    : group_(group),
      fusion_plan_(fusion_plan),
      names_(names),
      outer_(group.axes(/*of_reduced=*/false)) {
  position_.resize(group.domain.size());
  const std::vector<int> inner = group.axes(/*of_reduced=*/true);
  for (const std::vector<int>* list : {&std::as_const(outer_), &inner}) {
    for (int axis : *list) {
      position_[static_cast<std::size_t>(axis)] = static_cast<int>(kernel().axes.size());
      kernel().axes.push_back(group.domain[static_cast<std::size_t>(axis)]);
    }
  }
  kernel().outer = static_cast<int>(outer_.size());
  for (const Member& member : group.members) members_.emplace(member.node, &member);
}

const Member* KernelExpressions::member_of(const Node& node) const {
  const auto found = members_.find(&node);
  return found == members_.end() ? nullptr : found->second;
}

/// Maps an index over the outer axes to one over the domain.
void KernelExpressions::over_domain(AffineIndex& entry) const {
  entry.for_each_term(
      [&](int& axis, std::int64_t) { axis = outer_[static_cast<std::size_t>(axis)]; });
}

void KernelExpressions::over_domain(IterationSpace& space) const {
  for (OperandRead& read : space.reads) {
    for (AffineIndex& entry : read.map) over_domain(entry);
    for (Bound& bound : read.within) over_domain(bound.index);
  }
}

AccessMap KernelExpressions::own_map(const Member& member) const {
  AccessMap map = reads_of(member).result;
  if (!map.empty()) return map;
  map = identity_map(names_(member.node->types[0].dims));
  if (member.role == Role::Outer || member.role == Role::Reduce) {
    for (AffineIndex& entry : map) over_domain(entry);
  }
  return map;
}

ExpressionId KernelExpressions::own_guard(const Member& member) {
  return guard(reads_of(member).result_within);
}

ExpressionId KernelExpressions::constant_int(std::int64_t value) {
  Expression e;
  e.dtype = DType::Int64;
  e.bits = static_cast<std::uint64_t>(value);
  return add(e);
}

ExpressionId KernelExpressions::constant(const Node& node) {
  const auto& bytes = *node.as<ir::ConstantAttrs>().data.bytes;
  Expression e;
  e.dtype = node.types[0].dtype;
  std::memcpy(&e.bits, bytes.data(), std::min(bytes.size(), sizeof e.bits));
  return add(e);
}

ExpressionId KernelExpressions::apply(Op op, DType dtype, ExpressionId first, ExpressionId second,
                                      ExpressionId third) {
  Expression e;
  e.kind = ExpressionKind::Apply;
  e.op = op;
  e.dtype = dtype;
  e.arguments = {first, second, third};
  // Integer index arithmetic is not shared: LinearIndices rewrites it per expression.
  if (!is_float(dtype)) return add(e);
  const auto [known, is_new] = applied_.try_emplace({op, dtype, e.arguments});
  if (is_new) known->second = add(e);
  return known->second;
}

ExpressionId KernelExpressions::convert(ExpressionId from, DType dtype) {
  if (kernel().expressions[from].dtype == dtype) return from;
  Expression e;
  e.kind = ExpressionKind::Convert;
  e.dtype = dtype;
  e.arguments[0] = from;
  return add(e);
}

ExpressionId KernelExpressions::bitcast(ExpressionId from, DType dtype) {
  const Expression argument = kernel().expressions[from];
  if (argument.dtype == dtype) return from;
  if (argument.kind == ExpressionKind::Bitcast) return bitcast(argument.arguments[0], dtype);
  // A half in registers is a float32, which may have lost the bits of a NaN or a subnormal.
  const bool is_half_load = argument.kind == ExpressionKind::Load && ir::is_half(argument.dtype);
  if (is_half_load) return bitcast(load_bits(argument.access), dtype);
  Expression e;
  e.kind = ExpressionKind::Bitcast;
  e.dtype = dtype;
  e.arguments[0] = from;
  return add(e);
}

ExpressionId KernelExpressions::load_bits(AccessId from) {
  Access access = kernel().accesses[from];
  const Value storage = out.operands[access.operand];
  access.operand = operand_of(storage, DType::Int16, /*written=*/false);
  Expression e;
  e.kind = ExpressionKind::Load;
  e.dtype = DType::Int16;
  e.access = add_access(access, out.access_nodes[from]);
  return add(e);
}

ExpressionId KernelExpressions::stored_bits(ExpressionId value) const {
  const Expression& e = out.kernel.expressions[value];
  return e.kind == ExpressionKind::Bitcast && ir::is_half(e.dtype) ? e.arguments[0] : value;
}

ExpressionId KernelExpressions::scalar_work(const Node& node,
                                            const std::array<ExpressionId, 3>& arguments) {
  if (node.op == Op::Cast) return convert(arguments[0], node.types[0].dtype);
  if (node.op == Op::Bitcast) return bitcast(arguments[0], node.types[0].dtype);
  return apply(node.op, node.types[0].dtype, arguments[0], arguments[1], arguments[2]);
}

// ---- indices and memory ----

ExpressionId KernelExpressions::size_value(const Dim& dim) {
  if (dim.is_static()) return constant_int(dim.value());
  Expression e;
  e.kind = ExpressionKind::SizeValue;
  e.dtype = DType::Int64;
  e.number = add_size(kernel(), dim);
  return add(e);
}

ExpressionId KernelExpressions::index_of(const AffineIndex& entry) {
  if (entry.axis < 0) return size_value(entry.offset);
  ExpressionId index;
  entry.for_each_term([&](int axis, std::int64_t step) {
    Expression e;
    e.kind = ExpressionKind::AxisIndex;
    e.dtype = DType::Int64;
    e.number = position_[static_cast<std::size_t>(axis)];
    ExpressionId term = add(e);
    if (step != 1) term = apply(Op::Mul, DType::Int64, term, constant_int(step));
    index = index ? apply(Op::Add, DType::Int64, index, term) : term;
  });
  if (entry.offset == Dim(0)) return index;
  return apply(Op::Add, DType::Int64, index, size_value(entry.offset));
}

OperandId KernelExpressions::operand_of(const Value& storage, DType dtype, bool written) {
  for (const OperandId i : out.operands.ids()) {
    if (out.operands[i] != storage || kernel().operands[i].dtype != dtype) continue;
    (written ? kernel().operands[i].written : kernel().operands[i].read) = true;
    return i;
  }
  out.operands.push_back(storage);
  const std::size_t count = kernel().operands.size();
  return kernel().operands.add({text("b", count), dtype, !written, written});
}

Access KernelExpressions::access(const Value& value, const AccessMap& map) {
  return access_as(value.dtype(), value, map, /*written=*/false);
}

Access KernelExpressions::store_access(ExpressionId stored, const Value& value,
                                       const AccessMap& map) {
  const DType dtype = kernel().expressions[stored].dtype;
  return access_as(dtype, value, map, /*written=*/true);
}

Access KernelExpressions::access_as(DType dtype, const Value& value, const AccessMap& map,
                                    bool written) {
  Access access;
  access.operand = operand_of(storage_of(value, fusion_plan_), dtype, written);
  access.strides.assign(kernel().axes.size(), Dim(0));
  const Dims strides = dense_strides(names_(value.dims()));
  for (std::size_t i = 0; i < map.size(); ++i) {
    access.offset = access.offset + bounded_distance(map[i].offset, strides[i]);
    map[i].for_each_term([&](int axis, std::int64_t step) {
      Dim& stride =
          access.strides[static_cast<std::size_t>(position_[static_cast<std::size_t>(axis)])];
      stride = stride + bounded_distance(strides[i], step);
    });
  }
  return access;
}

void KernelExpressions::make_dynamic(Access& access, ExpressionId index, const Dims& dims,
                                     std::size_t axis) {
  access.dynamic = convert(index, DType::Int64);
  access.dynamic_stride = dense_strides(dims)[axis];
  access.dynamic_limit = dims[axis];
}

AccessId KernelExpressions::add_access(const Access& access, const Node* node) {
  add_size(kernel(), access.offset);
  for (const Dim& stride : access.strides) add_size(kernel(), stride);
  if (access.dynamic) {
    add_size(kernel(), access.dynamic_stride);
    add_size(kernel(), access.dynamic_limit);
  }
  out.access_nodes.push_back(node);
  return kernel().accesses.add(access);
}

ExpressionId KernelExpressions::load(Access access, const Node* node) {
  access.when = guard_;
  Expression e;
  e.kind = ExpressionKind::Load;
  e.dtype = kernel().operands[access.operand].dtype;
  e.access = add_access(access, node);
  return add(e);
}

/// Tests both bounds by one unsigned comparison: a negative index exceeds every limit.
ExpressionId KernelExpressions::guard(const std::vector<Bound>& bounds) {
  if (bounds.empty()) return {};
  for (const KnownGuard& known : guards_) {
    if (known.bounds == bounds) return known.expression;
  }
  ExpressionId all;
  for (const Bound& bound : bounds) {
    Expression e;
    e.kind = ExpressionKind::Apply;
    e.op = Op::Less;
    e.dtype = DType::Bool;
    e.arguments[0] = convert(index_of(bound.index), DType::UInt64);
    e.arguments[1] = convert(size_value(bound.limit), DType::UInt64);
    const ExpressionId holds = add(e);
    all = all ? apply(Op::And, DType::Bool, all, holds) : holds;
  }
  guards_.push_back({bounds, all});
  return all;
}

// ---- values ----

ExpressionId KernelExpressions::expression(const Value& value, const AccessMap& map) {
  const View view = trace(value, map, names_, fusion_plan_);
  for (const Known& entry : known_[view.source]) {
    if (entry.map == view.map && entry.guard == guard_) return entry.expression;
  }
  const ExpressionId lowered = lower(view);
  known_[view.source].push_back({view.map, guard_, lowered});
  return lowered;
}

ExpressionId KernelExpressions::lower(const View& view) {
  const Node& node = *view.source.node;
  if (const Member* member = member_of(node)) return member_value(*member);
  if (node.op == Op::Constant && domain_of(node.types[0].dims).empty()) return constant(node);
  const bool inlined =
      fusion_plan_.rematerialised.contains(&node) && fusion_plan_.dense.count(view.source) == 0;
  if (inlined) return rematerialised(node, view.map);
  return load(access(view.source, view.map));
}

ExpressionId KernelExpressions::guarded(const OperandRead& read, ExpressionId otherwise) {
  const ExpressionId holds = guard(read.within);
  if (!holds) return expression(read.value, read.map);
  const ExpressionId outside = guard_;
  guard_ = outside ? apply(Op::And, DType::Bool, outside, holds) : holds;
  const ExpressionId value = expression(read.value, read.map);
  const Expression& e = kernel().expressions[value];
  const bool is_load = e.kind == ExpressionKind::Load && kernel().accesses[e.access].when == guard_;
  guard_ = outside;
  Expression zero;
  zero.dtype = e.dtype;
  if (otherwise) {
    const Expression& other = kernel().expressions[otherwise];
    if (other.kind == ExpressionKind::Constant && other.bits == 0) otherwise = {};
  }
  if (is_load && !otherwise) return value;
  return apply(Op::Select, zero.dtype, holds, value, otherwise ? otherwise : add(zero));
}

ExpressionId KernelExpressions::rematerialised(const Node& node, const AccessMap& map) {
  if (node.op == Op::DimSize) return size_value(names_(node.as<ir::DimAttrs>().dim));
  if (node.op == Op::Iota) {
    const auto axis = static_cast<std::size_t>(node.as<ir::IotaAttrs>().axis);
    return convert(index_of(map[axis]), node.types[0].dtype);
  }
  std::array<ExpressionId, 3> arguments;
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    const Value& operand = node.operands[i];
    arguments[i] = expression(operand, operand.rank() == 0 ? AccessMap{} : map);
  }
  return scalar_work(node, arguments);
}

ExpressionId KernelExpressions::member_value(const Member& member) {
  const auto stage = stage_of_.find(member.node);
  if (stage == stage_of_.end()) return point_value(member);
  Expression e;
  e.kind = ExpressionKind::StageResult;
  e.stage = stage->second;
  e.dtype = member.node->types[0].dtype;
  return add(e);
}

/// The reads of a member, over the domain of the group.
IterationSpace KernelExpressions::reads_of(const Member& member) const {
  const bool is_dense = fusion_plan_.dense.count(member.node->result()) != 0;
  IterationSpace space = iteration_space(*member.node, names_, is_dense);
  if (member.role == Role::Outer) over_domain(space);
  return space;
}

ExpressionId KernelExpressions::point_value(const Member& member) {
  const Node& node = *member.node;
  const IterationSpace space = reads_of(member);
  if (is_view(node, names_)) return expression(space.reads[0].value, space.reads[0].map);
  if (fusion_plan_.dense.count(node.result()) && fusion_plan_.rematerialised.contains(&node)) {
    return rematerialised(node, own_map(member));
  }
  if (node.op == Op::Gather) return gathered(node, space);
  if (node.op == Op::RandomUniform) return random(node, space);
  if (node.op == Op::Fold) return guarded(space.reads[0], {});
  if (node.op == Op::Pad) {
    return guarded(space.reads[0], expression(space.reads[1].value, space.reads[1].map));
  }
  const ir::OpDef& d = def(node);
  if (d.combiner == Combiner::ArgMax && member.role != Role::Reduce) return constant_int(0);
  std::array<ExpressionId, 3> arguments;
  for (std::size_t i = 0; i < space.reads.size(); ++i) {
    arguments[i] = expression(space.reads[i].value, space.reads[i].map);
  }
  if (node.op == Op::Dot) return dot_term(member, arguments[0], arguments[1]);
  const bool combines = d.lowering == ir::Lowering::Reduce || d.lowering == ir::Lowering::Running;
  if (combines) return arguments[0];
  return scalar_work(node, arguments);
}

ExpressionId KernelExpressions::dot_term(const Member& member, ExpressionId lhs, ExpressionId rhs) {
  const DType dtype = member.node->types[0].dtype;
  const ExpressionId term = apply(Op::Mul, dtype, lhs, rhs);
  if (member.role == Role::Reduce || !is_float(dtype)) return term;
  Expression zero;
  zero.dtype = dtype;
  return apply(Op::Add, dtype, term, add(zero));
}

ExpressionId KernelExpressions::gathered(const Node& node, const IterationSpace& space) {
  const Value& reference = node.operands[0];
  const auto axis = static_cast<std::size_t>(node.as<ir::AxisAttrs>().axis);
  const auto count = static_cast<std::size_t>(node.operands[1].rank());
  const AccessMap& here = space.reads[0].map;
  AccessMap map(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(axis));
  map.push_back({});
  map.insert(map.end(), here.begin() + static_cast<std::ptrdiff_t>(axis + count), here.end());
  const ExpressionId index = expression(space.reads[1].value, space.reads[1].map);
  Access indexed = access(reference, map);
  make_dynamic(indexed, index, names_(reference.dims()), axis);
  return load(indexed, &node);
}

ExpressionId KernelExpressions::random(const Node& node, const IterationSpace& space) {
  const auto& attrs = node.as<ir::RandomAttrs>();
  Expression e;
  e.kind = ExpressionKind::Random;
  e.dtype = node.types[0].dtype;
  e.seed = attrs.seed;
  e.stream = attrs.stream;
  e.arguments[0] = expression(space.reads[0].value, space.reads[0].map);
  const Dims dims = names_(node.types[0].dims);
  const Dims strides = dense_strides(dims);
  ExpressionId element = constant_int(0);
  const AccessMap here = identity_map(dims);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (here[i].axis < 0) continue;
    const ExpressionId term =
        apply(Op::Mul, DType::Int64, index_of(here[i]), size_value(strides[i]));
    element = apply(Op::Add, DType::Int64, element, term);
  }
  e.arguments[1] = element;
  return add(e);
}

}  // namespace kiln::codegen
