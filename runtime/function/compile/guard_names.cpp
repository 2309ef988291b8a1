// A node derives the same guards in the same order under any names: messages are paired by index.
#include "runtime/function/compile/guard_names.h"

#include "core/ir/symbol_names.h"
#include "core/ir/traverse.h"
#include "core/ops/lambda_builder.h"
#include "core/ops/make.h"
#include "core/ops/rewrite_graph.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace kiln::runtime {
namespace {

using ir::Guard;
using ir::Node;
using ir::Value;

class GuardNames {
 public:
  /// Recurses only into lambdas: their nesting depth is that of the user's program.
  void add_lambdas(std::span<const Value> roots) {
    for (const Node* node : ir::topological_order(roots)) {
      ir::for_each_lambda(*node, [&](const ir::Lambda& lambda) {
        if (!seen_.insert(&lambda).second) return;
        for (const Node* inner : ir::topological_order(lambda.results)) add(*inner);
        add_lambdas(lambda.results);
      });
    }
  }

  bool empty() const { return named_.empty(); }

  std::vector<Value> rewritten(std::span<const Value> roots) const {
    return ir::rewrite_nodes(roots, [&](const ir::NodeRef& node) {
      bool has_lambda = false;
      ir::for_each_lambda(*node, [&](const ir::Lambda&) { has_lambda = true; });
      if (!has_lambda) return ir::results_of(node);
      return ir::results_of(ir::with_lambdas(*node, [&](const ir::Lambda& lambda) {
        auto next = std::make_shared<ir::Lambda>(
            ir::Lambda{lambda.parameters, rewritten(lambda.results), lambda.guards});
        for (Guard& guard : next->guards) rename(guard);
        return next;
      }));
    });
  }

 private:
  void add(const Node& node) {
    const std::vector<Guard> named = ir::guards_of(node);
    if (named.empty()) return;
    const ir::SymbolNames none({});
    const std::vector<Guard> plain = ir::guards_of(node);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      if (plain[i] == named[i]) continue;
      named_[plain[i].message].push_back({plain[i], named[i].message});
    }
  }

  void rename(Guard& guard) const {
    const auto found = named_.find(guard.message);
    if (found == named_.end()) return;
    for (const auto& [plain, message] : found->second) {
      if (!(plain == guard)) continue;
      guard.message = message;
      return;
    }
  }

  std::unordered_set<const ir::Lambda*> seen_;
  std::unordered_map<std::string, std::vector<std::pair<Guard, std::string>>> named_;  // by text
};

}  // namespace

ir::Graph with_named_guards(const ir::Graph& graph) {
  GuardNames names;
  const std::vector<Value> roots = graph.roots();
  names.add_lambdas(roots);
  if (names.empty()) return graph;
  return ir::with_roots(graph, names.rewritten(roots));
}

}  // namespace kiln::runtime
