// Merges the matmuls of one sum at a time and starts over, since their operands may depend on
// another sum.
#include "core/passes/scan_merge_sums.h"

#include "core/ir/traverse.h"
#include "core/ops/build.h"
#include "core/ops/rewrite_graph.h"
#include "core/passes/dot_sums.h"
#include "core/passes/scan_parts.h"

#include <algorithm>

namespace kiln::passes {
namespace {

using ir::Node;
using ir::Value;

/// Skips reshapes that keep `axis` and all axes after it.
Value before_reshapes(Value value, std::size_t axis) {
  while (value.node->op == ir::Op::Reshape) {
    const Value source = value.node->operands[0];
    const ir::Dims &from = source.dims(), &to = value.dims();
    if (from.size() != to.size()) return value;
    for (std::size_t i = axis; i < from.size(); ++i) {
      if (from[i] != to[i]) return value;
    }
    value = source;
  }
  return value;
}

/// A matmul of a value that the body computes with an invariant.
struct TermDot {
  std::size_t term = 0;  // the index in the sum
  std::size_t side = 0;  // of the computed operand
  ContractedAxis axis;
  const Node* node = nullptr;

  const Value& computed() const { return node->operands[side]; }
  const Value& invariant() const { return node->operands[1 - side]; }
};

bool fit_together(const TermDot& a, const TermDot& b) {
  return a.side == b.side && a.axis.axis == b.axis.axis && a.axis.other == b.axis.other &&
         a.node->as<ir::DotAttrs>() == b.node->as<ir::DotAttrs>() &&
         equal_but_for(a.computed().type(), b.computed().type(), a.axis.axis) &&
         equal_but_for(a.invariant().type(), b.invariant().type(), a.axis.other) &&
         !(before_reshapes(a.computed(), a.axis.axis) ==
           before_reshapes(b.computed(), b.axis.axis));
}

/// A former output of the loop that is now a slice of an output which stacks a concatenation.
struct Part {
  std::size_t output = 0;  // the index in ScanParts::ys
  std::size_t axis = 0;    // of a step's value
  ir::Dim start, limit, total;
};

/// One scan.
class SumMerger {
 public:
  explicit SumMerger(const Node& scan)
      : scan_(scan), parts_(unpack_scan(scan)), part_of_(parts_.ys.size()) {}

  std::optional<std::vector<Value>> run() {
    bool changed = false;
    while (merge_one_sum()) changed = true;
    if (!changed) return std::nullopt;
    return results();
  }

 private:
  /// Merges matmuls of one sum; false if there are none left.
  bool merge_one_sum() {
    const StepDependence changes(parts_, parts_.parameters());
    const PinnedNodes is_pinned(parts_);
    const std::vector<Value> roots = parts_.results();
    for (const SumTree& tree : find_sums(parts_.order(roots), roots)) {
      std::vector<TermDot> group = group_of(tree, changes, is_pinned);
      if (group.empty()) continue;
      order_like_forward(group);
      merge(tree, group);
      return true;
    }
    return false;
  }

  /// The first group of two or more matmuls of the sum that fit together; else empty.
  static std::vector<TermDot> group_of(const SumTree& tree, const StepDependence& changes,
                                       const PinnedNodes& is_pinned) {
    std::vector<std::vector<TermDot>> groups;
    for (std::size_t term = 0; term < tree.terms.size(); ++term) {
      const auto dot = term_dot_of(tree, term, changes, is_pinned);
      if (!dot) continue;
      const auto fits = [&](const std::vector<TermDot>& group) {
        return std::all_of(group.begin(), group.end(),
                           [&](const TermDot& one) { return fit_together(one, *dot); });
      };
      const auto group = std::find_if(groups.begin(), groups.end(), fits);
      if (group == groups.end()) {
        groups.push_back({*dot});
      } else {
        group->push_back(*dot);
      }
    }
    for (std::vector<TermDot>& group : groups) {
      if (group.size() > 1) return std::move(group);
    }
    return {};
  }

  /// The term as a TermDot. Its computed operand must be elementwise: a fused kernel then writes it
  /// into the concatenation at no cost.
  static std::optional<TermDot> term_dot_of(const SumTree& tree, std::size_t term,
                                            const StepDependence& changes,
                                            const PinnedNodes& is_pinned) {
    const Node& node = *tree.terms[term].node;
    if (node.op != ir::Op::Dot || !tree.is_own[term]) return std::nullopt;
    for (std::size_t side : {0u, 1u}) {
      const Value &computed = node.operands[side], &invariant = node.operands[1 - side];
      if (!changes(computed) || changes(invariant) || is_pinned(invariant)) continue;
      const auto axis = only_contracted_axis(node, side);
      if (!axis) return std::nullopt;
      const Value source = before_reshapes(computed, axis->axis);
      if (def(*source.node).lowering != ir::Lowering::Elementwise) return std::nullopt;
      return TermDot{.term = term, .side = side, .axis = *axis, .node = &node};
    }
    return std::nullopt;
  }

