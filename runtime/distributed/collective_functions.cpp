// The public collectives: a node each, of which one for a single rank is the operand.
#include <kiln/collectives.h>

#include <kiln/gradients.h>

#include "core/k/base/tensor_impl.h"
#include "core/ops/halves.h"
#include "runtime/distributed/group.h"

#include <utility>

namespace kiln::distributed {
namespace {

using ir::CollectiveAttrs;
using ir::CollectiveKind;
using ir::CollectiveReduction;
using ir::Value;

Group group_or_world(const std::optional<Group>& group) {
  return group ? *group : world(Call::where());
}

/// The attributes for a group, but what the kind adds.
CollectiveAttrs attrs_of(const std::optional<Group>& given, CollectiveKind kind) {
  const Group group = group_or_world(given);
  return {.kind = kind, .group = group.impl().number(), .ranks = group.size()};
}

Value collective(const CollectiveAttrs& attrs, const Value& x) {
  const Value combined = ir::make(ir::Op::Collective, attrs, {x});  // checks it for one rank, too
  return attrs.ranks == 1 ? x : combined;
}

Value sum_over(const CollectiveAttrs& attrs, const Value& x) {
  CollectiveAttrs sum = attrs;
  sum.reduction = CollectiveReduction::Sum;
  return collective(sum, x);
}

/// Divides in float32 or wider: the sum of halves may be out of their range.
Value mean_over(const CollectiveAttrs& attrs, const Value& x) {
  if (attrs.ranks == 1) return x;
  const Value sum = sum_over(attrs, ir::widened(x));
  return ir::cast(sum / static_cast<double>(attrs.ranks), x.dtype());
}

Value reduced(CollectiveAttrs attrs, Reduction reduction, const Value& x, const char* argument) {
  switch (reduction) {
    case Reduction::Sum: return sum_over(attrs, x);
    case Reduction::Mean:
      if (!is_float(x.dtype())) {
        Call::type_error(argument,
                         text(argument, " is ", x.type(), "; a mean needs floating point"));
      }
      return mean_over(attrs, x);
    case Reduction::Max: attrs.reduction = CollectiveReduction::Max; return collective(attrs, x);
    case Reduction::Min: attrs.reduction = CollectiveReduction::Min; return collective(attrs, x);
  }
  Call::value_error("reduction", text("reduction is ", static_cast<int>(reduction),
                                      ", which is not one of Sum, Mean, Max and Min"));
}

/// The weight of this rank in float32 or wider; an empty Value if none is given.
Value weight_of(const Tensor& given) {
  if (given.empty()) return {};
  const Value weight = value_of(given, "weight");
  if (!is_float(weight.dtype())) {
    Call::type_error("weight", text("weight is ", weight.type(), ", which is not floating point"));
  }
  if (weight.rank() != 0) {
    Call::value_error("weight", text("weight is ", weight.type(), ", which is not a scalar"));
  }
  return ir::widened(weight);
}

/// The sum of `weight` times x, divided by the sum of weights.
Value weighted_mean(const CollectiveAttrs& attrs, const Value& x, const Value& weight) {
  const Value wide = ir::widened(x);
  const Value own = ir::cast(weight, wide.dtype());
  const Value each = ir::broadcast_to(own, wide.dims());
  const Value counts = ir::logical_not(ir::equal_to(each, ir::zeros_like(each)));
  const Value sum = sum_over(attrs, ir::select(counts, each * wide, ir::zeros_like(wide)));
  return ir::cast(sum / ir::broadcast_to(sum_over(attrs, own), wide.dims()), x.dtype());
}

}  // namespace

Tensor all_reduce(const Operand& x, const AllReduceOptions& options) {
  return api_call("all_reduce", x.where(), [&] {
    const CollectiveAttrs attrs = attrs_of(options.group, CollectiveKind::AllReduce);
    return wrap(reduced(attrs, options.reduction, input_of(x), "x"));
  });
}

Results<Tensor> all_reduce(const std::vector<Tensor>& x, const AllReduceOptions& options,
                           Where where) {
  return api_call("all_reduce", where, [&] {
    const CollectiveAttrs attrs = attrs_of(options.group, CollectiveKind::AllReduce);
    std::vector<Tensor> results;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::string name = text("x[", i, "]");
      results.push_back(wrap(reduced(attrs, options.reduction, value_of(x, i, "x"), name.c_str())));
    }
    return results;
  });
}

Tensor all_gather(const Operand& x, const AllGatherOptions& options) {
  return api_call("all_gather", x.where(), [&] {
    CollectiveAttrs attrs = attrs_of(options.group, CollectiveKind::AllGather);
    const Value value = input_of(x);
    attrs.axis = axis_of(options.axis, value.rank());
    return wrap(collective(attrs, value));
  });
}

Tensor reduce_scatter(const Operand& x, const ReduceScatterOptions& options) {
  return api_call("reduce_scatter", x.where(), [&] {
    CollectiveAttrs attrs = attrs_of(options.group, CollectiveKind::ReduceScatter);
    const Value value = input_of(x);
    attrs.axis = axis_of(options.axis, value.rank());
    return wrap(collective(attrs, value));
  });
}

Tensor broadcast(const Operand& x, const BroadcastOptions& options) {
  return api_call("broadcast", x.where(), [&] {
    CollectiveAttrs attrs = attrs_of(options.group, CollectiveKind::Broadcast);
    attrs.root = options.root;
    if (attrs.root < 0 || attrs.root >= attrs.ranks) {
      Call::value_error("root", text("root is ", attrs.root, " of ", attrs.ranks, " ranks"));
    }
    return wrap(collective(attrs, input_of(x)));
  });
}

Results<Tensor> gradients(const Operand& loss, const std::vector<Tensor>& variables,
                          const GradientsOptions& options) {
  return api_call("gradients", loss.where(), [&] {
    const CollectiveAttrs attrs = attrs_of(options.group, CollectiveKind::AllReduce);
    const Value weight = weight_of(options.weight);
    std::vector<Tensor> means;
    for (const Tensor& gradient : kiln::gradients(loss, variables)) {
      const Value* dx = dense_value_of(gradient);
      if (dx == nullptr) {
        means.push_back(gradient);
        continue;
      }
      means.push_back(wrap(weight ? weighted_mean(attrs, *dx, weight) : mean_over(attrs, *dx)));
    }
    return means;
  });
}

}  // namespace kiln::distributed
