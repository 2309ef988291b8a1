// The tables of rules. Measure: every rule lowers (number of nodes, then number of elements
// computed), so that no two of them undo each other.
#pragma once

#include "core/ir/node_map.h"
#include "core/rewrite/pattern.h"

#include <functional>
#include <span>
#include <utility>

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
  /// Values that the rule applies to, for its test: functions of parameters of that dtype. Empty if
  /// the rule does not apply to the dtype.
  std::vector<ir::Value> (*examples)(DType dtype);
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

/// The name under which an observer sees fold_constants, which is in no table.
inline constexpr std::string_view kFoldConstants = "fold_constants";

/// Called with the name of a rule that rewrites a node, and the node, before its result is used.
using RuleObserver = std::function<void(std::string_view rule, const ir::Node& node)>;

/// Applies the rules at one node until none fires; new nodes are simplified, too.
class Simplifier {
 public:
  /// `observer`: sees every rewrite, in bodies too; none when empty.
  explicit Simplifier(RuleObserver observer = {}) : observer_(std::move(observer)) {}
  std::vector<ir::Value> simplify(const std::vector<ir::Value>& roots);

 private:
  ir::Value simplify_node(const ir::NodeRef& node, int depth);
  ir::NodeRef canonical(const ir::NodeRef& node);
  RuleObserver observer_;
  ir::NodeMap<std::size_t> numbers_;
};

}  // namespace kiln::rewrite
