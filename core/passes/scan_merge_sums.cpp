// Rounds: a joined product may be what another sum's products are computed from.
#include "core/passes/scan_merge_sums.h"

#include "core/ir/traverse.h"
#include "core/ops/build.h"
#include "core/ops/rewrite_graph.h"
#include "core/passes/product_sums.h"
#include "core/passes/scan_parts.h"

#include <algorithm>

namespace kiln::passes {
namespace {

using ir::Node;
using ir::Value;

/// The value that a chain of reshapes, which keep `axis` and all axes behind it, was made of.
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

/// A product of a value that the body computes with an invariant.
struct Product {
  std::size_t term = 0;  // of the sum
  std::size_t side = 0;  // of the computed operand
  ContractedAxis axis;
  const Node* node = nullptr;

  const Value& computed() const { return node->operands[side]; }
  const Value& invariant() const { return node->operands[1 - side]; }
};

bool fit_together(const Product& a, const Product& b) {
  return a.side == b.side && a.axis.axis == b.axis.axis && a.axis.other == b.axis.other &&
         a.node->as<ir::DotAttrs>() == b.node->as<ir::DotAttrs>() &&
         equal_but_for(a.computed().type(), b.computed().type(), a.axis.axis) &&
         equal_but_for(a.invariant().type(), b.invariant().type(), a.axis.other) &&
         !(before_reshapes(a.computed(), a.axis.axis) ==
           before_reshapes(b.computed(), b.axis.axis));
}

/// A former output of the loop: a part of an output that stacks several.
struct Part {
  std::size_t output = 0;  // number in ScanParts::ys
  std::size_t axis = 0;    // of a step's value
  ir::Dim start, limit, total;
};

/// One scan.
class SumMerger {
 public:
  explicit SumMerger(const Node& scan)
      : scan_(scan), parts_(take_apart(scan)), part_of_(parts_.ys.size()) {}

  std::optional<std::vector<Value>> run() {
    bool changed = false;
    while (join_one()) changed = true;
    if (!changed) return std::nullopt;
    return results();
  }

 private:
  /// Joins the products of one sum; false when there are none.
  bool join_one() {
    const StepDependence changes(parts_, parts_.parameters());
    const PinnedNodes is_pinned(parts_);
    const std::vector<Value> roots = parts_.results();
    for (const SumTree& tree : find_sums(roots)) {
      std::vector<Product> group = group_of(tree, changes, is_pinned);
      if (group.empty()) continue;
      order_like_forward(group);
      join(tree, group);
      return true;
    }
    return false;
  }

  /// The first products of the sum that fit together, two at least; or none.
  static std::vector<Product> group_of(const SumTree& tree, const StepDependence& changes,
                                       const PinnedNodes& is_pinned) {
    std::vector<std::vector<Product>> groups;
    for (std::size_t term = 0; term < tree.terms.size(); ++term) {
      const auto product = product_of(tree, term, changes, is_pinned);
      if (!product) continue;
      const auto fits = [&](const std::vector<Product>& group) {
        return std::all_of(group.begin(), group.end(),
                           [&](const Product& one) { return fit_together(one, *product); });
      };
      const auto group = std::find_if(groups.begin(), groups.end(), fits);
      if (group == groups.end()) {
        groups.push_back({*product});
      } else {
        group->push_back(*product);
      }
    }
    for (std::vector<Product>& group : groups) {
      if (group.size() > 1) return std::move(group);
    }
    return {};
  }

  /// The computed operand is made by a kernel, which writes it where it is needed at no cost.
  static std::optional<Product> product_of(const SumTree& tree, std::size_t term,
                                           const StepDependence& changes,
                                           const PinnedNodes& is_pinned) {
    const Node& node = *tree.terms[term].node;
    if (node.op != ir::Op::Dot || !tree.is_own[term]) return std::nullopt;
    for (std::size_t side : {0u, 1u}) {
      const Value &computed = node.operands[side], &invariant = node.operands[1 - side];
      if (!changes(computed) || changes(invariant) || is_pinned(invariant)) continue;
      const auto axis = only_contracted_axis(node, side);
      if (!axis) return std::nullopt;
      const Value made = before_reshapes(computed, axis->axis);
      if (def(*made.node).lowering != ir::Lowering::Elementwise) return std::nullopt;
      return Product{term, side, *axis, &node};
    }
    return std::nullopt;
  }

