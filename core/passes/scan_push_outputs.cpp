// Batches outputs after the loop, with as many of the nodes before them as batching.h can; the loop
// stacks the operands of these. The remaining loop is packed last, when its outputs are known.
#include "core/passes/scan_push_outputs.h"

#include "core/ir/traverse.h"
#include "core/ops/build.h"
#include "core/ops/halves.h"
#include "core/passes/batching.h"
#include "core/passes/scan_parts.h"
#include "core/passes/stacking_budget.h"

#include <algorithm>
#include <unordered_set>

namespace kiln::passes {
namespace {

using ir::Ints;
using ir::Node;
using ir::Value;

/// One scan: the values that move after it, and the rest of it.
class OutputPusher {
 public:
  explicit OutputPusher(const Node& scan)
      : scan_(scan),
        parts_(unpack_scan(scan)),
        budget_(parts_),
        changes_(parts_, parts_.parameters()),
        is_pinned_(parts_) {
    for (const Node* node : parts_.order(parts_.next)) feeds_carry_.insert(node);
    for (std::size_t i = 0; i < parts_.slices.size(); ++i) {
      stacked_.emplace(parts_.slices[i], parts_.xs[i]);
    }
  }

  std::optional<std::vector<Value>> run() {
    find_sums();
    find_outputs();
    if (pushed_carries_.empty() && pushed_ys_.empty()) return std::nullopt;
    return final_results(pack_scan(remaining()));
  }

 private:
  /// A value that is computed after the loop, from stacked values. Values that the loop must stack
  /// are placeholder parameters until the new scan exists.
  struct Pushed {
    std::size_t position;  // of the carry or output
    Value value;
  };

  /// Whether the value is computed in the loop: it depends on the step or is pinned.
  bool changes(const Value& value) const { return changes_(value) || is_pinned_(value); }

  /// f if the carry c becomes c + f or f + c and has no other use.
  std::optional<Value> summand(std::size_t i, const ir::UseCounts& uses) const {
    const Value& next = parts_.next[i];
    const Value& carry = parts_.carry[i];
    if (next.node->op != ir::Op::Add) return std::nullopt;
    const auto& operands = next.node->operands;
    const bool first = operands[0] == carry, second = operands[1] == carry;
    if (first == second) return std::nullopt;
    if (uses.at(carry) != 1 || uses.at(next) != 1) return std::nullopt;
    return operands[first ? 1 : 0];
  }

  /// The node of f, or of the float16 or bfloat16 that f widens to float32.
  static const Node& before_widening(const Value& f) {
    const Node& node = *f.node;
    const bool widens = node.op == ir::Op::Cast && f.dtype() == DType::Float32 &&
                        ir::is_half(node.operands[0].dtype());
    return widens ? *node.operands[0].node : node;
  }

  void find_sums() {
    const std::vector<Value> roots = parts_.results();
    const ir::UseCounts uses = ir::count_uses(parts_.order(roots), roots);
    // Matmuls first: the sums often reduce their operands, which are then stacked already.
    for (const ir::Op op : {ir::Op::Dot, ir::Op::Sum}) {
      for (std::size_t i = 0; i < parts_.next.size(); ++i) {
        const auto f = summand(i, uses);
        if (!f || !changes(*f) || is_pinned_(*f)) continue;
        const Node& node = before_widening(*f);
        if (node.op == op) push_sum(i, node);
      }
    }
  }

  /// Pushes the carry that accumulates `node`, if stacking its operands is within the budget. The
  /// loop rounds a float16 or bfloat16 at each step; the total is in float32 and rounded once.
  void push_sum(std::size_t carry, const Node& node) {
    double bytes = 0;
    for (const Value& operand : node.operands) {
      if (!changes(operand)) continue;
      if (stacked_.count(operand) == 0) bytes += nominal_bytes(operand.type());
      if (ir::is_half(operand.dtype())) bytes += nominal_bytes({DType::Float32, operand.dims()});
    }
    if (!budget_.take(bytes, nominal_bytes(node.types[0]))) return;
    const ir::OriginScope scope(node.origin, /*replace=*/true);
    const bool is_dot = node.op == ir::Op::Dot;
    const Value total = is_dot ? total_of_dot(node) : total_of_sum(node);
    const Value& initial = parts_.initial[carry];
    const Value sum = ir::widened(initial) + total;
    pushed_carries_.push_back({carry, ir::cast(sum, initial.dtype())});
  }

