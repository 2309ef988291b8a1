// Arguments precede their users in the list, so one backward pass visits all users first.
#include "backends/codegen/kernel/needed.h"

namespace kiln::codegen {
ExpressionFlags needed(const Kernel& kernel, const std::vector<ExpressionId>& roots) {
  return needed(kernel, roots, ExpressionFlags(kernel.expressions.size(), false));
}

ExpressionFlags needed(const Kernel& kernel, const std::vector<ExpressionId>& roots,
                       const ExpressionFlags& is_known) {
  ExpressionFlags wanted(kernel.expressions.size(), false);
  for (const ExpressionId root : roots) {
    if (root) wanted[root] = true;
  }
  for (ExpressionId i = wanted.back_id(); i; --i) {
    if (!wanted[i] || is_known[i]) continue;
    visit_arguments(kernel, kernel.expressions[i],
                    [&](ExpressionId argument) { wanted[argument] = true; });
  }
  return wanted;
}

std::vector<ExpressionId> roots_of(const Kernel& kernel, const Stage& stage) {
  std::vector<ExpressionId> roots{stage.value};
  for (const Store& store : stage.stores) {
    const Access& access = kernel.accesses[store.access];
    roots.insert(roots.end(), {store.value, access.dynamic, access.when});
  }
  return roots;
}

}  // namespace kiln::codegen
