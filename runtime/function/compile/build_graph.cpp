// Checks the user's tensors: inputs are placeholders, updates fit, every placeholder is fed.
#include "runtime/function/compile/build_graph.h"

#include "core/ir/argument_text.h"
#include "core/ir/traverse.h"
#include "core/k/base/learning_phase_impl.h"
#include "core/k/base/sparse_impl.h"
#include "core/ops/lambda_builder.h"
#include "core/ops/new_collective.h"
#include "core/ops/rewrite_graph.h"
#include "runtime/function/compile/after_updates.h"
#include "runtime/function/compile/graph_partition.h"

#include <algorithm>
#include <unordered_map>

namespace kiln::runtime {
namespace {

using ir::Graph;
using ir::Value;

std::string label(const Value& value) {
  const std::string_view name = given_name(*value.node);
  return text(name.empty() ? "unnamed" : name, " ", value.type());
}

std::vector<Value> input_values(const std::vector<Tensor>& inputs) {
  std::vector<Value> values;
  const auto add = [&](std::size_t i, const Value& value) {
    if (std::find(values.begin(), values.end(), value) != values.end()) {
      Call::value_error("inputs", text("inputs[", i, "] is given twice (", label(value), ")"));
    }
    values.push_back(value);
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const SparseParts* sparse = sparse_of(inputs[i]);
    if (sparse && sparse->extent) {
      for (const Value& part : {sparse->indices, sparse->values, sparse->extent}) add(i, part);
      continue;
    }
    const Value value = sparse ? sparse->values : value_of(inputs, i, "inputs");
    if (sparse || value.node->op != ir::Op::Placeholder) {
      Call::type_error("inputs", text("inputs[", i, "] is not a placeholder (", inputs[i], ")"));
    }
    add(i, value);
  }
  return values;
}

ir::Update checked_update(const UpdateOp& update, std::size_t i) {
  const Value variable = value_of(update.variable, "updates");
  const Value value = value_of(update.value, "updates");
  if (variable.node->op != ir::Op::Variable) {
    Call::type_error("updates",
                     text("updates[", i, "] does not update a variable (", update.variable, ")"));
  }
  if (value.dtype() != variable.dtype()) {
    Call::type_error("updates", text("updates[", i, "] gives ", value.type(), " to the variable ",
                                     label(variable)));
  }
  const bool same_rank = value.rank() == variable.rank();
  bool fits = same_rank;
  for (int axis = 0; fits && axis < value.rank(); ++axis) {
    fits = equal(value.dims()[axis], variable.dims()[axis]) != ir::Ternary::No;
  }
  if (!fits) {
    Call::value_error("updates", text("updates[", i, "] gives ", value.type(), " to the variable ",
                                      label(variable)));
  }
  // Dims whose equality is unknown until the call become the variable's, with a guard.
  return {variable, ir::with_dims(value, variable.dims())};
}

std::vector<ir::Update> checked_updates(const std::vector<UpdateOp>& updates) {
  std::vector<ir::Update> checked;
  std::unordered_map<Value, Where, ir::ValueHash> seen;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    checked.push_back(checked_update(updates[i], i));
    const auto [first, is_new] = seen.emplace(checked.back().variable, updates[i].where);
    if (is_new) continue;
    const Where where = first->second;
    Call::value_error(
        "updates",
        text("updates[", i, "] updates a variable that has an update already (",
             label(checked.back().variable), ", first at ", where.file, ":", where.line, ")"));
  }
  return checked;
}

void require_fed(const Graph& graph) {
  for (const ir::Node* node : ir::topological_order(graph.roots())) {
    const Where where = node->origin.where;
    if (node->op == ir::Op::Parameter) {  // of a body that is complete, or still under construction
      Call::value_error(
          "outputs", text("a result depends on an argument of the step of ", node->origin.function,
                          ", outside of that loop (", node->result().type(), ", made at ",
                          where.file, ":", where.line, ")"));
    }
    if (node->op != ir::Op::Placeholder) continue;
    const Value placeholder = node->result();
    const auto& inputs = graph.inputs;
    if (std::find(inputs.begin(), inputs.end(), placeholder) != inputs.end()) continue;
    Call::value_error(
        "inputs", text("a result depends on a placeholder that is not fed (", label(placeholder),
                       ", made at ", where.file, ":", where.line, ")"));
  }
}

/// Replaces collectives of one process by their operands.
std::vector<Value> without_collectives_of_one(const std::vector<Value>& values) {
  if (!ir::reaches(values, ir::Op::Collective)) return values;
  return ir::rewrite_nodes(values, [](const ir::NodeRef& node) {
    const ir::NodeRef inner = ir::change_lambdas(node, without_collectives_of_one);
    const bool is_of_one =
        inner->op == ir::Op::Collective && ir::is_of_one_process(inner->as<ir::CollectiveAttrs>());
    return is_of_one ? std::vector{inner->operands[0]} : ir::results_of(inner);
  });
}

/// Replaces learning_phase() by 0 in a function without it as an input.
Graph with_default_phase(const Graph& graph) {
  const Value phase = learning_phase_placeholder();
  if (!phase || std::find(graph.inputs.begin(), graph.inputs.end(), phase) != graph.inputs.end()) {
    return graph;
  }
  const Value test = ir::scalar_constant(phase.dtype(), 0);
  return ir::replace_values(graph, ir::Replacements{{phase, test}});
}

}  // namespace

Graph build_graph(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                  const std::vector<UpdateOp>& updates, bool after_updates) {
  Graph graph;
  graph.inputs = input_values(inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const SparseParts* sparse = sparse_of(outputs[i]);
    graph.outputs.push_back(sparse ? dense_of(*sparse) : value_of(outputs, i, "outputs"));
  }
  graph.updates = checked_updates(updates);
  graph = ir::with_roots(graph, without_collectives_of_one(graph.roots()));
  if (after_updates) graph.outputs = outputs_after_updates(graph);
  graph.sizes = data_dependent_calls(graph);
  graph = with_default_phase(graph);
  require_fed(graph);
  return graph;
}

}  // namespace kiln::runtime