  Value total_of_dot(const Node& node) {
    const auto& attrs = node.as<ir::DotAttrs>();
    Ints labels[2] = {attrs.lhs, attrs.rhs};
    Value operands[2];
    const std::int64_t time = 1 + std::max(largest(attrs.lhs), largest(attrs.rhs));
    bool both = true;
    for (std::size_t i = 0; i < 2; ++i) both = both && changes(node.operands[i]);
    for (std::size_t i = 0; i < 2; ++i) {
      const Value& operand = node.operands[i];
      operands[i] = ir::widened(changes(operand) ? stacked(operand) : operand);
      if (!changes(operand)) continue;
      if (both) {
        labels[i].insert(labels[i].begin(), time);
      } else {  // sum_t (a_t w) = (sum_t a_t) w
        operands[i] = ir::reduce_sum(operands[i], {0});
      }
    }
    return ir::dot(operands[0], labels[0], operands[1], labels[1], attrs.result);
  }

  static std::int64_t largest(const Ints& labels) {
    return labels.empty() ? -1 : *std::max_element(labels.begin(), labels.end());
  }

  Value total_of_sum(const Node& node) {
    Ints axes{0};
    for (std::int64_t axis : node.as<ir::AxesAttrs>().axes) axes.push_back(axis + 1);
    return ir::reduce_sum(ir::widened(stacked(node.operands[0])), axes);
  }

  /// Pushes outputs that no carry depends on and that depend on a matmul.
  void find_outputs() {
    const auto depend_on_dot = nodes_after_dots();
    for (std::size_t i = 0; i < parts_.ys.size(); ++i) {
      const Value& y = parts_.ys[i];
      if (!changes(y) || !is_output_only(y) || depend_on_dot.count(y.node.get()) == 0) continue;
      const std::size_t stacked = stacked_order_.size(), visited = visited_order_.size();
      const Value pushed = after_loop(y);
      if (budget_.take(bytes_since(stacked, visited), weights_since(visited))) {
        pushed_ys_.push_back({i, pushed});
      } else {
        undo_since(stacked, visited);
      }
    }
  }

  /// Bytes per step that after_loop() added since: stacked by the loop, or computed after it and
  /// not fused into users.
  double bytes_since(std::size_t stacked, std::size_t visited) const {
    double bytes = 0;
    for (std::size_t i = stacked; i < stacked_order_.size(); ++i) {
      bytes += nominal_bytes(stacked_order_[i].type());
    }
    for (std::size_t i = visited; i < visited_order_.size(); ++i) {
      const Node& node = *visited_order_[i];
      const ir::Lowering lowering = def(node).lowering;
      const bool is_fused = lowering == ir::Lowering::Elementwise ||
                            lowering == ir::Lowering::Movement || lowering == ir::Lowering::Reduce;
      if (batched_.count(&node) == 0 || is_fused) continue;
      for (const ir::Type& type : node.types) bytes += nominal_bytes(type);
    }
    return bytes;
  }

  /// Bytes of the invariant operands of the matmuls that after_loop() added since.
  double weights_since(std::size_t visited) const {
    double bytes = 0;
    for (std::size_t i = visited; i < visited_order_.size(); ++i) {
      const Node& node = *visited_order_[i];
      if (batched_.count(&node) == 0 || node.op != ir::Op::Dot) continue;
      for (const Value& operand : node.operands) {
        if (!changes(operand)) bytes += nominal_bytes(operand.type());
      }
    }
    return bytes;
  }

  /// Undoes after_loop().
  void undo_since(std::size_t stacked, std::size_t visited) {
    for (; stacked_order_.size() > stacked; stacked_order_.pop_back()) {
      stacked_.erase(stacked_order_.back());
    }
    for (; visited_order_.size() > visited; visited_order_.pop_back()) {
      visited_.erase(visited_order_.back());
      batched_.erase(visited_order_.back());
    }
  }

  bool is_output_only(const Value& value) const {
    return feeds_carry_.count(value.node.get()) == 0 && value.node->op != ir::Op::Parameter;
  }

  /// Matmuls that can be pushed, and nodes that depend on them.
  std::unordered_set<const Node*> nodes_after_dots() const {
    std::unordered_set<const Node*> found;
    for (const Node* node : parts_.order(parts_.ys)) {
      const Value value = node->result();
      bool depends = def(*node).lowering == ir::Lowering::Contraction && changes(value) &&
                     is_output_only(value);
      for (const Value& operand : node->operands) {
        depends = depends || found.count(operand.node.get()) != 0;
      }
      if (depends) found.insert(node);
    }
    return found;
  }

