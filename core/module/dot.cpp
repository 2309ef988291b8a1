// Writes nodes in topological order; each lambda is a cluster after the node that holds it.
#include "core/module/dot.h"

#include "core/ir/lambda.h"
#include "core/ir/traverse.h"
#include "core/ops/op.h"
#include "core/types/text.h"

#include <unordered_map>

namespace kiln::module {
namespace {

using ir::Node;
using ir::Value;

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

class DotPrinter {
 public:
  std::string print(const ir::Graph& graph, const std::string& name) {
    out_ << "digraph \"" << escaped(name) << "\" {\n  node [shape=box, fontname=monospace];\n";
    std::vector<Value> roots = graph.inputs;
    for (const Value& root : graph.roots()) roots.push_back(root);
    const Numbers numbers = level(roots);
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      out_ << "  out" << i << " [label=\"output " << i << "\", shape=ellipse];\n  n"
           << numbers.at(graph.outputs[i].node.get()) << " -> out" << i << ";\n";
    }
    for (std::size_t i = 0; i < graph.updates.size(); ++i) {
      const ir::Update& update = graph.updates[i];
      out_ << "  up" << i << " [label=\"update "
           << escaped(update.variable.node->as<ir::VariableAttrs>().name)
           << "\", shape=ellipse];\n  n" << numbers.at(update.value.node.get()) << " -> up" << i
           << ";\n";
    }
    out_ << "}\n";
    return out_.str();
  }

 private:
  using Numbers = std::unordered_map<const Node*, std::size_t>;

  Numbers level(const std::vector<Value>& roots) {
    Numbers numbers;
    for (const Node* node : ir::topological_order(roots)) {
      const std::size_t number = next_++;
      numbers.emplace(node, number);
      out_ << "  n" << number << " [label=\"" << label(*node) << "\"];\n";
      for (const Value& operand : node->operands) {
        out_ << "  n" << numbers.at(operand.node.get()) << " -> n" << number << ";\n";
      }
      ir::for_each_lambda(*node, [&](const ir::Lambda& lambda) {
        out_ << "  subgraph cluster_" << next_++ << " {\n  label=\"body of n" << number << "\";\n";
        level(lambda.results);
        out_ << "  }\n";
      });
    }
    return numbers;
  }

  static std::string label(const Node& node) {
    std::string out(def(node).name);
    if (const auto* variable = std::get_if<ir::VariableAttrs>(&node.attrs)) {
      out += " " + variable->name;
    }
    if (const auto* placeholder = std::get_if<ir::PlaceholderAttrs>(&node.attrs)) {
      out += " " + placeholder->name;
    }
    out = escaped(out);
    for (const ir::Type& type : node.types) out += "\\n" + text(type);
    const Where where = node.origin.where;
    if (where.known()) out += escaped(text("  ", node.origin.function)) + text(":", where.line);
    return out;
  }

  TextStream out_;
  std::size_t next_ = 0;
};

}  // namespace

std::string print_dot(const ir::Graph& graph, const std::string& name) {
  return DotPrinter().print(graph, name);
}

}  // namespace kiln::module
