// Every edit rebuilds the graph through its type rules, and verifies it.
#include "tools/kiln/reduce/program.h"

#include "core/ir/traverse.h"
#include "core/module/read.h"
#include "core/module/verify.h"
#include "core/ops/make.h"
#include "core/ops/op.h"
#include "tools/kiln/reduce/graph_rewriter.h"

#include <kiln/error.h>

#include <algorithm>
#include <set>

namespace kiln::tool {
namespace {

using ir::Dim;
using ir::Graph;
using ir::Node;
using ir::Value;

bool computes(const Node& node) {
  return ir::def(node).lowering != ir::Lowering::Argument && node.op != ir::Op::Constant;
}

bool contains(const std::vector<Value>& values, const Value& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

Value new_input(const ir::Type& type, std::string name) {
  return ir::make(ir::Op::Placeholder,
                  ir::PlaceholderAttrs{module::fresh_id(), std::move(name), type}, {});
}

/// The roots, and the variables that are updated.
std::vector<Value> all_roots(const Graph& graph) {
  std::vector<Value> roots = graph.roots();
  for (const ir::Update& update : graph.updates) roots.push_back(update.variable);
  return roots;
}

/// Rebuilds the program; `added` are inputs among the replacements. Values of inputs and of nodes
/// that are the same as before stay known.
std::optional<Program> rewritten(const Program& program, const Graph& edited,
                                 GraphRewriter rewriter, const std::vector<Value>& added = {}) {
  Program result{.name = program.name, .graph = {}, .values = {}};
  try {
    for (const Value& output : edited.outputs) result.graph.outputs.push_back(rewriter(output));
    for (const ir::Update& update : edited.updates) {
      result.graph.updates.push_back({rewriter(update.variable), rewriter(update.value)});
    }
  } catch (const Error&) {
    return std::nullopt;
  }
  std::unordered_map<const Node*, const Node*> before;  // by the new node
  for (const Node* node : ir::topological_order(all_roots(program.graph))) {
    if (const Node* now = rewriter.rebuilt(*node)) before.emplace(now, node);
  }
  std::vector<Value> used;
  for (const Node* node : ir::topological_order(all_roots(result.graph))) {
    if (node->op == ir::Op::Placeholder) used.push_back(node->result());
    const auto old = before.find(node);
    for (std::uint32_t i = 0; i < node->types.size(); ++i) {
      const Value now = node->result(i);
      const auto known = program.values.find(old == before.end() ? now : old->second->result(i));
      if (known != program.values.end()) result.values.emplace(now, known->second);
    }
  }
  for (const Value& input : edited.inputs) {
    const Node* now = rewriter.rebuilt(*input.node);
    if (now != nullptr && contains(used, now->result()))
      result.graph.inputs.push_back(now->result());
  }
  for (const Value& input : added) {
    if (contains(used, input)) result.graph.inputs.push_back(input);
  }
  if (result.graph.roots().empty() || module::verify(result.graph)) return std::nullopt;
  return result;
}

/// The distinct values of `nodes` that other nodes read.
std::vector<Value> read_outside(const std::vector<const Node*>& order, const NodeSet& nodes) {
  std::vector<Value> values;
  for (const Node* node : order) {
    if (nodes.count(node) != 0) continue;
    for (const Value& operand : node->operands) {
      if (nodes.count(operand.node.get()) != 0 && !contains(values, operand)) {
        values.push_back(operand);
      }
    }
  }
  return values;
}

/// The distinct values that `nodes` read of other nodes that compute.
std::vector<Value> read_by(const std::vector<const Node*>& order, const NodeSet& nodes) {
  std::vector<Value> values;
  for (const Node* node : order) {
    if (nodes.count(node) == 0) continue;
    for (const Value& operand : node->operands) {
      const bool is_outside = nodes.count(operand.node.get()) == 0 && computes(*operand.node);
      if (is_outside && !contains(values, operand)) values.push_back(operand);
    }
  }
  return values;
}

/// Drops the outputs and updates that `nodes` compute.
Graph without_results_of(const Graph& graph, const NodeSet& nodes) {
  Graph edited = graph;
  const auto is_removed = [&](const Value& value) { return nodes.count(value.node.get()) != 0; };
  std::erase_if(edited.outputs, is_removed);
  std::erase_if(edited.updates, [&](const ir::Update& update) { return is_removed(update.value); });
  return edited;
}

void append_nodes(const Node& node, bool in_bodies, std::set<const Node*>& seen,
                  std::vector<ir::NodeRef>& nodes) {
  if (in_bodies) {
    ir::for_each_lambda(node, [&](const ir::Lambda& lambda) {
      for (const Node* inner : ir::topological_order(lambda.results)) {
        append_nodes(*inner, in_bodies, seen, nodes);
      }
    });
  }
  if (computes(node) && seen.insert(&node).second) nodes.push_back(node.result(0).node);
}

}  // namespace

module::Module Program::to_module() const {
  return module::make_module(graph, ir::collect_guards(graph.roots()), name);
}

std::vector<Array> Program::arguments(const module::Module& module) const {
  std::vector<Array> arrays;
  for (const Value& input : module.graph.inputs) arrays.push_back(values.at(input));
  for (const module::StateEntry& entry : module.state) arrays.push_back(values.at(entry.variable));
  return arrays;
}

std::vector<ir::NodeRef> computing_nodes(const Graph& graph, bool in_bodies) {
  std::vector<ir::NodeRef> nodes;
  std::set<const Node*> seen;
  for (const Node* node : ir::topological_order(graph.roots())) {
    append_nodes(*node, in_bodies, seen, nodes);
  }
  return nodes;
}

ProgramSize size_of(const Program& program) {
  std::size_t elements = 0;
  for (const Array& array : program.arguments(program.to_module())) {
    elements += static_cast<std::size_t>(array.size());
  }
  return {computing_nodes(program.graph, true).size(), elements};
}

std::optional<Program> with_roots(const Program& program, const std::vector<std::size_t>& kept) {
  Graph edited = program.graph;
  edited.outputs.clear();
  edited.updates.clear();
  const std::size_t outputs = program.graph.outputs.size();
  for (const std::size_t i : kept) {
    if (i < outputs) {
      edited.outputs.push_back(program.graph.outputs[i]);
    } else {
      edited.updates.push_back(program.graph.updates[i - outputs]);
    }
  }
  return rewritten(program, edited, GraphRewriter(ir::Replacements{}));
}

std::optional<Program> without_variables(const Program& program) {
  const std::vector<module::StateEntry> state = program.to_module().state;
  if (state.empty()) return std::nullopt;
  Program widened = program;
  ir::Replacements replacements;
  std::vector<Value> added;
  for (const module::StateEntry& entry : state) {
    const Value& variable = entry.variable;
    added.push_back(new_input(variable.type(), variable.node->as<ir::VariableAttrs>().name));
    replacements.emplace(variable, added.back());
    widened.values.emplace(added.back(), program.values.at(variable));
  }
  Graph edited = program.graph;
  for (const ir::Update& update : edited.updates) edited.outputs.push_back(update.value);
  edited.updates.clear();
  return rewritten(widened, edited, GraphRewriter(std::move(replacements)), added);
}

std::optional<Program> with_static_sizes(const Program& program) {
  std::unordered_map<std::int64_t, std::int64_t> sizes;  // by symbol
  for (const Value& input : program.graph.inputs) {
    const auto& dims = program.values.at(input).dims();
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      const auto symbol = input.dims()[axis].as_symbol();
      if (symbol) sizes.emplace(symbol->id, dims[axis]);
    }
  }
  if (sizes.empty()) return std::nullopt;
  const auto known = [&](const ir::Symbol& symbol) -> std::optional<Dim> {
    const auto found = sizes.find(symbol.id);
    if (found == sizes.end()) return std::nullopt;
    return Dim(found->second);
  };
  return rewritten(program, program.graph, GraphRewriter(ir::Replacements{}, [&](const Dim& dim) {
                     return ir::substitute(dim, known);
                   }));
}

std::optional<Program> without_nodes(const Program& program, const NodeSet& nodes,
                                     bool at_operands) {
  const std::vector<const Node*> order = ir::topological_order(program.graph.roots());
  Graph edited = without_results_of(program.graph, nodes);
  if (at_operands) {
    const bool ends = edited.outputs.size() + edited.updates.size() <
                      program.graph.outputs.size() + program.graph.updates.size();
    if (!ends) return std::nullopt;
    for (const Value& value : read_by(order, nodes)) {
      if (!contains(edited.outputs, value)) edited.outputs.push_back(value);
    }
  }
  Program widened = program;
  ir::Replacements replacements;
  std::vector<Value> added;
  for (const Value& value : read_outside(order, nodes)) {
    const auto known = program.values.find(value);
    if (known == program.values.end()) return std::nullopt;
    const ir::OriginScope scope(value.node->origin, /*replace=*/true);
    added.push_back(new_input(value.type(), std::string(ir::def(*value.node).name)));
    replacements.emplace(value, added.back());
    widened.values.emplace(added.back(), known->second);
  }
  return rewritten(widened, edited, GraphRewriter(std::move(replacements)), added);
}

std::optional<Program> with_value(const Program& program, const Value& value, const Value& by) {
  std::optional<Program> result =
      rewritten(program, program.graph, GraphRewriter(ir::Replacements{{value, by}}));
  if (!result) return std::nullopt;
  // Users of the value compute something else.
  std::erase_if(result->values, [](const auto& known) { return computes(*known.first.node); });
  return result;
}

std::optional<Program> with_size(const Program& program, std::int64_t size, std::int64_t smaller) {
  const auto map_dim = [&](const Dim& dim) {
    return dim.is_static() && dim.value() == size ? Dim(smaller) : dim;
  };
  Program cut{.name = program.name, .graph = program.graph, .values = {}};
  for (const auto& [value, array] : program.values) {
    if (computes(*value.node)) continue;
    ir::Type type{array.dtype(), ir::Dims(array.dims().begin(), array.dims().end())};
    ir::Dims dims = type.dims;
    for (Dim& dim : dims) dim = map_dim(dim);
    std::vector<std::int64_t> sizes;
    for (const Dim& dim : dims) sizes.push_back(dim.value());
    const std::vector<std::byte> bytes =
        leading_elements(static_cast<const std::byte*>(array.data()), type, dims);
    cut.values.emplace(value, bytes.empty() ? Array::zeros(sizes, array.dtype())
                                            : Array::copy_of(bytes.data(), sizes, array.dtype()));
  }
  return rewritten(cut, program.graph, GraphRewriter(ir::Replacements{}, map_dim));
}

}  // namespace kiln::tool
