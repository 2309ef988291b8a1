// Carries of loops that are also stacked lie in their stacks, so that no iteration copies them.
//
// Before: loop (%h, %a, %b) = (%h0): kernel f(%carry, %next); copy %a' = %carry; copy %b' = %next
// After:  loop (%h, %a, %b) = (%h0), carry 0 in %a before in %b after: kernel f(%carry, %next)
#pragma once

#include "backends/codegen/plan/plan.h"

namespace kiln::codegen {

/// Fills `carry_stacks` of a loop of `plan` and drops the copies that they replace from `body`, the
/// loop's. Gives whether there are any.
///
/// An iteration finds the carry in its slice of %a and leaves it in its slice of %b. Both are parts
/// of one tensor that is one slice longer: %a[t + 1] is %b[t], in a reversed loop %b[t + 1] is
/// %a[t]. The loop copies %h0 to the first slice, and the last one to %h. With one of the stacks:
///
///   %a alone: an iteration leaves the carry in the next one's slice of %a, the last one in %h.
///   %b alone: an iteration finds the carry in the previous one's slice of %b, the first in %h0.
///
/// Results of `plan` lie in memory of their own: when one of two stacks is such a result, `after`
/// alone is used.
bool stack_carries(const Plan& plan, LoopStep& loop, Plan& body);

}  // namespace kiln::codegen
