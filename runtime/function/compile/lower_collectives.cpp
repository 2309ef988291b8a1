// Each call of the host takes a result of the one before as its position, which keeps the order.
#include "runtime/function/compile/lower_collectives.h"

#include "core/ir/traverse.h"
#include "core/k/base/call.h"
#include "core/ops/build.h"
#include "core/ops/lambda_builder.h"
#include "core/types/text.h"
#include "runtime/distributed/session.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace kiln::runtime {
namespace {

using ir::CollectiveAttrs;
using ir::CollectiveKind;
using ir::CollectiveReduction;
using ir::Node;
using ir::Op;
using ir::Value;

std::string place_of(const ir::Origin& origin) {
  const Where& where = origin.where;
  return where.known() ? text(" (", where.file, ":", where.line, ")") : "";
}

std::string function_of(const Node& node) {
  return *node.origin.function == '\0' ? "collective" : node.origin.function;
}

[[noreturn]] void reject(const Node& node, const std::string& reason) {
  Call::not_implemented("", text(function_of(node), place_of(node.origin), " ", reason));
}

/// The collective in a lambda of the node; null if there is none.
const Node* find_inside(const Node& node) {
  const Node* found = nullptr;
  ir::for_each_lambda(node, [&](const ir::Lambda& lambda) {
    for (const Node* inner : ir::topological_order(lambda.results)) {
      if (found == nullptr) found = inner->op == Op::Collective ? inner : find_inside(*inner);
    }
  });
  return found;
}

/// The collectives of several ranks, in the order in which they run.
std::vector<const Node*> numbered(const ir::Graph& graph) {
  std::vector<std::pair<std::size_t, const Node*>> found;  // with the nodes that they depend on
  for (const Node* node : ir::topological_order(graph.roots())) {
    if (const Node* inner = find_inside(*node)) {
      reject(*inner,
             text("is inside a step or a branch of ", function_of(*node), place_of(node->origin),
                  "; ranks could run it a different number of times"));
    }
    if (node->op != Op::Collective || node->as<CollectiveAttrs>().ranks == 1) continue;
    const Value result = node->result();
    found.emplace_back(ir::topological_order({&result, 1}).size(), node);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const Node*> nodes;
  for (const auto& entry : found) nodes.push_back(entry.second);
  return nodes;
}

std::shared_ptr<distributed::Group> group_of(const CollectiveAttrs& attrs) {
  const std::shared_ptr<distributed::Group> world = distributed::current_world();
  if (!world) {
    Call::value_error("", text("the graph has collectives of ", attrs.ranks,
                               " ranks, but this process is in no group; call "
                               "K::distributed::init() first"));
  }
  const auto own = static_cast<std::int64_t>(world->place().size);
  std::shared_ptr<distributed::Group> group =
      attrs.group == 0 && own > 1 ? world : world->numbered(attrs.group);
  const std::int64_t size = group ? static_cast<std::int64_t>(group->place().size) : own;
  if (size != attrs.ranks) {
    Call::value_error(
        "", text("the graph has collectives of ", attrs.ranks, " ranks, this group has ", size));
  }
  return group;
}

ProgramCollective collective_of(const Node& node, std::span<const ir::Symbol> symbols) {
  ProgramCollective collective{.attrs = node.as<CollectiveAttrs>(),
                               .type = node.operands[0].type(),
                               .place = place_of(node.origin)};
  for (const ir::Dim& dim : collective.type.dims) {
    if (!collective.sizes.emplace_back(dim, symbols).is_bound()) {
      reject(node, text("takes ", collective.type, ", of which a size is known only at run time"));
    }
  }
  return collective;
}

Value call_host(const Node& node, const Value& position, const Value& operand, std::size_t number) {
  const ir::OriginScope origin(node.origin, /*replace=*/true);
  return ir::make(Op::HostCall,
                  ir::HostCallAttrs{.function = kCollectiveFunction,
                                    .payload = std::to_string(number),
                                    .results = {node.types[0], position.type()}},
                  {position, operand});
}

const char* name_of(const CollectiveAttrs& attrs) {
  switch (attrs.kind) {
    case CollectiveKind::AllReduce:
      switch (attrs.reduction) {
        case CollectiveReduction::Sum: return "all_reduce sum";
        case CollectiveReduction::Max: return "all_reduce max";
        case CollectiveReduction::Min: return "all_reduce min";
      }
      break;
    case CollectiveKind::AllGather: return "all_gather";
    case CollectiveKind::ReduceScatter: return "reduce_scatter";
    case CollectiveKind::Broadcast: return "broadcast";
    case CollectiveKind::Reduce: return "reduce";
  }
  return "collective";
}

bool has_axis(CollectiveKind kind) {
  return kind == CollectiveKind::AllGather || kind == CollectiveKind::ReduceScatter;
}

bool has_root(CollectiveKind kind) {
  return kind == CollectiveKind::Broadcast || kind == CollectiveKind::Reduce;
}

distributed::Reduction reduction_of(CollectiveReduction reduction) {
  switch (reduction) {
    case CollectiveReduction::Sum: return distributed::Reduction::Sum;
    case CollectiveReduction::Max: return distributed::Reduction::Max;
    case CollectiveReduction::Min: return distributed::Reduction::Min;
  }
  return distributed::Reduction::Sum;
}

}  // namespace

std::string ProgramCollective::text(std::span<const std::int64_t> dims) const {
  std::string out = name_of(attrs);
  if (has_axis(attrs.kind)) out += kiln::text(" axis ", attrs.axis);
  if (has_root(attrs.kind)) out += kiln::text(" of rank ", attrs.root);
  if (attrs.group != 0) out += kiln::text(" in a part of ", attrs.ranks, " ranks");
  return out + kiln::text(" ", type.dtype, "[", join_text(dims, ","), "]", place);
}

distributed::Collective ProgramCollective::sized(std::span<const std::int64_t> dims) const {
  const auto product = [](std::span<const std::int64_t> list) {
    return std::accumulate(list.begin(), list.end(), std::size_t{1},
                           [](std::size_t a, auto b) { return a * static_cast<std::size_t>(b); });
  };
  distributed::Collective sized{.kind = attrs.kind,
                                .reduction = reduction_of(attrs.reduction),
                                .dtype = type.dtype,
                                .root = static_cast<std::size_t>(attrs.root)};
  sized.bytes = product(dims) * dtype_bytes(type.dtype);
  if (!has_axis(attrs.kind)) return sized;
  const auto axis = static_cast<std::size_t>(attrs.axis);
  sized.outer = product(dims.first(axis));
  sized.block = product(dims.subspan(axis)) * dtype_bytes(type.dtype);
  if (attrs.kind == CollectiveKind::ReduceScatter) {
    sized.block /= static_cast<std::size_t>(attrs.ranks);
  }
  return sized;
}

ir::Graph lower_collectives(const ir::Graph& graph, std::span<const ir::Symbol> symbols,
                            ProgramCollectives& collectives) {
  const std::vector<const Node*> nodes = numbered(graph);
  if (nodes.empty()) return graph;
  ir::Replacements calls;
  Value position = ir::scalar_constant_int(DType::Int64, 0);
  for (const Node* node : nodes) {
    const std::vector<Value> operand = ir::replace_values({node->operands.data(), 1}, calls);
    const Value call = call_host(*node, position, operand[0], collectives.list.size());
    collectives.list.push_back(collective_of(*node, symbols));
    collectives.groups.push_back(group_of(node->as<CollectiveAttrs>()));
    calls.emplace(node->result(), call);
    position = {call.node, 1};
  }
  const auto is_first = [&](const auto& one) {
    return one.attrs.group == collectives.list[0].attrs.group;
  };
  const bool is_one = std::all_of(collectives.list.begin(), collectives.list.end(), is_first);
  collectives.agreeing = is_one ? collectives.groups[0] : distributed::current_world();
  return ir::replace_values(graph, calls);
}

}  // namespace kiln::runtime
