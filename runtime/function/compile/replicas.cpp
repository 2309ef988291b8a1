// A forward walk; loops are walked until their carries no longer change.
#include "runtime/function/compile/replicas.h"

#include "core/ir/location.h"
#include "core/ir/traverse.h"
#include "core/k/base/call.h"
#include "core/ops/op.h"
#include "core/types/text.h"
#include "runtime/variable/variable_state.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace kiln::runtime {
namespace {

using ir::CollectiveKind;
using ir::Node;
using ir::Op;
using ir::Value;

/// For a value, the node on which ranks begin to differ; null if they have the same value.
using Cause = const Node*;
using Causes = std::vector<Cause>;

bool is_static(const ir::Type& type) {
  return std::all_of(type.dims.begin(), type.dims.end(),
                     [](const ir::Dim& dim) { return dim.is_static(); });
}

/// Whether a collective gives all ranks of the process's world one result.
bool makes_equal(const ir::CollectiveAttrs& attrs) {
  const bool is_one =
      attrs.kind != CollectiveKind::ReduceScatter && attrs.kind != CollectiveKind::Reduce;
  return is_one && attrs.group == 0;
}

Cause first_of(const Causes& causes) {
  const auto found =
      std::find_if(causes.begin(), causes.end(), [](Cause c) { return c != nullptr; });
  return found == causes.end() ? nullptr : *found;
}

class Walk {
 public:
  /// `parameters`: of the lambda that is walked.
  explicit Walk(Causes parameters = {}) : parameters_(std::move(parameters)) {}

  Causes run(std::span<const Value> roots) {
    for (const Node* node : ir::topological_order(roots)) causes_.emplace(node, causes_of(*node));
    Causes result;
    for (const Value& root : roots) result.push_back(cause(root));
    return result;
  }

 private:
  Cause cause(const Value& value) const { return causes_.at(value.node.get()).at(value.index); }

  Causes of_operands(const Node& node) const {
    Causes causes;
    for (const Value& operand : node.operands) causes.push_back(cause(operand));
    return causes;
  }

  Causes causes_of(const Node& node) const {
    if (node.op == Op::Scan || node.op == Op::While) return of_loop(node);
    if (node.op == Op::Cond) return of_cond(node);
    return Causes(node.types.size(), cause_of(node));
  }

  Cause cause_of(const Node& node) const {
    switch (node.op) {
      case Op::Placeholder: return is_learning_phase(node) ? nullptr : &node;
      case Op::Variable: return storage_of(node.result()).is_per_rank() ? &node : nullptr;
      case Op::Parameter:
        return parameters_.at(static_cast<std::size_t>(node.as<ir::ParameterAttrs>().index));
      case Op::RandomUniform: return &node;
      case Op::DimSize: return node.as<ir::DimAttrs>().dim.is_static() ? nullptr : &node;
      case Op::Iota:
      case Op::Broadcast:
        if (!is_static(node.types[0])) return &node;  // sums over it count the elements
        break;
      case Op::Collective:
        if (makes_equal(node.as<ir::CollectiveAttrs>())) return nullptr;
        return &node;
      default: break;
    }
    return first_of(of_operands(node));
  }

  Causes of_loop(const Node& node) const {
    const auto& attrs = node.as<ir::ScanAttrs>();
    const auto consts = static_cast<std::size_t>(attrs.consts);
    const auto carries = static_cast<std::size_t>(attrs.carry);
    Causes parameters = of_operands(node);
    parameters.insert(parameters.begin(), nullptr);  // the step number
    Causes results;
    while (true) {
      results = Walk(parameters).run(attrs.body->results);
      bool is_changed = false;
      for (std::size_t i = 0; i < carries; ++i) {
        Cause& carry = parameters[1 + consts + i];
        if (carry != nullptr || results[i] == nullptr) continue;
        carry = results[i];
        is_changed = true;
      }
      if (!is_changed) break;
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (i < carries && results[i] == nullptr) results[i] = parameters[1 + consts + i];
      if (results[i] == nullptr && !attrs.length.is_static()) results[i] = &node;
    }
    if (node.op == Op::While) {
      const Cause running = results[0];  // decides how many steps a rank makes
      for (Cause& result : results) result = result != nullptr ? result : running;
    }
    return results;
  }

  Causes of_cond(const Node& node) const {
    const auto& attrs = node.as<ir::CondAttrs>();
    Causes parameters = of_operands(node);
    const Cause predicate = parameters.front();
    parameters.erase(parameters.begin());
    Causes results = Walk(parameters).run(attrs.then_branch->results);
    const Causes other = Walk(parameters).run(attrs.else_branch->results);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i] == nullptr) results[i] = other[i];
      if (results[i] == nullptr) results[i] = predicate;
    }
    return results;
  }

  const Causes parameters_;
  std::unordered_map<const Node*, Causes> causes_;
};

/// "'x' (train.cpp:12)", "a draw of dropout (train.cpp:20)".
std::string described(const Node& node) {
  if (node.op == Op::Placeholder && !node.as<ir::PlaceholderAttrs>().name.empty()) {
    return text("'", node.as<ir::PlaceholderAttrs>().name, "'", ir::location_suffix(node.origin));
  }
  if (node.op == Op::Placeholder) {
    return text("an unnamed placeholder", ir::location_suffix(node.origin));
  }
  if (node.op == Op::Variable) {
    return text("the per_rank variable '", node.as<ir::VariableAttrs>().name, "'",
                ir::location_suffix(node.origin));
  }
  const char* what = node.op == Op::RandomUniform ? "a draw of "
                     : node.op == Op::Collective  ? "the rank's own part of "
                                                  : "a size in ";
  return text(what, node.origin.function, ir::location_suffix(node.origin));
}

/// Whether the user made the variable, and not an optimiser, a metric or a layer, whose variables
/// cannot be per_rank.
bool is_of_user(const VariableStorage& storage) {
  return std::string_view(storage.origin.function) == "variable";
}

}  // namespace

bool is_learning_phase(const Node& placeholder) {
  return placeholder.as<ir::PlaceholderAttrs>().name == "learning_phase";
}

void require_equal_updates(const ir::Graph& graph) {
  std::vector<Value> values;
  for (const ir::Update& update : graph.updates) values.push_back(update.value);
  const Causes causes = Walk().run(values);
  for (std::size_t i = 0; i < causes.size(); ++i) {
    const VariableStorage& storage = storage_of(graph.updates[i].variable);
    if (causes[i] == nullptr || storage.is_per_rank()) continue;
    Call::value_error(
        "updates",
        text("the new value of '", storage.name, "'", ir::location_suffix(values[i].node->origin),
             " differs between ranks, because it depends on ", described(*causes[i]),
             " without a collective of all ranks; use K::distributed::gradients, ",
             is_of_user(storage) ? "or make the variable per_rank" : "or all_reduce"));
  }
}

}  // namespace kiln::runtime
