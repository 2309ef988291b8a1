// Type rule, gradient and expansion of Collective. Its kinds are each other's transposes.
#include "core/ops/collective.h"

#include "core/ops/halves.h"
#include "core/ops/infer_rules.h"
#include "core/ops/new_collective.h"

#include <kiln/error.h>

namespace kiln::ir {
namespace {

const char* name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::AllReduce: return "all_reduce";
    case CollectiveKind::AllGather: return "all_gather";
    case CollectiveKind::ReduceScatter: return "reduce_scatter";
    case CollectiveKind::Broadcast: return "broadcast";
    case CollectiveKind::Reduce: return "reduce";
  }
  return nullptr;
}

void require_reducible(Inference& in, CollectiveReduction reduction) {
  switch (reduction) {
    case CollectiveReduction::Sum:
      if (in.type(0).dtype != DType::Bool) return;
      in.type_error("x is bool; sums need numbers, any and all are Max and Min");
    case CollectiveReduction::Max:
    case CollectiveReduction::Min: return;
  }
  in.value_error(text("an unknown reduction ", static_cast<std::int64_t>(reduction)));
}

void require_group(Inference& in, const CollectiveAttrs& a) {
  if (a.group < 0 || a.ranks < 1 || a.root < 0 || a.root >= a.ranks) {
    in.value_error(
        text("rank ", a.root, " of ", a.ranks, " in group ", a.group, " does not exist"));
  }
}

Value with_kind(const CollectiveAttrs& like, CollectiveKind kind, const Value& x) {
  CollectiveAttrs attrs = like;
  attrs.kind = kind;
  attrs.reduction = CollectiveReduction::Sum;
  return new_collective(attrs, x);
}

}  // namespace

std::vector<Type> infer_collective(Inference& in) {
  const auto& a = in.as<CollectiveAttrs>();
  if (name_of(a.kind) == nullptr) {
    in.value_error(text("an unknown kind ", static_cast<std::int64_t>(a.kind)));
  }
  require_group(in, a);
  Type result = in.type(0);
  switch (a.kind) {
    case CollectiveKind::AllReduce: require_reducible(in, a.reduction); break;
    case CollectiveKind::Reduce: require_reducible(in, CollectiveReduction::Sum); break;
    case CollectiveKind::Broadcast: break;
    case CollectiveKind::AllGather: {
      require_axis(in, a.axis, result.rank());
      Dim& size = result.dims[static_cast<std::size_t>(a.axis)];
      size = size * a.ranks;
      break;
    }
    case CollectiveKind::ReduceScatter: {
      require_axis(in, a.axis, result.rank());
      require_reducible(in, CollectiveReduction::Sum);
      Dim& size = result.dims[static_cast<std::size_t>(a.axis)];
      in.require_equal(mod(size, a.ranks), 0, "axis ", a.axis, " of ", size,
                       " elements is not a multiple of the ", a.ranks, " ranks");
      size = floor_div(size, a.ranks);
      break;
    }
  }
  return {result};
}

Grads grad_collective(const Grad& g) {
  const auto& a = g.node.as<CollectiveAttrs>();
  const Value& dy = g.dy[0];
  if (is_of_one_process(a)) return {dy};
  switch (a.kind) {
    case CollectiveKind::AllGather: return {with_kind(a, CollectiveKind::ReduceScatter, dy)};
    case CollectiveKind::ReduceScatter: return {with_kind(a, CollectiveKind::AllGather, dy)};
    case CollectiveKind::Broadcast: return {with_kind(a, CollectiveKind::Reduce, dy)};
    case CollectiveKind::Reduce: return {with_kind(a, CollectiveKind::Broadcast, dy)};
    case CollectiveKind::AllReduce: break;
  }
  const Value sum = with_kind(a, CollectiveKind::AllReduce, dy);
  if (a.reduction == CollectiveReduction::Sum) return {sum};
  const Value total = widened(sum);
  const Value is_extreme = cast(equal_to(g.x[0], g.y[0]), total.dtype());
  const Value ties = with_kind(a, CollectiveKind::AllReduce, is_extreme);
  return {cast(total * is_extreme / ties, dy.dtype())};
}

std::vector<Value> expand_collective(const Node& node, std::span<const Value> operands) {
  const auto& a = node.as<CollectiveAttrs>();
  if (a.ranks == 1) return {operands[0]};
  throw NotImplementedError(
      node.origin.function, "",
      text(name_of(a.kind), " of ", a.ranks, " ranks runs in a group of processes only"),
      node.origin.where);
}

}  // namespace kiln::ir