  /// The order of a concatenation that the loop's operands contain, so that it serves here, too:
  /// the gates' weights as the forward loop has them.
  void order_like_forward(std::vector<Product>& group) const {
    for (const Node* node : ir::topological_order(scan_.operands)) {
      if (node->op != ir::Op::Concat || node->operands.size() != group.size()) continue;
      if (node->as<ir::AxisAttrs>().axis != static_cast<std::int64_t>(group[0].axis.other))
        continue;
      std::vector<Product> ordered, rest = group;
      for (const Value& operand : node->operands) {
        const auto found = std::find_if(rest.begin(), rest.end(), [&](const Product& product) {
          return product.invariant() == operand;
        });
        if (found == rest.end()) continue;
        ordered.push_back(*found);
        rest.erase(found);
      }
      if (ordered.size() == group.size()) return group.swap(ordered);
    }
  }

  void join(const SumTree& tree, const std::vector<Product>& group) {
    const Product& first = group.front();
    const std::size_t axis = first.axis.axis;
    JoinedProducts products;
    products.side = first.side;
    products.other_axis = first.axis.other;
    std::vector<Value> computed;
    for (const Product& product : group) {
      products.terms.push_back(product.term);
      computed.push_back(product.computed());
    }
    {
      const ir::OriginScope scope(first.node->origin, /*replace=*/true);
      products.joined = ir::concat(computed, static_cast<int>(axis));
    }
    stack_joined(computed, axis, products.joined);
    const ir::Replacements replaced{{tree.sum, sum_with(tree, products)}};
    parts_.set_results(ir::replace_values(parts_.results(), replaced));
  }

  /// Stacks `joined` in place of the outputs that are its parts, if each part is one.
  void stack_joined(const std::vector<Value>& computed, std::size_t axis, const Value& joined) {
    std::vector<std::pair<std::size_t, Part>> found;
    ir::Dim start = 0;
    for (const Value& part : computed) {
      const ir::Dim limit = start + part.dims()[axis];
      const std::size_t before = found.size();
      for (std::size_t y = 0; y < part_of_.size(); ++y) {
        const Value& output = parts_.ys[y];
        if (part_of_[y] || !is_reshaped(output, part, axis)) continue;
        found.push_back({y, {parts_.ys.size(), axis, start, limit, joined.dims()[axis]}});
      }
      if (found.size() == before) return;
      start = limit;
    }
    for (const auto& [y, part] : found) part_of_[y] = part;
    parts_.ys.push_back(joined);
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
    ScanParts left = parts_;
    left.ys.clear();
    std::vector<std::uint32_t> place;
    for (std::size_t y = 0; y < parts_.ys.size(); ++y) {
      place.push_back(static_cast<std::uint32_t>(parts_.next.size() + left.ys.size()));
      const bool stays = y >= part_of_.size() || !part_of_[y];
      if (stays) left.ys.push_back(parts_.ys[y]);
    }
    const ir::NodeRef made = put_together(left);
    std::vector<Value> results;
    for (std::uint32_t i = 0; i < parts_.next.size(); ++i) results.push_back(made->result(i));
    for (std::size_t y = 0; y < part_of_.size(); ++y) {
      const auto type = scan_.types[parts_.next.size() + y];
      results.push_back(part_of_[y] ? sliced(made, place, *part_of_[y], type)
                                    : made->result(place[y]));
    }
    return results;
  }

  /// The part for all steps, of the stack of what it is a part of.
  static Value sliced(const ir::NodeRef& made, const std::vector<std::uint32_t>& place,
                      const Part& part, const ir::Type& type) {
    ir::Dims dims = type.dims;
    dims[part.axis + 1] = part.total;
    Value stack = made->result(place[part.output]);
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
