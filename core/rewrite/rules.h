// The tables of rules. Measure: every rule lowers (number of nodes, then number of elements
// computed), so that no two of them undo each other.
#pragma once

#include "core/ir/node_map.h"
#include "core/rewrite/pattern.h"

#include <span>

namespace kiln::rewrite {

/// Equations between scalar expressions: algebra, comparisons, logic, selection.
std::span<const Equation> equations();

/// A rule about axes, dims, casts or structure: code, with the equation as text.
struct StructuralRule {
  std::string_view name;
  std::string_view equation;
  /// Whether the rule is about nodes of that op.
  bool (*root)(ir::Op op);
  /// The replacement of result 0, or an empty value. REQUIRES: root(node.op).
  ir::Value (*apply)(const ir::Node& node);
  /// Values that the rule applies to, for its test: operands are the given parameters.
  std::vector<ir::Value> (*examples)();
};
std::span<const StructuralRule> structural_rules();

/// The rules of one op, in the order of the tables.
struct OpRules {
  std::vector<const StructuralRule*> structural;
  std::vector<const Equation*> equations;
};
/// Computed from the tables.
const OpRules& rules_of(ir::Op op);

/// The value `equation` gives for this node, or an empty one when it does not match.
ir::Value try_equation(const Equation& equation, const ir::Node& node);
/// A side of an equation on these operands (`shape_of` gives the dims of its numbers).
ir::Value instantiate(const Pattern& pattern, std::span<const ir::Value> variables,
                      const ir::Type& shape_of);

/// Folds an elementwise op on constants, or on one constant spread over a shape.
ir::Value fold_constants(const ir::Node& node);

/// Applies the rules at one node until none fires; new nodes are simplified, too.
class Simplifier {
 public:
  std::vector<ir::Value> simplify(const std::vector<ir::Value>& roots);

 private:
  ir::Value simplify_node(const ir::NodeRef& node, int depth);
  ir::NodeRef canonical(const ir::NodeRef& node);
  ir::NodeMap<std::size_t> numbers_;
};

}  // namespace kiln::rewrite
