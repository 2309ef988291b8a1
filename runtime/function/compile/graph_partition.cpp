// A partition ends at the data-dependent calls (host calls with data-dependent result shapes) that
// depend on no other such call.
#include "runtime/function/compile/graph_partition.h"

#include "core/ir/location.h"
#include "core/ir/symbol_source.h"
#include "core/ir/traverse.h"
#include "core/k/base/tensor_impl.h"
#include "core/ops/lambda_builder.h"
#include "core/ops/shard_payload.h"
#include "core/types/escaped_text.h"
#include "runtime/host/host_functions.h"
#include "runtime/host/shard_functions.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

namespace kiln::runtime {
namespace {

using ir::Graph;
using ir::Node;
using ir::Op;
using ir::Value;

DataDependentFunction data_dependent_function(const Node& node) {
  if (node.op != Op::HostCall) return nullptr;
  return find_data_dependent_function(node.as<ir::HostCallAttrs>().function);
}

bool is_of_shard(const Node& node) {
  return node.op == Op::HostCall && is_shard_function(node.as<ir::HostCallAttrs>().function);
}

[[noreturn]] void reject_inside_body(const ir::Origin& origin) {
  Call::value_error("", text("a size of ", origin.function,
                             " depends on values inside a loop step or a branch, which is not "
                             "supported (made at ",
                             origin.where.file, ":", origin.where.line, ")"));
}

/// Rejects data-dependent calls in bodies: the backend runs a body as a whole.
void require_none_inside(const Node& node) {
  ir::for_each_lambda(node, [&](const ir::Lambda& lambda) {
    for (const Node* inner : ir::topological_order(lambda.results)) {
      require_none_inside(*inner);
      if (data_dependent_function(*inner)) reject_inside_body(inner->origin);
    }
  });
}

/// Whether a value depends on a parameter of the body of a loop or a branch.
bool depends_on_parameter(std::span<const Value> values) {
  const std::vector<const Node*> order = ir::topological_order(values);
  return std::any_of(order.begin(), order.end(),
                     [](const Node* node) { return node->op == Op::Parameter; });
}

/// Whether a later partition takes the node's value as a live-out instead of evaluating it again.
/// Not for constants, nor for variables, which all partitions read from one snapshot.
bool can_be_live_out(const Node& node) { return !node.operands.empty(); }

/// Calls `visit` for every symbol of the node, in lambdas, too.
void for_each_symbol_inside(const Node& node, const std::function<void(const ir::Symbol&)>& visit) {
  ir::for_each_symbol(node, visit);
  ir::for_each_lambda(node, [&](const ir::Lambda& lambda) {
    ir::for_each_symbol(lambda, visit);
    for (const Node* inner : ir::topological_order(lambda.results)) {
      for_each_symbol_inside(*inner, visit);
    }
  });
}

std::vector<Value> at(const std::vector<Value>& values, const std::vector<std::size_t>& indices) {
  std::vector<Value> chosen;
  for (const std::size_t i : indices) chosen.push_back(values[i]);
  return chosen;
}

class Partitioner {
 public:
  Partitioner(const Graph& graph, bool is_first) : graph_(graph), is_first_(is_first) {
    roots_ = graph.roots();
    order_ = ir::topological_order(roots_);
    find_calls();
    if (calls_.empty()) return;
    find_members();
    if (!takes_shards()) find_live_outs();
  }

  std::optional<GraphPartition> result() {
    if (calls_.empty()) return std::nullopt;
    GraphPartition partition;
    std::vector<Value>& outputs = partition.graph.outputs;
    partition.graph.inputs = graph_.inputs;
    outputs = live_outs_;
    partition.live_out_count = outputs.size();
    for (const Node* call : calls_) {
      partition.calls.push_back(call->result(0).node);
      outputs.insert(outputs.end(), call->operands.begin() + 1, call->operands.end());
    }
    partition.inputs = all_inputs();
    if (takes_shards() && !is_first_) {
      partition.inputs = used_inputs(partition.graph, /*of_part=*/true);
      partition.graph.inputs = at(partition.graph.inputs, partition.inputs);
    }
    partition.rest = rest();
    return partition;
  }

