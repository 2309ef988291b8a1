// Stores a carry that its loop also stacks in the stack itself, so that no iteration copies it.
//
// Before: loop (%h, %a, %b) = (%h0): kernel f(%carry, %next); copy %a' = %carry; copy %b' = %next
// After:  loop (%h, %a, %b) = (%h0), carry 0 in %a before in %b after: kernel f(%carry, %next)
#pragma once

#include "backends/codegen/plan/plan.h"

namespace kiln::codegen {

/// Fills `carry_stacks` of a loop of `plan` and removes the copies that they replace from `body`,
/// the loop's plan. Returns whether there are any.
///
/// Iteration t reads the carry from slice t of %a and writes the next one to slice t of %b. Both
/// are parts of one tensor that is one slice longer: %a[t + 1] is %b[t], in a reversed loop %b[t +
/// 1] is %a[t]. The loop copies %h0 to the first slice, and the last slice to %h. With one of the
/// stacks:
///
///   %a alone: an iteration writes the carry to the next iteration's slice of %a, the last to %h.
///   %b alone: an iteration reads the carry from the previous slice of %b, the first from %h0.
///
/// Results of `plan` have separate memory: when one of two stacks is such a result, only `after` is
/// used.
bool stack_carries(const Plan& plan, LoopStep& loop, Plan& body);

}  // namespace kiln::codegen
