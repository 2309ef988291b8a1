// Values are pushed as far as batching.h knows their stacked form; what they stand on is written by
// the loop. The remaining loop is made last, when it is known what it has to write.
#include "core/passes/scan_push_outputs.h"

#include "core/ir/traverse.h"
#include "core/ops/build.h"
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

/// One scan: what can be computed after it, and what is left of it.
class OutputPusher {
 public:
  explicit OutputPusher(const Node& scan)
      : scan_(scan),
        parts_(take_apart(scan)),
        budget_(parts_),
        changes_(parts_, parts_.parameters()),
        is_pinned_(parts_) {
    for (const Node* node : ir::topological_order(parts_.next)) feeds_carry_.insert(node);
    for (std::size_t i = 0; i < parts_.slices.size(); ++i) {
      stacked_.emplace(parts_.slices[i], parts_.xs[i]);
    }
  }

  std::optional<std::vector<Value>> run() {
    find_sums();
    find_outputs();
    if (pushed_carries_.empty() && pushed_ys_.empty()) return std::nullopt;
    const ir::NodeRef made = put_together(remaining());
    return final_results(made);
  }

 private:
  // A pushed value in terms of stacked values; those that the loop has to write are parameters
  // made here, replaced by the new scan's results at the end.
  struct Pushed {
    std::size_t position;
    Value value;
  };

  /// Whether the loop must compute the value: it depends on the step, or is pinned.
  bool changes(const Value& value) const { return changes_(value) || is_pinned_(value); }

  /// c + f or f + c, where nothing else reads c.
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

  void find_sums() {
    const std::vector<Value> roots = parts_.results();
    const ir::UseCounts uses = ir::count_uses(ir::topological_order(roots), roots);
    // Matmuls first: their operands often are what the sums are taken of.
    for (const ir::Op op : {ir::Op::Dot, ir::Op::Sum}) {
      for (std::size_t i = 0; i < parts_.next.size(); ++i) {
        const auto f = summand(i, uses);
        if (!f || f->node->op != op || !changes(*f) || is_pinned_(*f)) continue;
        push_sum(i, *f->node);
      }
    }
  }

  /// Pushes the carry that `node` is added to, where its operands are within the budget.
  void push_sum(std::size_t carry, const Node& node) {
    double bytes = 0;
    for (const Value& operand : node.operands) {
      const bool is_new = changes(operand) && stacked_.count(operand) == 0;
      if (is_new) bytes += nominal_bytes(operand.type());
    }
    if (!budget_.take(bytes, nominal_bytes(node.types[0]))) return;
    const ir::OriginScope scope(node.origin, /*replace=*/true);
    const bool is_dot = node.op == ir::Op::Dot;
    const Value total = is_dot ? total_of_dot(node) : total_of_sum(node);
    pushed_carries_.push_back({carry, parts_.initial[carry] + total});
  }