 private:
  bool takes_shards() const { return is_of_shard(*calls_.front()); }

  std::vector<std::size_t> all_inputs() const {
    std::vector<std::size_t> all(graph_.inputs.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }

  /// Rebuilds the graph over the live-outs and the calls' results.
  Graph rest() {
    ir::Replacements replacements;
    std::vector<Value> inputs = graph_.inputs;
    const auto feed = [&](const Value& value, const char* name) {
      inputs.push_back(fresh_placeholder(value.type(), name));
      replacements.emplace(value, inputs.back());
    };
    for (const Value& value : live_outs_) feed(value, value.node->origin.function);
    for (const Node* call : calls_) {
      for (std::uint32_t i = 0; i < call->types.size(); ++i) {
        feed(call->result(i), call->origin.function);
      }
    }
    Graph rest = graph_;
    rest.inputs.clear();  // placeholders stay
    rest = ir::replace_values(rest, replacements);
    rest.inputs = std::move(inputs);
    std::erase_if(rest.sizes,
                  [](const Value& size) { return !data_dependent_function(*size.node); });
    return rest;
  }

  /// Finds the data-dependent calls that depend on no other one.
  void find_calls() {
    find_symbol_sources();
    std::unordered_set<const Node*> after;
    for (const Node* node : order_) {
      const bool depends =
          uses_symbol_of_call(*node) ||
          std::any_of(node->operands.begin(), node->operands.end(),
                      [&](const Value& value) { return after.count(value.node.get()) != 0; });
      const bool is_call = data_dependent_function(*node) != nullptr;
      if (is_call && !depends) calls_.push_back(node);
      if (is_call || depends) after.insert(node);
    }
    const auto is_other = [&](const Node* call) {
      return is_of_shard(*call) != is_of_shard(*calls_.front());
    };
    if (!calls_.empty()) std::erase_if(calls_, is_other);
  }

  /// Maps each symbol to the call of this graph that defines it.
  void find_symbol_sources() {
    for (const Node* node : order_) {
      require_none_inside(*node);
      if (!data_dependent_function(*node)) continue;
      for (const ir::Symbol& symbol : ir::data_dependent_symbols(*node)) {
        source_of_symbol_.emplace(symbol.id, node);
      }
    }
  }

  /// Whether a node, or a lambda of it, uses a symbol that another call of this graph defines.
  bool uses_symbol_of_call(const Node& node) const {
    if (source_of_symbol_.empty()) return false;
    bool uses = false;
    const auto check = [&](const ir::Symbol& symbol) {
      const auto found = source_of_symbol_.find(symbol.id);
      uses = uses || (found != source_of_symbol_.end() && found->second != &node);
    };
    for_each_symbol_inside(node, check);
    return uses;
  }

  /// Finds the nodes of the partition: those that the calls' operands depend on.
  void find_members() {
    std::vector<Value> operands;
    for (const Node* call : calls_) {
      operands.insert(operands.end(), call->operands.begin(), call->operands.end());
    }
    for (const Node* node : ir::topological_order(operands)) members_.insert(node);
  }

  /// Finds the values of members that nodes outside of the partition, or roots, use.
  void find_live_outs() {
    std::unordered_set<Value, ir::ValueHash> seen;
    const auto use = [&](const Value& value) {
      if (members_.count(value.node.get()) == 0 || !can_be_live_out(*value.node)) return;
      if (seen.insert(value).second) live_outs_.push_back(value);
    };
    for (const Node* node : order_) {
      if (members_.count(node) != 0) continue;
      if (std::find(calls_.begin(), calls_.end(), node) != calls_.end()) continue;
      for (const Value& operand : node->operands) use(operand);
    }
    for (const Value& root : roots_) use(root);
  }

  const Graph& graph_;
  const bool is_first_;
  std::vector<Value> roots_;
  std::vector<const Node*> order_;
  std::unordered_map<std::int64_t, const Node*> source_of_symbol_;
  std::vector<const Node*> calls_;
  std::unordered_set<const Node*> members_;
  std::vector<Value> live_outs_;
};

/// The parts of a rank. ValueError for a node that no function of Kiln makes.
std::int64_t parts_of(const Node& shard) {
  const std::string& payload = shard.as<ir::HostCallAttrs>().payload;
  const auto decoded = ir::decode_shard(payload);
  if (!decoded) {
    Call::value_error("", text("a shard has the payload '", escaped_text(payload),
                               "', which is not the number of a part and their count"));
  }
  const std::size_t count = shard.operands.size() - 1;
  if (count == 0 || shard.types.size() != count) {
    Call::value_error("", text("a shard has ", count, " tensors and ", shard.types.size(),
                               " results, but must have as many results as tensors"));
  }
  for (const Value& operand : std::span(shard.operands).subspan(1)) {
    if (operand.rank() > 0) continue;
    Call::value_error("", text("a shard is of ", operand.type(), ", which has no rows"));
  }
  return decoded->count;
}

}  // namespace

std::vector<Value> data_dependent_calls(const Graph& graph) {
  std::vector<Value> calls;
  for (const ir::NodeRef& call : ir::symbol_sources(graph.roots())) calls.push_back({call, 0});
  if (!depends_on_parameter(calls)) return calls;
  for (const Value& call : calls) {
    if (depends_on_parameter({&call, 1})) reject_inside_body(call.node->origin);
  }
  return calls;
}

std::optional<GraphPartition> first_partition(const Graph& graph, bool is_first) {
  return Partitioner(graph, is_first).result();
}

bool has_shards(const Graph& graph) {
  const std::vector<const Node*> order = ir::topological_order(graph.roots());
  return std::any_of(order.begin(), order.end(),
                     [](const Node* node) { return is_of_shard(*node); });
}

void require_no_other_partitions(const Graph& graph) {
  for (const Node* node : ir::topological_order(graph.roots())) {
    if (data_dependent_function(*node) == nullptr || is_of_shard(*node)) continue;
    const ir::Origin& origin = node->origin;
    Call::not_implemented(
        "", text("a size of ", origin.function, ir::location_suffix(origin),
                 " is known only at run time, which a function with shards does not allow"));
  }
}

void require_valid_shards(const Graph& graph) {
  const Node* first = nullptr;
  const auto described = [&](const Node& shard) {
    return text(shard.origin.function, ir::location_suffix(shard.origin), " has ", parts_of(shard));
  };
  for (const Node* node : ir::topological_order(graph.roots())) {
    if (data_dependent_function(*node) != shard) continue;
    if (first == nullptr) first = node;
    if (parts_of(*node) == parts_of(*first)) continue;
    Call::not_implemented("", text(described(*first), " shards on each rank, but ",
                                   described(*node), ": a function has one number of shards"));
  }
}

std::vector<std::size_t> used_inputs(const Graph& graph, bool of_part) {
  std::unordered_set<const Node*> nodes;
  std::unordered_set<std::int64_t> symbols;  // that no input of `used` has
  for (const Node* node : ir::topological_order(graph.roots())) {
    nodes.insert(node);
    for_each_symbol_inside(*node, [&](const ir::Symbol& symbol) { symbols.insert(symbol.id); });
  }
  std::vector<std::size_t> used;
  const auto use = [&](std::size_t i) {
    used.push_back(i);
    for (const ir::Dim& dim : graph.inputs[i].dims()) {
      if (const auto symbol = dim.as_symbol()) symbols.erase(symbol->id);
    }
  };
  const std::size_t count = graph.inputs.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (nodes.count(graph.inputs[i].node.get()) != 0) use(i);
  }
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t i = of_part ? count - 1 - k : k;
    const ir::Dims& dims = graph.inputs[i].dims();
    const bool is_needed = std::any_of(dims.begin(), dims.end(), [&](const ir::Dim& dim) {
      const auto symbol = dim.as_symbol();
      return symbol && symbols.count(symbol->id) != 0;
    });
    if (is_needed) use(i);
  }
  std::sort(used.begin(), used.end());
  return used;
}

}  // namespace kiln::runtime
