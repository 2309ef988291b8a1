// The public collectives, each of which makes a node, also in a single process, so that its
// arguments are checked as those of several ranks. build_graph.h replaces nodes of a single process
// by their operands.
#include <kiln/collectives.h>

#include <kiln/gradients.h>

#include "core/ir/traverse.h"
#include "core/k/base/tensor_impl.h"
#include "core/ops/halves.h"
#include "core/ops/new_collective.h"
#include "runtime/distributed/group.h"
#include "runtime/distributed/session.h"
#include "runtime/distributed/shards.h"

#include <algorithm>
#include <functional>
#include <optional>
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

/// The attributes of a collective of the kind over the group, or all ranks: without axis and root,
/// and with Sum as the reduction. All groups of a single process are the world.
CollectiveAttrs attrs_of(const std::optional<Group>& given, CollectiveKind kind) {
  const Group group = group_or_world(given);
  const auto all = runtime::distributed::current_world();
  const bool is_alone = group.size() == 1 && (!all || all->place().size == 1);
  return {.kind = kind, .group = is_alone ? 0 : group.impl().number(), .ranks = group.size()};
}

Value collective(const CollectiveAttrs& attrs, const Value& x) {
  return ir::new_collective(attrs, x);
}

/// Divides in float32 or wider: the sum of halves may be out of their range.
Value mean_over(const CollectiveAttrs& attrs, const Value& x) {
  if (ir::is_of_one_process(attrs)) return collective(attrs, x);
  const Value sum = collective(attrs, ir::widened(x));
  return ir::cast(sum / static_cast<double>(attrs.ranks), x.dtype());
}

/// Replaces gradients in the order in which a backward pass is likely to have them, in which they
/// are then reduced: those of the last variables first.
void replace_each(std::vector<Tensor>& gradients, const std::function<void(Tensor&)>& replace) {
  std::for_each(gradients.rbegin(), gradients.rend(), replace);
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

/// The parts of this rank; none if the rows are not cut.
std::optional<runtime::distributed::Shards> shards_of(const Shards& given,
                                                      const std::optional<Group>& group,
                                                      const Tensor& weight) {
  const std::int64_t count = given.count;
  if (count == 0 && given.split.empty()) return std::nullopt;
  const Group of = group_or_world(group);
  const std::int64_t ranks = of.size(), each = count / ranks;
  if (count < 1 || each * ranks != count || (each & (each - 1)) != 0) {
    Call::value_error("shards", text("shards.count is ", count, " but must be the ", ranks,
                                     " ranks times a power of two"));
  }
  if (!weight.empty()) Call::value_error("weight", "weight is given, but shards count alike");
  if (given.split.empty()) Call::value_error("shards", "shards.split is empty");
  runtime::distributed::Shards shards{
      .rank = of.rank(), .ranks = ranks, .count = count, .split = {}};
  for (std::size_t i = 0; i < given.split.size(); ++i) {
    const Value value = value_of(given.split, i, "shards.split");
    const bool has_rows =
        value.node->op == ir::Op::Placeholder && value.rank() > 0 && !value.dims()[0].is_static();
    if (!has_rows) {
      Call::value_error("shards", text("shards.split[", i, "] is ", given.split[i],
                                       ", which is not a placeholder with None as axis 0"));
    }
    shards.split.push_back(value);
  }
  return shards;
}

/// The mean over all parts of what values_of() gives for one.
std::vector<Value> means_of_shards(
    const CollectiveAttrs& attrs, const runtime::distributed::Shards& shards,
    const std::function<std::vector<Value>(const runtime::distributed::OfPart&)>& values_of) {
  std::vector<DType> dtypes;
  const auto checked = [&](const runtime::distributed::OfPart& of_part) {
    std::vector<Value> values = values_of(of_part);
    dtypes.clear();
    for (const Value& value : values) {
      dtypes.push_back(value.dtype());
      for (const ir::Dim& dim : value.dims()) {
        if (dim.is_static()) continue;
        Call::value_error("shards", text("a value of each part is ", value.type(),
                                         ", whose shape is not static"));
      }
    }
    return values;
  };
  std::vector<Value> means = runtime::distributed::sums_of_shards(shards, checked);
  for (std::size_t i = means.size(); i-- > 0;) {  // as in the gradients of whole batches
    means[i] = ir::cast(collective(attrs, means[i]) / static_cast<double>(shards.count), dtypes[i]);
  }
  return means;
}

/// x, or 0 on a rank of weight 0, whatever x is there.
Value counted(const Value& x, const Value& weight) {
  const Value each = ir::broadcast_to(ir::cast(weight, x.dtype()), x.dims());
  const Value zero = ir::zeros_like(x);
  return ir::select(ir::equal_to(each, zero), zero, x);
}

/// The sum of `weight` times x, divided by the sum of weights.
Value weighted_mean(const CollectiveAttrs& attrs, const Value& x, const Value& weight) {
  const Value wide = ir::widened(x);
  const Value own = ir::cast(weight, wide.dtype());
  const Value each = ir::broadcast_to(own, wide.dims());
  const Value sum = collective(attrs, counted(each * wide, own));
  return ir::cast(sum / ir::broadcast_to(collective(attrs, own), wide.dims()), x.dtype());
}

/// `weight`: of a mean; may be empty.
Value mean_over(const CollectiveAttrs& attrs, const Value& x, const Value& weight) {
  return weight && !ir::is_of_one_process(attrs) ? weighted_mean(attrs, x, weight)
                                                 : mean_over(attrs, x);
}

Value reduced(CollectiveAttrs attrs, const AllReduceOptions& options, const Value& x,
              const char* argument) {
  const Value weight = weight_of(options.weight);
  const auto shards = shards_of(options.shards, options.group, options.weight);
  if ((weight || shards) && options.reduction != Reduction::Mean) {
    Call::value_error(weight ? "weight" : "shards", text(weight ? "a weight is" : "shards are",
                                                         " given, but the reduction is not Mean"));
  }
  switch (options.reduction) {
    case Reduction::Sum: return collective(attrs, x);
    case Reduction::Mean:
      if (is_float(x.dtype()) && shards) {
        return means_of_shards(
            attrs, *shards, [&](const auto& of_part) { return std::vector<Value>{of_part(x)}; })[0];
      }
      if (is_float(x.dtype())) return mean_over(attrs, x, weight);
      Call::type_error(argument, text(argument, " is ", x.type(), "; a mean needs floating point"));
    case Reduction::Max: attrs.reduction = CollectiveReduction::Max; return collective(attrs, x);
    case Reduction::Min: attrs.reduction = CollectiveReduction::Min; return collective(attrs, x);
  }
  Call::value_error("reduction", text("reduction is ", static_cast<int>(options.reduction),
                                      ", which is not one of Sum, Mean, Max and Min"));
}

/// ValueError for a variable that depends on rows which are cut.
void require_whole(const runtime::distributed::Shards& shards,
                   const std::vector<Tensor>& variables) {
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Value variable = value_of(variables, i, "variables");
    const auto nodes = ir::topological_order({&variable, 1});
    for (std::size_t k = 0; k < shards.split.size(); ++k) {
      if (std::ranges::find(nodes, shards.split[k].node.get()) == nodes.end()) continue;
      Call::value_error("variables", text("variables[", i, "] is ", variables[i],
                                          ", which depends on shards.split[", k,
                                          "]: each part has rows of its own"));
    }
  }
}

