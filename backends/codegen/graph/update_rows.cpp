// Replaces the new value of each variable that the pattern of update_rows.h matches.
#include "backends/codegen/graph/update_rows.h"

#include "core/ir/traverse.h"
#include "core/ops/build.h"

#include <optional>

namespace kiln::codegen {
namespace {

using ir::Node;
using ir::Op;
using ir::Value;

/// Matches the new value of a variable top down.
class Matcher {
 public:
  explicit Matcher(const std::vector<Value>& results)
      : uses_(ir::count_uses(ir::topological_order(results), results)) {}

  /// The ScatterSub that is equal to `next`, the new value of `variable`.
  std::optional<Value> match(const Value& next, const Value& variable) const {
    if (!is_used_once(next)) return std::nullopt;
    const Node& node = *next.node;
    if (node.op == Op::Sub && node.operands[0] == variable) {
      return match_term(node.operands[1], variable, /*is_added=*/false);
    }
    if (node.op != Op::Add) return std::nullopt;
    const bool is_second = node.operands[1] == variable;
    if (!is_second && node.operands[0] != variable) return std::nullopt;
    return match_term(node.operands[is_second ? 0 : 1], variable, /*is_added=*/true);
  }

 private:
  bool is_used_once(const Value& value) const {
    const auto found = uses_.find(value);
    return found != uses_.end() && found->second == 1;
  }

  /// rate * scatter_add, in either order, or scatter_add alone.
  std::optional<Value> match_term(const Value& term, const Value& variable, bool is_added) const {
    if (!is_used_once(term)) return std::nullopt;
    const Node& node = *term.node;
    if (is_sum_of_rows(term, variable)) {
      const Value rate = ir::scalar_constant(variable.dtype(), is_added ? -1 : 1);
      return make(variable, rate, node);
    }
    if (node.op != Op::Mul) return std::nullopt;
    for (const std::size_t i : {0u, 1u}) {
      const Value &sums = node.operands[i], &factor = node.operands[1 - i];
      const std::optional<Value> rate = scalar_of(factor);
      if (!rate || !is_used_once(sums) || !is_sum_of_rows(sums, variable)) continue;
      const ir::OriginScope scope(sums.node->origin, /*replace=*/true);
      return make(variable, is_added ? ir::neg(*rate) : *rate, *sums.node);
    }
    return std::nullopt;
  }

  static bool is_sum_of_rows(const Value& value, const Value& variable) {
    return value.node->op == Op::ScatterAdd && value.node->as<ir::ScatterAttrs>().axis == 0 &&
           value.type() == variable.type();
  }

  /// x of broadcast(x), where x is a scalar.
  static std::optional<Value> scalar_of(const Value& value) {
    if (value.node->op != Op::Broadcast || value.node->operands[0].rank() != 0) return std::nullopt;
    return value.node->operands[0];
  }

  static Value make(const Value& variable, const Value& rate, const Node& sums) {
    const ir::OriginScope scope(sums.origin, /*replace=*/true);
    return ir::scatter_sub(variable, rate, sums.operands[0], sums.operands[1]);
  }

  ir::UseCounts uses_;
};

}  // namespace

std::vector<Value> update_rows(const std::vector<Value>& results,
                               const std::vector<Value>& arguments,
                               const std::vector<VariableUpdate>& updates,
                               const LibraryClaims* library) {
  const Matcher matcher(results);
  std::vector<Value> changed = results;
  for (const VariableUpdate& update : updates) {
    const auto rows = matcher.match(results[update.result], arguments[update.argument]);
    if (rows && is_taken(*rows->node, library)) changed[update.result] = *rows;
  }
  return changed;
}

}  // namespace kiln::codegen
