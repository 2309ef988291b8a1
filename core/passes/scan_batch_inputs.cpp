// Batches all nodes that depend on inputs and invariants only (batching.h); the batched matmuls
// become further inputs of the loop.
#include "core/passes/scan_batch_inputs.h"

#include "core/ops/rewrite_graph.h"
#include "core/passes/batching.h"
#include "core/passes/scan_parts.h"

namespace kiln::passes {
namespace {

using ir::Node;
using ir::Value;

class InputBatcher {
 public:
  explicit InputBatcher(ScanParts& parts)
      : parts_(parts),
        on_inputs_(parts, parts.slices),
        on_loop_(parts, loop_parameters(parts)),
        is_pinned_(parts) {
    for (std::size_t i = 0; i < parts.slices.size(); ++i) {
      stacked_.emplace(parts.slices[i].node.get(), std::vector<Value>{parts.xs[i]});
    }
  }

  /// Returns whether a matmul moved.
  bool run() {
    const std::vector<Value> roots = parts_.results();
    ir::Replacements moved;
    for (const Node* node : parts_.order(roots)) {
      if (!is_batchable(*node) || !batch(*node)) continue;
      if (def(*node).lowering != ir::Lowering::Contraction) continue;
      moved.emplace(node->result(), parts_.add_input(stacked_.at(node)[0]));
    }
    if (moved.empty()) return false;
    parts_.set_results(parts_.replaced(roots, std::move(moved)));
    return true;
  }

 private:
  static std::vector<Value> loop_parameters(const ScanParts& parts) {
    std::vector<Value> parameters = parts.carry;
    parameters.push_back(parts.step);
    return parameters;
  }

  bool is_batchable(const Node& node) const {
    const Value value = node.result();
    return node.op != ir::Op::Parameter && on_inputs_(value) && !on_loop_(value) &&
           !is_pinned_(value);
  }

  bool batch(const Node& node) {
    std::vector<BatchOperand> operands;
    for (const Value& operand : node.operands) {
      if (!on_inputs_(operand)) {
        if (is_pinned_(operand)) return false;
        operands.push_back({operand, false});
        continue;
      }
      const auto found = stacked_.find(operand.node.get());
      if (found == stacked_.end()) return false;
      operands.push_back({found->second[operand.index], true});
    }
    auto results = batch_node(node, operands, parts_.length);
    if (!results) return false;
    stacked_.emplace(&node, std::move(*results));
    return true;
  }

  ScanParts& parts_;
  StepDependence on_inputs_, on_loop_;
  PinnedNodes is_pinned_;
  /// The results of each batched node of the body, over all steps; the inputs for slices.
  std::unordered_map<const Node*, std::vector<Value>> stacked_;
};

std::optional<std::vector<Value>> batch_inputs(const Node& scan) {
  ScanParts parts = unpack_scan(scan);
  if (!InputBatcher(parts).run()) return std::nullopt;
  return ir::results_of(pack_scan(parts));
}

}  // namespace

ir::Graph scan_batch_inputs(const ir::Graph& graph) { return change_scans(graph, batch_inputs); }

}  // namespace kiln::passes
