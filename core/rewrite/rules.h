// Rewrite rules and the driver that applies them to a fixed point. Every rule lowers the measure
// (number of nodes, number of computed elements), so that rewriting terminates.
#pragma once

#include "core/ir/node_map.h"
#include "core/rewrite/pattern.h"

#include <functional>
#include <span>
#include <utility>

namespace kiln::rewrite {

/// Equations between scalar expressions: algebra, comparisons, logic, selection.
std::span<const Equation> equations();

/// A rule about axes, dims, casts or structure, as code; `equation` documents it.
struct StructuralRule {
  std::string_view name;
  std::string_view equation;
  /// Whether the rule can apply to nodes of that op.
  bool (*root)(ir::Op op);
  /// The replacement of result 0; empty if the rule does not apply. REQUIRES: root(node.op).
  ir::Value (*apply)(const ir::Node& node);
  /// For the test of the rule: values that it applies to, on parameters of that dtype. Empty if it
  /// does not apply to the dtype.
  std::vector<ir::Value> (*examples)(DType dtype);
};
std::span<const StructuralRule> structural_rules();

/// The rules of one op, in the order of the tables. The index is computed once.
struct OpRules {
  std::vector<const StructuralRule*> structural;
  std::vector<const Equation*> equations;
};
const OpRules& rules_of(ir::Op op);

/// The right side of `equation` for this node; empty if the left side does not match.
ir::Value try_equation(const Equation& equation, const ir::Node& node);
/// Instantiates a pattern: `variables` by index; numbers become constants of type `shape_of`.
ir::Value instantiate(const Pattern& pattern, std::span<const ir::Value> variables,
                      const ir::Type& shape_of);

/// Evaluates an elementwise op on scalar constants; empty if an operand is something else.
ir::Value fold_constants(const ir::Node& node);

/// The rule name that observers get for fold_constants, which is in no table.
inline constexpr std::string_view kFoldConstants = "fold_constants";

/// Called for every rewrite with the name of the rule and the node that it replaces.
using RuleObserver = std::function<void(std::string_view rule, const ir::Node& node)>;

/// Applies the rules bottom-up to a fixed point; nodes that rules build are simplified, too.
class Simplifier {
 public:
  /// `observer` sees every rewrite, in lambdas too; may be empty.
  explicit Simplifier(RuleObserver observer = {}) : observer_(std::move(observer)) {}
  /// The simplified roots.
  std::vector<ir::Value> simplify(const std::vector<ir::Value>& roots);

 private:
  ir::Value simplify_node(const ir::NodeRef& node, int depth);
  ir::NodeRef canonical(const ir::NodeRef& node);
  RuleObserver observer_;
  ir::NodeMap<std::size_t> numbers_;  // the simplified nodes, by first visit
};

}  // namespace kiln::rewrite
