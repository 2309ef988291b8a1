// The graph is cut below the host calls whose results have sizes of their own, again and again
// until there is none.
#include "runtime/staged_program.h"

#include "core/ir/symbol_source.h"
#include "core/ir/traverse.h"
#include "core/kiln/tensor_impl.h"
#include "core/ops/lambda_builder.h"
#include "runtime/call.h"

#include <algorithm>
#include <set>
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
  Call::value_error("", text("a size of ", made.function, " is data of a step or a branch, which "
                             "cannot decide sizes (made at ", made.where.file, ":",
                             made.where.line, ")"));
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

/// Whether a stage gives it to the next instead of having it computed again. Values of nodes
/// without operands are made anew, but for variables, which might change in between.
bool is_worth_handing_on(const Node& node) {
  return !node.operands.empty() || node.op == Op::Variable;
}

class Cut {
 public:
  explicit Cut(const Graph& graph) : graph_(graph) {
    roots_ = graph.roots();
    order_ = ir::topological_order(roots_);
    find_calls();
    if (!calls_.empty()) find_below();
  }

  bool is_needed() const { return !calls_.empty(); }

  /// What the stage computes: what is handed on, then the operands of each call.
  Graph stage_graph() {
    Graph stage;
    stage.inputs = graph_.inputs;
    stage.outputs = handed_on();
    for (const Node* call : calls_) {
      stage.outputs.insert(stage.outputs.end(), call->operands.begin() + 1, call->operands.end());
    }
    return stage;
  }

  ProgramStage stage(const InstancePtr& instance, const std::string& name,
                     std::unique_ptr<DumpFolder> dumps) {
    ProgramStage stage;
    stage.program = compile_program(stage_graph(), name, instance, std::move(dumps));
    stage.handed_on = handed_on().size();
    for (const Node* call : calls_) {
      const auto& attrs = call->as<ir::HostCallAttrs>();
      stage.steps.push_back(
          {find_sizing_function(attrs.function), attrs.payload, call->operands.size() - 1,
           call->origin});
    }
    return stage;
  }

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
    for (std::size_t i = 0; i < rest.updates.size(); ++i) {
      rest.updates[i].variable = graph_.updates[i].variable;
    }
    return rest;
  }

 private:
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
    ir::for_each_symbol(node, [&](const ir::Symbol& symbol) {
      const auto found = undecided_.find(symbol.id);
      speaks = speaks || (found != undecided_.end() && found->second != &node);
    });
    ir::for_each_lambda(node, [&](const ir::Lambda& lambda) {
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

std::vector<ArrayView> with_arrays(std::span<const ArrayView> inputs,
                                   const std::vector<Array>& arrays) {
  std::vector<ArrayView> views(inputs.begin(), inputs.end());
  for (const Array& array : arrays) views.push_back(array.as_view());
  return views;
}

/// Runs the stages before the last; the arrays are what the last program takes after `inputs`.
std::vector<Array> run_stages(const StagedProgram& staged, std::span<const ArrayView> inputs,
                              const Moment& moment) {
  std::vector<Array> all;
  for (const ProgramStage& stage : staged.stages) {
    std::vector<Array> results = call(*stage.program, with_arrays(inputs, all), &moment);
    const auto operands = results.begin() + static_cast<std::ptrdiff_t>(stage.handed_on);
    all.insert(all.end(), results.begin(), operands);
    std::span<const Array> rest(operands, results.end());
    for (const HostStep& step : stage.steps) {
      const ir::OriginScope scope(step.origin, /*replace=*/true);
      const std::vector<Array> found = step.function(step.payload, rest.first(step.operands));
      all.insert(all.end(), found.begin(), found.end());
      rest = rest.subspan(step.operands);
    }
  }
  return all;
}

/// Each once.
std::vector<VariableStorage*> variables_of(const StagedProgram& staged) {
  std::set<VariableStorage*> all;
  const auto add = [&](const Program& program) {
    all.insert(program.state_storages.begin(), program.state_storages.end());
  };
  for (const ProgramStage& stage : staged.stages) add(*stage.program);
  add(*staged.last);
  return {all.begin(), all.end()};
}

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

std::string stage_directory(const std::string& directory, std::size_t i) {
  return directory + "/stage-" + std::to_string(i + 1);
}

StagedProgram compile_staged(const Graph& graph, const std::string& name,
                             const InstancePtr& instance, const std::optional<WantedDumps>& dumps) {
  const auto folder = [&](const std::string& directory) {
    return dumps ? std::make_unique<DumpFolder>(directory, dumps->stages, dumps->request) : nullptr;
  };
  const std::string directory = dumps ? dumps->directory : "";
  StagedProgram staged;
  Graph rest = graph;
  for (;;) {
    Cut cut(rest);
    if (!cut.is_needed()) break;
    const std::size_t i = staged.stages.size();
    staged.stages.push_back(cut.stage(instance, name, folder(stage_directory(directory, i))));
    rest = cut.rest();
  }
  staged.last = compile_program(rest, name, instance, folder(directory));
  if (!staged.stages.empty()) staged.variables = variables_of(staged);
  return staged;
}

void call_into(const StagedProgram& staged, std::span<const ArrayView> inputs,
               std::span<const MutableArrayView> outputs) {
  if (staged.stages.empty()) return call_into(*staged.last, inputs, outputs);
  const Moment moment(staged.variables, staged.last->writers);
  const std::vector<Array> found = run_stages(staged, inputs, moment);
  call_into(*staged.last, with_arrays(inputs, found), outputs, &moment);
}

std::vector<Array> call(const StagedProgram& staged, std::span<const ArrayView> inputs) {
  if (staged.stages.empty()) return call(*staged.last, inputs);
  const Moment moment(staged.variables, staged.last->writers);
  const std::vector<Array> found = run_stages(staged, inputs, moment);
  return call(*staged.last, with_arrays(inputs, found), &moment);
}

}  // namespace kiln::runtime