/// The gradients averaged over parts. A variable without a path to the loss keeps its empty Tensor.
std::vector<Tensor> gradients_of_shards(const CollectiveAttrs& attrs,
                                        const runtime::distributed::Shards& shards,
                                        const Operand& loss, const std::vector<Tensor>& variables) {
  const Value whole = input_of(loss, "loss");
  require_whole(shards, variables);
  std::vector<Tensor> gradients;  // of a part
  std::vector<Value> means =
      means_of_shards(attrs, shards, [&](const runtime::distributed::OfPart& of_part) {
        gradients = kiln::gradients(wrap(of_part(whole)), variables);
        std::vector<Value> values;
        for (const Tensor& gradient : gradients) {
          if (const Value* dx = dense_value_of(gradient)) values.push_back(*dx);
        }
        return values;
      });
  std::size_t next = 0;
  for (Tensor& gradient : gradients) {
    if (dense_value_of(gradient) != nullptr) gradient = wrap(means[next++]);
  }
  return gradients;
}

/// The gradients of the sum of `weight` times the loss, divided by the sum of weights. The loss is
/// weighted before it is differentiated: with collectives in it, a rank's gradient has terms of the
/// losses of others. Weights are divided by the largest, so that halves stay in range.
std::vector<Tensor> weighted_gradients(const CollectiveAttrs& attrs, const Operand& loss,
                                       const std::vector<Tensor>& variables, const Value& weight) {
  const Value own = input_of(loss, "loss");
  if (!is_float(own.dtype())) return kiln::gradients(loss, variables);  // throws
  CollectiveAttrs largest = attrs;
  largest.reduction = CollectiveReduction::Max;
  const Value relative = ir::cast(weight / collective(largest, weight), own.dtype());
  const Value total = collective(attrs, ir::widened(relative));
  const Value weighted = counted(ir::broadcast_to(relative, own.dims()) * own, relative);
  std::vector<Tensor> means = kiln::gradients(wrap(weighted), variables);
  replace_each(means, [&](Tensor& gradient) {
    const Value* dx = dense_value_of(gradient);
    if (dx == nullptr) return;
    const Value wide = ir::widened(counted(*dx, relative));
    const Value divisor = ir::broadcast_to(ir::cast(total, wide.dtype()), wide.dims());
    gradient = wrap(ir::cast(collective(attrs, wide) / divisor, dx->dtype()));
  });
  return means;
}

}  // namespace

Tensor all_reduce(const Operand& x, const AllReduceOptions& options) {
  return api_call("all_reduce", x.where(), [&] {
    const CollectiveAttrs attrs = attrs_of(options.group, CollectiveKind::AllReduce);
    return wrap(reduced(attrs, options, input_of(x), "x"));
  });
}

Results<Tensor> all_reduce(const std::vector<Tensor>& x, const AllReduceOptions& options,
                           Where where) {
  return api_call("all_reduce", where, [&] {
    const CollectiveAttrs attrs = attrs_of(options.group, CollectiveKind::AllReduce);
    std::vector<Tensor> results;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::string name = text("x[", i, "]");
      results.push_back(wrap(reduced(attrs, options, value_of(x, i, "x"), name.c_str())));
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
    if (const auto shards = shards_of(options.shards, options.group, options.weight)) {
      return gradients_of_shards(attrs, *shards, loss, variables);
    }
    if (weight && !ir::is_of_one_process(attrs)) {
      return weighted_gradients(attrs, loss, variables, weight);
    }
    std::vector<Tensor> means = kiln::gradients(loss, variables);
    replace_each(means, [&](Tensor& gradient) {
      if (const Value* dx = dense_value_of(gradient)) gradient = wrap(mean_over(attrs, *dx));
    });
    return means;
  });
}

}  // namespace kiln::distributed
