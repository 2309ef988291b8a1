// Groups the matmuls of a body that share an operand, concatenates the weights of each group, and
// repeats until nothing changes.
#include "core/passes/scan_merge_gates.h"

#include "core/ops/build.h"
#include "core/ops/rewrite_graph.h"
#include "core/passes/scan_parts.h"

#include <algorithm>

namespace kiln::passes {
namespace {

using ir::DotAttrs;
using ir::Ints;
using ir::Node;
using ir::Value;

/// A matmul of a value that depends on the step with an invariant weight.
struct WeightDot {
  const Node* node;
  std::size_t weight;       // the index of the invariant operand
  std::size_t axis;         // of the weight: one that only the result has, too (N of a matmul)
  std::size_t result_axis;  // of the result: the same axis
  bool feeds_carry;         // else only outputs depend on it: scan_push_outputs may move it

  const Value& shared() const { return node->operands[1 - weight]; }
  const Value& weight_value() const { return node->operands[weight]; }
};

bool contains(const Ints& labels, std::int64_t label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

std::optional<WeightDot> weight_dot_of(const Node& node, std::size_t weight, bool feeds_carry) {
  const auto& attrs = node.as<DotAttrs>();
  const Ints& own = weight == 0 ? attrs.lhs : attrs.rhs;
  const Ints& other = weight == 0 ? attrs.rhs : attrs.lhs;
  for (std::size_t axis = 0; axis < own.size(); ++axis) {
    if (contains(other, own[axis])) continue;
    const auto label = std::find(attrs.result.begin(), attrs.result.end(), own[axis]);
    return WeightDot{.node = &node,
                     .weight = weight,
                     .axis = axis,
                     .result_axis = static_cast<std::size_t>(label - attrs.result.begin()),
                     .feeds_carry = feeds_carry};
  }
  return std::nullopt;
}

/// Whether two can be merged: equal shared operands and labels, and weights that differ in the size
/// of the concatenated axis at most. A matmul that scan_push_outputs may move after the loop is
/// merged only with others of these: a merged one would stay in the loop whole.
bool fit_together(const WeightDot& a, const WeightDot& b) {
  if (a.feeds_carry != b.feeds_carry) return false;
  if (a.weight != b.weight || a.axis != b.axis || !(a.shared() == b.shared())) return false;
  if (!(a.node->as<DotAttrs>() == b.node->as<DotAttrs>())) return false;
  const ir::Type& x = a.weight_value().type();
  const ir::Type& y = b.weight_value().type();
  for (std::size_t axis = 0; axis < x.dims.size(); ++axis) {
    if (axis != a.axis && !(x.dims[axis] == y.dims[axis])) return false;
  }
  return x.dtype == y.dtype;
}

/// Replaces a group by one matmul with the concatenated weights, and slices of its result.
void merge(const std::vector<WeightDot>& group, ir::Replacements& replacements) {
  const WeightDot& first = group.front();
  const ir::OriginScope scope(first.node->origin, /*replace=*/true);
  std::vector<Value> weights;
  for (const WeightDot& dot : group) weights.push_back(dot.weight_value());
  std::vector<Value> operands = first.node->operands;
  operands[first.weight] = ir::concat(std::move(weights), static_cast<int>(first.axis));
  const Value all = ir::make(ir::Op::Dot, first.node->attrs, std::move(operands));
  ir::Dim start = 0;
  for (const WeightDot& dot : group) {
    const ir::Dim limit = start + dot.weight_value().dims()[dot.axis];
    replacements.emplace(dot.node->result(),
                         ir::slice_axis(all, static_cast<int>(dot.result_axis), start, limit));
    start = limit;
  }
}

ir::Replacements find_groups(const ScanParts& parts) {
  const StepDependence changes(parts, parts.parameters());
  const std::vector<const Node*> before_carries = parts.order(parts.next);
  const std::unordered_set<const Node*> feeds_carry(before_carries.begin(), before_carries.end());
  std::vector<std::vector<WeightDot>> groups;
  std::unordered_map<Value, std::vector<std::size_t>, ir::ValueHash> sharing;  // by operand
  for (const Node* node : parts.order(parts.results())) {
    if (node->op != ir::Op::Dot) continue;
    for (std::size_t weight : {1u, 0u}) {
      if (changes(node->operands[weight]) || !changes(node->operands[1 - weight])) continue;
      const auto dot = weight_dot_of(*node, weight, feeds_carry.contains(node));
      if (!dot) continue;
      std::vector<std::size_t>& candidates = sharing[dot->shared()];
      const auto group = std::find_if(candidates.begin(), candidates.end(), [&](std::size_t one) {
        return fit_together(groups[one].front(), *dot);
      });
      if (group == candidates.end()) {
        candidates.push_back(groups.size());
        groups.push_back({*dot});
      } else {
        groups[*group].push_back(*dot);
      }
      break;
    }
  }
  ir::Replacements replacements;
  for (const auto& group : groups) {
    if (group.size() > 1) merge(group, replacements);
  }
  return replacements;
}

std::optional<std::vector<Value>> merge_gates(const Node& scan) {
  ScanParts parts = unpack_scan(scan);
  bool changed = false;
  // Another round merges matmuls whose operands became equal.
  for (;;) {
    const ir::Replacements replacements = find_groups(parts);
    if (replacements.empty()) break;
    parts.set_results(parts.replaced_throughout(parts.results(), replacements));
    changed = true;
  }
  if (!changed) return std::nullopt;
  return ir::results_of(pack_scan(parts));
}

}  // namespace

ir::Graph scan_merge_gates(const ir::Graph& graph) { return change_scans(graph, merge_gates); }

}  // namespace kiln::passes