  /// The batched value. Batches every node under `root` that only outputs use and that batching.h
  /// supports; the loop stacks their other operands.
  Value after_loop(const Value& root) {
    const auto was_visited = [&](const Value& value) {
      return visited_.count(value.node.get()) != 0;
    };
    for (const Node* node : parts_.order({&root, 1}, was_visited)) {
      if (visited_.insert(node).second) visited_order_.push_back(node);
      const Value value = node->result();
      if (!changes(value) || !is_output_only(value) || is_pinned_(value)) continue;
      std::vector<BatchOperand> operands;
      for (const Value& operand : node->operands) {
        if (!changes(operand)) {
          operands.push_back({operand, false});
          continue;
        }
        const auto found = batched_.find(operand.node.get());
        operands.push_back(
            {found == batched_.end() ? stacked(operand) : found->second[operand.index], true});
      }
      auto results = batch_node(*node, operands, parts_.length);
      if (results) batched_.emplace(node, std::move(*results));
    }
    const auto found = batched_.find(root.node.get());
    return found == batched_.end() ? stacked(root) : found->second[root.index];
  }

  /// The stacked value: an input of the loop, or an output that the loop gets.
  Value stacked(const Value& value) {
    const auto [entry, is_new] = stacked_.emplace(value, Value{});
    if (is_new) {
      entry->second = fresh_parameter(stacked_type(value.type(), parts_.length));
      stacked_order_.push_back(value);
    }
    return entry->second;
  }

  /// Which of `count` carries or outputs are not pushed.
  static std::vector<bool> stay(const std::vector<Pushed>& pushed, std::size_t count) {
    std::vector<bool> flags(count, true);
    for (const Pushed& p : pushed) flags[p.position] = false;
    return flags;
  }

  ScanParts remaining() const {
    ScanParts rest = parts_;
    rest.initial.clear();
    rest.carry.clear();
    rest.next.clear();
    rest.ys.clear();
    const auto carries_stay = stay(pushed_carries_, parts_.next.size());
    const auto ys_stay = stay(pushed_ys_, parts_.ys.size());
    for (std::size_t i = 0; i < parts_.next.size(); ++i) {
      if (!carries_stay[i]) continue;
      rest.initial.push_back(parts_.initial[i]);
      rest.carry.push_back(parts_.carry[i]);
      rest.next.push_back(parts_.next[i]);
    }
    for (std::size_t i = 0; i < parts_.ys.size(); ++i) {
      if (ys_stay[i]) rest.ys.push_back(parts_.ys[i]);
    }
    rest.ys.insert(rest.ys.end(), stacked_order_.begin(), stacked_order_.end());
    return rest;
  }

  /// All results of the old scan, from those of the new one.
  std::vector<Value> final_results(const ir::NodeRef& scan) const {
    std::vector<Value> results(scan_.types.size());
    std::uint32_t next = 0;
    const std::size_t carries = parts_.next.size();
    const auto carries_stay = stay(pushed_carries_, carries);
    const auto ys_stay = stay(pushed_ys_, parts_.ys.size());
    for (std::size_t i = 0; i < carries; ++i) {
      if (carries_stay[i]) results[i] = {scan, next++};
    }
    for (std::size_t i = 0; i < parts_.ys.size(); ++i) {
      if (ys_stay[i]) results[carries + i] = {scan, next++};
    }
    ir::Replacements map;
    for (const Value& value : stacked_order_) map.emplace(stacked_.at(value), Value{scan, next++});
    std::vector<Value> pushed;
    for (const Pushed& p : pushed_carries_) pushed.push_back(p.value);
    for (const Pushed& p : pushed_ys_) pushed.push_back(p.value);
    // The nodes of this pass end at the operands of the loop: what is before these stays.
    for (const Value& value : parts_.initial) map.emplace(value, value);
    for (const Value& value : parts_.xs) map.emplace(value, value);
    pushed = parts_.replaced(pushed, std::move(map));
    std::size_t i = 0;
    for (const Pushed& p : pushed_carries_) results[p.position] = pushed[i++];
    for (const Pushed& p : pushed_ys_) results[carries + p.position] = pushed[i++];
    return results;
  }

  const Node& scan_;
  ScanParts parts_;
  StackingBudget budget_;
  StepDependence changes_;
  PinnedNodes is_pinned_;
  std::unordered_set<const Node*> feeds_carry_;  // nodes that a next carry depends on
  std::vector<Pushed> pushed_carries_, pushed_ys_;
  std::unordered_map<const Node*, std::vector<Value>> batched_;  // results over all steps, by node
  std::unordered_set<const Node*> visited_;  // by after_loop()
  std::vector<const Node*> visited_order_;  // for undo_since()
  std::unordered_map<Value, Value, ir::ValueHash> stacked_;  // of inputs and of further outputs
  std::vector<Value> stacked_order_;  // further outputs alone, in the order of the new scan
};

}  // namespace

ir::Graph scan_push_outputs(const ir::Graph& graph) {
  return change_scans(graph, [](const Node& scan) { return OutputPusher(scan).run(); });
}

}  // namespace kiln::passes
