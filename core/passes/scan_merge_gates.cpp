// Groups the products of a body that share an operand, joins each group's weights, repeats.
#include "core/passes/scan_merge_gates.h"

#include "core/ir/traverse.h"
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

/// A product of a value that changes with the step and an invariant weight.
struct Product {
  const Node* node;
  std::size_t weight;     // operand number of the invariant
  std::size_t axis;       // axis of the weight that only the result has besides
  std::size_t result_axis;

  const Value& shared() const { return node->operands[1 - weight]; }
  const Value& weight_value() const { return node->operands[weight]; }
};

bool contains(const Ints& labels, std::int64_t label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

std::optional<Product> product_of(const Node& node, std::size_t weight) {
  const auto& attrs = node.as<DotAttrs>();
  const Ints& own = weight == 0 ? attrs.lhs : attrs.rhs;
  const Ints& other = weight == 0 ? attrs.rhs : attrs.lhs;
  for (std::size_t axis = 0; axis < own.size(); ++axis) {
    if (contains(other, own[axis])) continue;
    const auto at = std::find(attrs.result.begin(), attrs.result.end(), own[axis]);
    return Product{&node, weight, axis, static_cast<std::size_t>(at - attrs.result.begin())};
  }
  return std::nullopt;
}

/// Same shared operand and labels, and weights that differ in the joined axis alone.
bool fit_together(const Product& a, const Product& b) {
  if (a.weight != b.weight || a.axis != b.axis || !(a.shared() == b.shared())) return false;
  if (!(a.node->as<DotAttrs>() == b.node->as<DotAttrs>())) return false;
  const ir::Type& x = a.weight_value().type();
  const ir::Type& y = b.weight_value().type();
  for (std::size_t axis = 0; axis < x.dims.size(); ++axis) {
    if (axis != a.axis && !(x.dims[axis] == y.dims[axis])) return false;
  }
  return x.dtype == y.dtype;
}

void join(const std::vector<Product>& group, ir::Replacements& replacements) {
  const Product& first = group.front();
  const ir::OriginScope scope(first.node->origin, /*replace=*/true);
  std::vector<Value> weights;
  for (const Product& product : group) weights.push_back(product.weight_value());
  std::vector<Value> operands = first.node->operands;
  operands[first.weight] = ir::concat(std::move(weights), static_cast<int>(first.axis));
  const Value all = ir::make(ir::Op::Dot, first.node->attrs, std::move(operands));
  ir::Dim start = 0;
  for (const Product& product : group) {
    const ir::Dim limit = start + product.weight_value().dims()[product.axis];
    replacements.emplace(product.node->result(),
                         ir::slice_axis(all, static_cast<int>(product.result_axis), start, limit));
    start = limit;
  }
}

ir::Replacements find_groups(const ScanParts& parts) {
  const StepDependence changes(parts, parts.parameters());
  std::vector<std::vector<Product>> groups;
  for (const Node* node : ir::topological_order(parts.results())) {
    if (node->op != ir::Op::Dot) continue;
    for (std::size_t weight : {1u, 0u}) {
      if (changes(node->operands[weight]) || !changes(node->operands[1 - weight])) continue;
      const auto product = product_of(*node, weight);
      if (!product) continue;
      const auto fits = [&](const auto& group) { return fit_together(group.front(), *product); };
      const auto group = std::find_if(groups.begin(), groups.end(), fits);
      if (group == groups.end()) {
        groups.push_back({*product});
      } else {
        group->push_back(*product);
      }
      break;
    }
  }
  ir::Replacements replacements;
  for (const auto& group : groups) {
    if (group.size() > 1) join(group, replacements);
  }
  return replacements;
}

std::optional<std::vector<Value>> merge_gates(const Node& scan) {
  ScanParts parts = take_apart(scan);
  bool changed = false;
  // A joined product may stand on another one's result: each round settles one level.
  for (;;) {
    const ir::Replacements replacements = find_groups(parts);
    if (replacements.empty()) break;
    parts.set_results(ir::replace_values(parts.results(), replacements));
    changed = true;
  }
  if (!changed) return std::nullopt;
  return ir::results_of(put_together(parts));
}

}  // namespace

ir::Graph scan_merge_gates(const ir::Graph& graph) { return change_scans(graph, merge_gates); }

}  // namespace kiln::passes