  Value total_of_dot(const Node& node) {
    const auto& attrs = node.as<ir::DotAttrs>();
    Ints labels[2] = {attrs.lhs, attrs.rhs};
    Value operands[2];
    const std::int64_t time = 1 + std::max(largest(attrs.lhs), largest(attrs.rhs));
    bool both = true;
    for (std::size_t i = 0; i < 2; ++i) both = both && changes(node.operands[i]);
    for (std::size_t i = 0; i < 2; ++i) {
      operands[i] = node.operands[i];
      if (!changes(operands[i])) continue;
      operands[i] = stacked(operands[i]);
      if (both) {
        labels[i].insert(labels[i].begin(), time);
      } else {  // the sum of the products is the product of the sum
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
    return ir::reduce_sum(stacked(node.operands[0]), axes);
  }

  /// Outputs that no carry reads and that contain a product.
  void find_outputs() {
    const auto stand_on_product = nodes_on_products();
    for (std::size_t i = 0; i < parts_.ys.size(); ++i) {
      const Value& y = parts_.ys[i];
      if (!changes(y) || !is_output_only(y) || stand_on_product.count(y.node.get()) == 0) continue;
      const std::size_t written = written_order_.size(), visited = visited_order_.size();
      const Value pushed = after_loop(y);
      if (budget_.take(bytes_since(written, visited), weights_since(visited))) {
        pushed_ys_.push_back({i, pushed});
      } else {
        forget_since(written, visited);
      }
    }
  }

  /// Bytes a step that after_loop added since: written by the loop, or computed after it and not
  /// fused into readers.
  double bytes_since(std::size_t written, std::size_t visited) const {
    double bytes = 0;
    for (std::size_t i = written; i < written_order_.size(); ++i) {
      bytes += nominal_bytes(written_order_[i].type());
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

  /// Bytes of the invariant operands of the matmuls that after_loop added since.
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

  /// Undoes after_loop.
  void forget_since(std::size_t written, std::size_t visited) {
    for (; written_order_.size() > written; written_order_.pop_back()) {
      stacked_.erase(written_order_.back());
    }
    for (; visited_order_.size() > visited; visited_order_.pop_back()) {
      visited_.erase(visited_order_.back());
      batched_.erase(visited_order_.back());
    }
  }

  bool is_output_only(const Value& value) const {
    return feeds_carry_.count(value.node.get()) == 0 && value.node->op != ir::Op::Parameter;
  }

  /// Products that can be pushed, and what is computed from them.
  std::unordered_set<const Node*> nodes_on_products() const {
    std::unordered_set<const Node*> found;
    for (const Node* node : ir::topological_order(parts_.ys)) {
      const Value value = node->result();
      bool on_product = def(*node).lowering == ir::Lowering::Contraction && changes(value) &&
                        is_output_only(value);
      for (const Value& operand : node->operands) {
        on_product = on_product || found.count(operand.node.get()) != 0;
      }
      if (on_product) found.insert(node);
    }
    return found;
  }

  /// The stacked form computed after the loop, as far back as that is possible.
  Value after_loop(const Value& root) {
    const auto was_visited = [&](const Value& value) {
      return visited_.count(value.node.get()) != 0;
    };
    for (const Node* node : ir::topological_order({&root, 1}, was_visited)) {
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
        operands.push_back({found == batched_.end() ? stacked(operand)
                                                    : found->second[operand.index],
                            true});
      }
      auto results = batch_node(*node, operands, parts_.length);
      if (results) batched_.emplace(node, std::move(*results));
    }
    const auto found = batched_.find(root.node.get());
    return found == batched_.end() ? stacked(root) : found->second[root.index];
  }

  /// The value at all steps: an input of the loop, or something that the loop writes.
  Value stacked(const Value& value) {
    const auto [entry, is_new] = stacked_.emplace(value, Value{});
    if (is_new) {
      entry->second = fresh_parameter(stacked_type(value.type(), parts_.length));
      written_order_.push_back(value);
    }
    return entry->second;
  }

  /// Which of so many are not pushed.
  static std::vector<bool> stay(const std::vector<Pushed>& pushed, std::size_t count) {
    std::vector<bool> flags(count, true);
    for (const Pushed& p : pushed) flags[p.position] = false;
    return flags;
  }

  ScanParts remaining() const {
    ScanParts left = parts_;
    left.initial.clear();
    left.carry.clear();
    left.next.clear();
    left.ys.clear();
    const auto carries_stay = stay(pushed_carries_, parts_.next.size());
    const auto ys_stay = stay(pushed_ys_, parts_.ys.size());
    for (std::size_t i = 0; i < parts_.next.size(); ++i) {
      if (!carries_stay[i]) continue;
      left.initial.push_back(parts_.initial[i]);
      left.carry.push_back(parts_.carry[i]);
      left.next.push_back(parts_.next[i]);
    }
    for (std::size_t i = 0; i < parts_.ys.size(); ++i) {
      if (ys_stay[i]) left.ys.push_back(parts_.ys[i]);
    }
    left.ys.insert(left.ys.end(), written_order_.begin(), written_order_.end());
    return left;
  }

  std::vector<Value> final_results(const ir::NodeRef& made) const {
    std::vector<Value> results(scan_.types.size());
    std::uint32_t next = 0;
    const std::size_t carries = parts_.next.size();
    const auto carries_stay = stay(pushed_carries_, carries);
    const auto ys_stay = stay(pushed_ys_, parts_.ys.size());
    for (std::size_t i = 0; i < carries; ++i) {
      if (carries_stay[i]) results[i] = {made, next++};
    }
    for (std::size_t i = 0; i < parts_.ys.size(); ++i) {
      if (ys_stay[i]) results[carries + i] = {made, next++};
    }
    ir::Replacements map;
    for (const Value& value : written_order_) map.emplace(stacked_.at(value), Value{made, next++});
    std::vector<Value> pushed;
    for (const Pushed& p : pushed_carries_) pushed.push_back(p.value);
    for (const Pushed& p : pushed_ys_) pushed.push_back(p.value);
    pushed = ir::replace_values(pushed, map);
    std::size_t at = 0;
    for (const Pushed& p : pushed_carries_) results[p.position] = pushed[at++];
    for (const Pushed& p : pushed_ys_) results[carries + p.position] = pushed[at++];
    return results;
  }

  const Node& scan_;
  ScanParts parts_;
  StackingBudget budget_;
  StepDependence changes_;
  PinnedNodes is_pinned_;
  std::unordered_set<const Node*> feeds_carry_;
  std::vector<Pushed> pushed_carries_, pushed_ys_;
  std::unordered_map<const Node*, std::vector<Value>> batched_;
  std::unordered_set<const Node*> visited_;
  std::vector<const Node*> visited_order_;
  std::unordered_map<Value, Value, ir::ValueHash> stacked_;  // inputs, and what is written
  std::vector<Value> written_order_;
};

}  // namespace

ir::Graph scan_push_outputs(const ir::Graph& graph) {
  return change_scans(graph, [](const Node& scan) { return OutputPusher(scan).run(); });
}

}  // namespace kiln::passes
