// Arguments precede their users in the list, so one forward pass suffices.
#include "backends/codegen/grid/loop_invariants.h"

#include "backends/codegen/kernel/needed.h"

namespace kiln::codegen {

ExpressionFlags loop_invariants(const Kernel& kernel) {
  const ExpressionFlags inner = depends_on_inner(kernel);
  ExpressionFlags is_invariant(inner.size());
  for (const ExpressionId i : is_invariant.ids()) {
    const Expression& e = kernel.expressions[i];
    is_invariant[i] = !inner[i];
    visit_arguments(kernel, e, [&](ExpressionId other) {
      is_invariant[i] = is_invariant[i] && is_invariant[other];
    });
    if (e.kind != ExpressionKind::Load) continue;
    const Access& access = kernel.accesses[e.access];
    const bool is_fixed = !access.dynamic && !kernel.operands[access.operand].written;
    is_invariant[i] = is_invariant[i] && is_fixed;
  }
  return is_invariant;
}

}  // namespace kiln::codegen