  /// Sorts the group like a concatenation of the same invariants among the loop's operands, if
  /// there is one, so that it is shared: scan_merge_gates concatenated the gates' weights for the
  /// forward loop.
  void order_like_forward(std::vector<TermDot>& group) const {
    for (const Node* node : ir::topological_order(scan_.operands)) {
      if (node->op != ir::Op::Concat || node->operands.size() != group.size()) continue;
      if (node->as<ir::AxisAttrs>().axis != static_cast<std::int64_t>(group[0].axis.other))
        continue;
      std::vector<TermDot> ordered, rest = group;
      for (const Value& operand : node->operands) {
        const auto found = std::find_if(rest.begin(), rest.end(), [&](const TermDot& dot) {
          return dot.invariant() == operand;
        });
        if (found == rest.end()) continue;
        ordered.push_back(*found);
        rest.erase(found);
      }
      if (ordered.size() == group.size()) return group.swap(ordered);
    }
  }

  void merge(const SumTree& tree, const std::vector<TermDot>& group) {
    const TermDot& first = group.front();
    const std::size_t axis = first.axis.axis;
    MergedDots merged{
        .terms = {}, .side = first.side, .other_axis = first.axis.other, .operand = {}};
    std::vector<Value> computed;
    for (const TermDot& dot : group) {
      merged.terms.push_back(dot.term);
      computed.push_back(dot.computed());
    }
    {
      const ir::OriginScope scope(first.node->origin, /*replace=*/true);
      merged.operand = ir::concat(computed, static_cast<int>(axis));
    }
    stack_concatenation(computed, axis, merged.operand);
    const ir::Replacements replaced{{tree.sum, sum_with(tree, merged)}};
    parts_.set_results(parts_.replaced(parts_.results(), replaced));
  }

  /// Stacks `all`, the concatenation of `computed`, instead of its parts, if each part is an
  /// output.
  void stack_concatenation(const std::vector<Value>& computed, std::size_t axis, const Value& all) {
    std::vector<std::pair<std::size_t, Part>> found;
    ir::Dim start = 0;
    for (const Value& part : computed) {
      const ir::Dim limit = start + part.dims()[axis];
      const std::size_t before = found.size();
      for (std::size_t y = 0; y < part_of_.size(); ++y) {
        const Value& output = parts_.ys[y];
        if (part_of_[y] || !is_reshaped(output, part, axis)) continue;
        found.push_back({y,
                         {.output = parts_.ys.size(),
                          .axis = axis,
                          .start = start,
                          .limit = limit,
                          .total = all.dims()[axis]}});
      }
      if (found.size() == before) return;
      start = limit;
    }
    for (const auto& [y, part] : found) part_of_[y] = part;
    parts_.ys.push_back(all);
  }

  static bool is_reshaped(const Value& output, const Value& part, std::size_t axis) {
    if (output.dims().size() != part.dims().size()) return false;
    for (std::size_t i = axis; i < part.dims().size(); ++i) {
      if (output.dims()[i] != part.dims()[i]) return false;
    }
    return before_reshapes(output, axis) == before_reshapes(part, axis);
  }

  std::vector<Value> results() const {
    const ir::OriginScope scope(scan_.origin, /*replace=*/true);
    ScanParts rest = parts_;
    rest.ys.clear();
    std::vector<std::uint32_t> result_of;  // each y's result of the new scan
    for (std::size_t y = 0; y < parts_.ys.size(); ++y) {
      result_of.push_back(static_cast<std::uint32_t>(parts_.next.size() + rest.ys.size()));
      const bool stays = y >= part_of_.size() || !part_of_[y];
      if (stays) rest.ys.push_back(parts_.ys[y]);
    }
    const ir::NodeRef scan = pack_scan(rest);
    std::vector<Value> results;
    for (std::uint32_t i = 0; i < parts_.next.size(); ++i) results.push_back(scan->result(i));
    for (std::size_t y = 0; y < part_of_.size(); ++y) {
      const auto type = scan_.types[parts_.next.size() + y];
      results.push_back(part_of_[y] ? sliced(scan, result_of, *part_of_[y], type)
                                    : scan->result(result_of[y]));
    }
    return results;
  }

  /// A former output, sliced from the stacked concatenation.
  static Value sliced(const ir::NodeRef& scan, const std::vector<std::uint32_t>& result_of,
                      const Part& part, const ir::Type& type) {
    ir::Dims dims = type.dims;
    dims[part.axis + 1] = part.total;
    Value stack = scan->result(result_of[part.output]);
    if (stack.dims() != dims) stack = ir::reshape(stack, dims);
    return ir::slice_axis(stack, static_cast<int>(part.axis + 1), part.start, part.limit);
  }

  const Node& scan_;
  ScanParts parts_;
  std::vector<std::optional<Part>> part_of_;  // of each output that the loop had
};

}  // namespace

ir::Graph scan_merge_sums(const ir::Graph& graph) {
  return change_scans(graph, [](const Node& scan) { return SumMerger(scan).run(); });
}

}  // namespace kiln::passes
