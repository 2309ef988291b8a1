// Replaces the new value of each variable that the pattern of update_rows.h matches.
#include "backends/codegen/graph/update_rows.h"

#include "backends/codegen/access/bounded_product.h"
#include "core/ir/traverse.h"
#include "core/ops/build.h"

#include <optional>

namespace kiln::codegen {
namespace {

using ir::Node;
using ir::Op;
using ir::Value;

/// The operands of a scatter_add along axis 0.
struct Rows {
  Value indices, updates;
};

/// The product of the first `count` dims.
std::optional<ir::Dim> count_of(const ir::Dims& dims, std::size_t count) {
  ir::Dim product = 1;
  for (std::size_t i = 0; i < count; ++i) {
    const auto next = bounded_product(product, dims[i]);
    if (!next) return std::nullopt;
    product = *next;
  }
  return product;
}

/// Flattens the indices, and the axes of `updates` that they have, into one axis. Empty if their
/// number overflows 64 bits.
std::optional<Rows> flat(const Rows& rows) {
  const std::size_t axes = rows.indices.dims().size();
  const auto count = count_of(rows.indices.dims(), axes);
  if (!count) return std::nullopt;
  ir::Dims dims{*count};
  const ir::Dims& updates = rows.updates.dims();
  dims.insert(dims.end(), updates.begin() + static_cast<std::ptrdiff_t>(axes), updates.end());
  return Rows{ir::reshape(rows.indices, {*count}), ir::reshape(rows.updates, dims)};
}

/// Concatenates both. Empty if the dtypes of the indices differ, or flat() of one is empty.
std::optional<Rows> join(const Rows& first, const Rows& second) {
  if (first.indices.dtype() != second.indices.dtype()) return std::nullopt;
  const auto left = flat(first), right = flat(second);
  if (!left || !right) return std::nullopt;
  return Rows{ir::concat({left->indices, right->indices}, 0),
              ir::concat({left->updates, right->updates}, 0)};
}

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

  /// rate * sums, in either order, or sums alone.
  std::optional<Value> match_term(const Value& term, const Value& variable, bool is_added) const {
    if (!is_used_once(term)) return std::nullopt;
    const Node& node = *term.node;
    if (const std::optional<Rows> rows = sums_of(term, variable)) {
      const ir::OriginScope scope(node.origin, /*replace=*/true);
      const Value rate = ir::scalar_constant(variable.dtype(), is_added ? -1 : 1);
      return make(variable, rate, *rows);
    }
    if (node.op != Op::Mul) return std::nullopt;
    for (const std::size_t i : {0u, 1u}) {
      const Value& sums = node.operands[i];
      const std::optional<Value> rate = scalar_of(node.operands[1 - i]);
      if (!rate) continue;
      const ir::OriginScope scope(sums.node->origin, /*replace=*/true);
      const std::optional<Rows> rows = sums_of(sums, variable);
      if (rows) return make(variable, is_added ? ir::neg(*rate) : *rate, *rows);
    }
    return std::nullopt;
  }

  /// The rows of a scatter_add, or of a sum of several: of a table that is looked up several times.
  std::optional<Rows> sums_of(const Value& value, const Value& variable) const {
    if (!is_used_once(value) || value.type() != variable.type()) return std::nullopt;
    const Node& node = *value.node;
    const ir::OriginScope scope(node.origin, /*replace=*/true);
    if (node.op == Op::ScatterAdd && node.as<ir::ScatterAttrs>().axis == 0) {
      return Rows{node.operands[0], node.operands[1]};
    }
    if (node.op != Op::Add) return std::nullopt;
    const std::optional<Rows> first = sums_of(node.operands[0], variable);
    const std::optional<Rows> second = first ? sums_of(node.operands[1], variable) : std::nullopt;
    return second ? join(*first, *second) : std::nullopt;
  }

  /// x of broadcast(x), where x is a scalar.
  static std::optional<Value> scalar_of(const Value& value) {
    if (value.node->op != Op::Broadcast || value.node->operands[0].rank() != 0) return std::nullopt;
    return value.node->operands[0];
  }

  static Value make(const Value& variable, const Value& rate, const Rows& rows) {
    return ir::scatter_sub(variable, rate, rows.indices, rows.updates);
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
