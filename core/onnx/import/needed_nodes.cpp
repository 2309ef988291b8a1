// Nodes are found from the outputs backwards, through graphs inside nodes.
#include "core/onnx/import/needed_nodes.h"

#include "core/k/base/call.h"
#include "core/onnx/file/read.h"
#include "core/onnx/import/functions.h"
#include "core/onnx/import/table.h"
#include "core/types/escaped_text.h"
#include "core/types/text.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace kiln::onnx {
namespace {

/// Calls visit(name) for each name that the node, or a graph inside it, uses.
template <class Visit>
void for_each_use(const NodeProto& node, const Visit& visit) {
  for (const std::string_view name : node.input) visit(name);
  for (const AttributeProto& attribute : node.attribute) {
    if (!attribute.g) continue;
    for (const NodeProto& inner : attribute.g->node) for_each_use(inner, visit);
    for (const ValueInfo& output : attribute.g->output) visit(output.name);
  }
}

/// The first node with an operator that the importer lacks, and how many there are.
struct Missing {
  std::string op, first, reason;
  std::size_t count = 0;
};

class OperatorCheck {
 public:
  OperatorCheck(const ModelProto& model, const ImportOptions& options)
      : table_(model), options_(options) {}

  void check(const std::vector<NodeProto>& nodes, std::int64_t opset) {
    visit(nodes, opset);
    // Not by recursion: a file can have more functions, each called by another, than a stack holds.
    while (!calls_.empty()) {
      const FunctionCall call = calls_.back();
      calls_.pop_back();
      visit(call.function->node, call.opset);
    }
  }

  const std::vector<Missing>& missing() const { return missing_; }

 private:
  struct FunctionCall {
    const FunctionProto* function;
    std::int64_t opset;
  };

  void visit(const std::vector<NodeProto>& nodes, std::int64_t opset) {
    for (const NodeProto& node : nodes) {
      visit_node(node, opset);
      for (const AttributeProto& attribute : node.attribute) {
        if (attribute.g) visit(needed_nodes(*attribute.g, outputs_of(*attribute.g)), opset);
      }
    }
  }

  void visit_node(const NodeProto& node, std::int64_t opset) {
    if (const FunctionProto* function = table_.find(node)) {
      if (!functions_.insert(function).second) return;
      const std::int64_t own = opset_of(function->opset_import, "");
      require_opset(own, text("function '", escaped_text(function->name), "' of ", options_.model),
                    options_);
      return calls_.push_back({function, own == 0 ? opset : own});
    }
    const std::string reason = reason_of(node, opset);
    if (reason.empty()) return;
    const std::string op =
        node.domain.empty() ? std::string(node.op_type) : text(node.domain, ".", node.op_type);
    const auto found = std::find_if(missing_.begin(), missing_.end(),
                                    [&](const Missing& one) { return one.op == op; });
    if (found != missing_.end()) return void(++found->count);
    const std::string_view name =
        node.name.empty() && !node.output.empty() ? node.output[0] : node.name;
    missing_.push_back({op, escaped_text(name), reason, 1});
  }

  static std::string reason_of(const NodeProto& node, std::int64_t opset) {
    if (!node.domain.empty()) return text("the domain '", node.domain, "' is not known");
    const OperatorRow* row = operator_row(node.op_type);
    if (!row) return "ONNX has no such operator";
    if (!row->import) return std::string(row->reason);
    if (opset == 0) return "the model has no version of ONNX's own operators";
    if (opset < row->since.first()) {
      return text("it is imported from opset ", row->since.first(), ", this is ", opset);
    }
    return "";
  }

  const FunctionTable table_;
  const ImportOptions& options_;
  std::vector<Missing> missing_;
  std::set<const FunctionProto*> functions_;
  std::vector<FunctionCall> calls_;  // of functions whose nodes are still to be visited
};

}  // namespace

std::vector<std::string_view> outputs_of(const GraphProto& graph) {
  std::vector<std::string_view> outputs;
  for (const ValueInfo& output : graph.output) outputs.push_back(output.name);
  return outputs;
}

std::vector<NodeProto> needed_nodes(const GraphProto& graph,
                                    const std::vector<std::string_view>& outputs) {
  std::unordered_map<std::string_view, std::size_t> producers;
  for (std::size_t i = 0; i < graph.node.size(); ++i) {
    for (const std::string_view name : graph.node[i].output) {
      if (!name.empty() && !producers.emplace(name, i).second) {
        throw MalformedModel(text("two nodes make '", name, "'"));
      }
    }
  }
  std::vector<bool> is_needed(graph.node.size(), false);
  std::vector<std::string_view> work = outputs;
  while (!work.empty()) {
    const auto found = producers.find(work.back());
    work.pop_back();
    if (found == producers.end() || is_needed[found->second]) continue;
    is_needed[found->second] = true;
    for_each_use(graph.node[found->second], [&](std::string_view name) { work.push_back(name); });
  }
  std::vector<NodeProto> nodes;
  for (std::size_t i = 0; i < graph.node.size(); ++i) {
    if (is_needed[i]) nodes.push_back(graph.node[i]);
  }
  return nodes;
}

std::unordered_set<std::string_view> used_names(const std::vector<NodeProto>& nodes) {
  std::unordered_set<std::string_view> names;
  for (const NodeProto& node : nodes) {
    for_each_use(node, [&](std::string_view name) { names.insert(name); });
  }
  return names;
}

void require_operators(const ModelProto& model, const std::vector<NodeProto>& nodes,
                       const ImportOptions& options) {
  OperatorCheck check(model, options);
  check.check(nodes, opset_of(model.opset_import, ""));
  if (check.missing().empty()) return;
  std::string message = text(options.model, " needs operators that are not imported:");
  for (const Missing& one : check.missing()) {
    message += text("\n  ", escaped_text(one.op), ": ", one.count,
                    one.count == 1 ? " node" : " nodes", ", first '", one.first, "': ", one.reason);
  }
  Call::value_error("path", message);
}

void require_opset(std::int64_t opset, const std::string& subject, const ImportOptions& options) {
  if (opset == 0) return;  // of other domains alone; require_operators() rejects the others
  if (opset < kOldestOpset) {
    Call::value_error("path", text(subject, " is written in opset ", opset,
                                   "; the oldest one that is imported is ", kOldestOpset,
                                   ": onnx.version_converter converts it"));
  }
  if (opset > kNewestOpset && !options.allow_newer_opset) {
    Call::value_error("path",
                      text(subject, " is written in opset ", opset, ", newer than ", kNewestOpset,
                           "; with allow_newer_opset it is imported as if it were that"));
  }
}

}  // namespace kiln::onnx
