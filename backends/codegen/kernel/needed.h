// Backward slices: the expressions that a value or a stage depends on.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// Calls visit(ExpressionId) for the arguments of the expression, and for the dynamic index and the
/// guard of a load.
template <class Visit>
void visit_arguments(const Kernel& kernel, const Expression& e, const Visit& visit) {
  for (const ExpressionId argument : e.arguments) {
    if (argument) visit(argument);
  }
  if (e.kind != ExpressionKind::Load) return;
  const Access& access = kernel.accesses[e.access];
  for (const ExpressionId other : {access.dynamic, access.when}) {
    if (other) visit(other);
  }
}

/// For each expression, whether it is in the backward slice of `roots`; dynamic indices and guards
/// of loads count as arguments. Roots that are none are ignored. O(expressions).
ExpressionFlags needed(const Kernel& kernel, const std::vector<ExpressionId>& roots);
/// The same; the slice stops at expressions that are already evaluated (`is_known`).
ExpressionFlags needed(const Kernel& kernel, const std::vector<ExpressionId>& roots,
                       const ExpressionFlags& is_known);
/// The expressions that a stage evaluates: its value, its stores,
/// their dynamic indices and guards.
std::vector<ExpressionId> roots_of(const Kernel& kernel, const Stage& stage);

}  // namespace kiln::codegen
