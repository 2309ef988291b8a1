// The cut lies below the host calls that decide sizes and depend on no other such call.
#include "runtime/function/compile/stage_cut.h"

#include "core/ir/symbol_source.h"
#include "core/ir/traverse.h"
#include "core/k/frame/tensor_impl.h"
#include "core/ops/lambda_builder.h"
#include "runtime/host/host_functions.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace kiln::runtime {
namespace {

using ir::Graph;
using ir::Node;
using ir::Op;
using ir::Value;

SizingFunction sizing_function(const Node& node) {
  if (node.op != Op::HostCall) return nullptr;
  return find_sizing_function(node.as<ir::HostCallAttrs>().function);
}

[[noreturn]] void refuse_inside(const ir::Origin& made) {
  Call::value_error("", text("a size of ", made.function,
                             " is data of a step or a branch, which "
                             "cannot decide sizes (made at ",
                             made.where.file, ":", made.where.line, ")"));
}

/// Bodies run at the backend, which cannot stop in the middle of one.
void require_none_inside(const Node& node) {
  ir::for_each_lambda(node, [&](const ir::Lambda& lambda) {
    for (const Node* inner : ir::topological_order(lambda.results)) {
      require_none_inside(*inner);
      if (sizing_function(*inner)) refuse_inside(inner->origin);
    }
  });
}

/// Whether some of the values are computed from an argument of a loop's or branch's body.
bool is_inside(std::span<const Value> values) {
  const std::vector<const Node*> order = ir::topological_order(values);
  return std::any_of(order.begin(), order.end(),
                     [](const Node* node) { return node->op == Op::Parameter; });
}

/// Whether a stage gives it to the next instead of having it computed again. Constants are made
/// anew; variables are those of one moment in all stages.
bool is_worth_handing_on(const Node& node) { return !node.operands.empty(); }

class Cut {
 public:
  explicit Cut(const Graph& graph) : graph_(graph) {
    roots_ = graph.roots();
    order_ = ir::topological_order(roots_);
    find_calls();
    if (!calls_.empty()) find_below();
  }

  std::optional<StageCut> result() {
    if (calls_.empty()) return std::nullopt;
    StageCut cut;
    cut.stage.inputs = graph_.inputs;
    cut.stage.outputs = handed_on();
    cut.handed_on = cut.stage.outputs.size();
    for (const Node* call : calls_) {
      cut.calls.push_back(call->result(0).node);
      cut.stage.outputs.insert(cut.stage.outputs.end(), call->operands.begin() + 1,
                               call->operands.end());
    }
    cut.rest = rest();
    return cut;
  }

 private:
  /// The graph over what the stage gives.
  Graph rest() {
    ir::Replacements replacements;
    std::vector<Value> inputs = graph_.inputs;
    const auto feed = [&](const Value& value, const char* name) {
      inputs.push_back(fresh_placeholder(value.type(), name));
      replacements.emplace(value, inputs.back());
    };
    for (const Value& value : handed_on()) feed(value, value.node->origin.function);
    for (const Node* call : calls_) {
      for (std::uint32_t i = 0; i < call->types.size(); ++i) {
        feed(call->result(i), call->origin.function);
      }
    }
    Graph rest = graph_;
    rest.inputs.clear();  // a placeholder stays one
    rest = ir::replace_values(rest, replacements);
    rest.inputs = std::move(inputs);
    std::erase_if(rest.sizes, [](const Value& size) { return !sizing_function(*size.node); });
    return rest;
  }

  /// The calls that depend on no other one.
  void find_calls() {
    find_undecided();
    std::unordered_set<const Node*> after;
    for (const Node* node : order_) {
      const bool depends =
          speaks_of_undecided(*node) ||
          std::any_of(node->operands.begin(), node->operands.end(),
                      [&](const Value& value) { return after.count(value.node.get()) != 0; });
      const bool decides = sizing_function(*node) != nullptr;
      if (decides && !depends) calls_.push_back(node);
      if (decides || depends) after.insert(node);
    }
  }

  /// The sizes that a call of this graph decides.
  void find_undecided() {
    for (const Node* node : order_) {
      require_none_inside(*node);
      if (!sizing_function(*node)) continue;
      for (const ir::Symbol& symbol : ir::own_symbols(*node)) {
        undecided_.emplace(symbol.id, node);
      }
    }
  }

  /// Whether a node, or a lambda of it, needs a size that another call of this graph decides.
  bool speaks_of_undecided(const Node& node) const {
    if (undecided_.empty()) return false;
    bool speaks = false;
    const auto look = [&](const ir::Symbol& symbol) {
      const auto found = undecided_.find(symbol.id);
      speaks = speaks || (found != undecided_.end() && found->second != &node);
    };
    ir::for_each_symbol(node, look);
    ir::for_each_lambda(node, [&](const ir::Lambda& lambda) {
      ir::for_each_symbol(lambda, look);
      for (const Node* inner : ir::topological_order(lambda.results)) {
        speaks = speaks || speaks_of_undecided(*inner);
      }
    });
    return speaks;
  }

  void find_below() {
    std::vector<Value> operands;
    for (const Node* call : calls_) {
      operands.insert(operands.end(), call->operands.begin(), call->operands.end());
    }
    for (const Node* node : ir::topological_order(operands)) below_.insert(node);
  }

  /// Values that are computed for the calls and needed for something else, too.
  const std::vector<Value>& handed_on() {
    if (is_known_) return handed_on_;
    is_known_ = true;
    std::unordered_set<Value, ir::ValueHash> seen;
    const auto use = [&](const Value& value) {
      if (below_.count(value.node.get()) == 0 || !is_worth_handing_on(*value.node)) return;
      if (seen.insert(value).second) handed_on_.push_back(value);
    };
    for (const Node* node : order_) {
      if (below_.count(node) != 0) continue;
      if (std::find(calls_.begin(), calls_.end(), node) != calls_.end()) continue;
      for (const Value& operand : node->operands) use(operand);
    }
    for (const Value& root : roots_) use(root);
    return handed_on_;
  }

  const Graph& graph_;
  std::vector<Value> roots_;
  std::vector<const Node*> order_;
  std::unordered_map<std::int64_t, const Node*> undecided_;
  std::vector<const Node*> calls_;
  std::unordered_set<const Node*> below_;
  bool is_known_ = false;
  std::vector<Value> handed_on_;
};

}  // namespace

std::vector<Value> deciding_calls(const Graph& graph) {
  std::vector<Value> calls;
  for (const ir::NodeRef& call : ir::symbol_sources(graph.roots())) calls.push_back({call, 0});
  if (!is_inside(calls)) return calls;
  for (const Value& call : calls) {
    if (is_inside({&call, 1})) refuse_inside(call.node->origin);
  }
  return calls;
}

std::optional<StageCut> cut_stage(const Graph& graph) { return Cut(graph).result(); }

}  // namespace kiln::runtime
