// Derives pinnedness from definitions. Recursion follows lambdas only.
#include "core/ops/pinned.h"

#include "core/ir/traverse.h"
#include "core/ops/make.h"

#include <algorithm>

namespace kiln::ir {
namespace {

bool has_pinned(const Lambda& lambda) {
  if (!lambda.guards.empty()) return true;
  const std::vector<const Node*> order = topological_order(lambda.results);
  return std::any_of(order.begin(), order.end(), [](const Node* node) { return is_pinned(*node); });
}

}  // namespace

bool is_pinned(const Node& node) {
  const OpDef& d = def(node);
  if (d.reads_state || d.lowering == Lowering::Indexed || !guards_of(node).empty()) return true;
  bool pinned = false;
  for_each_lambda(node, [&](const Lambda& lambda) { pinned = pinned || has_pinned(lambda); });
  return pinned;
}

}  // namespace kiln::ir
