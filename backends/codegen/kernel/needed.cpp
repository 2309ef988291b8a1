// Arguments precede their users in the list, so one backward pass visits all users first.
#include "backends/codegen/kernel/needed.h"

#include "core/types/at.h"

namespace kiln::codegen {
std::vector<bool> needed(const Kernel& kernel, const std::vector<int>& roots) {
  return needed(kernel, roots, std::vector<bool>(kernel.expressions.size(), false));
}

std::vector<bool> needed(const Kernel& kernel, const std::vector<int>& roots,
                         const std::vector<bool>& is_known) {
  std::vector<bool> wanted(kernel.expressions.size(), false);
  for (const int root : roots) {
    if (root >= 0) wanted[at(root)] = true;
  }
  for (std::size_t i = wanted.size(); i-- > 0;) {
    if (!wanted[i] || is_known[i]) continue;
    const Expression& e = kernel.expressions[i];
    for (const int argument : e.arguments) {
      if (argument >= 0) wanted[at(argument)] = true;
    }
    if (e.kind != ExpressionKind::Load) continue;
    const Access& access = kernel.accesses[at(e.number)];
    for (const int other : {access.dynamic, access.when}) {
      if (other >= 0) wanted[at(other)] = true;
    }
  }
  return wanted;
}

std::vector<int> roots_of(const Kernel& kernel, const Stage& stage) {
  std::vector<int> roots{stage.value};
  for (const Store& store : stage.stores) {
    const Access& access = kernel.accesses[at(store.access)];
    roots.insert(roots.end(), {store.value, access.dynamic, access.when});
  }
  return roots;
}

}  // namespace kiln::codegen
