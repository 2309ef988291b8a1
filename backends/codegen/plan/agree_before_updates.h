// The agreement of ranks in plans with collectives: a call that fails on one rank must leave the
// variables of all ranks unchanged, so none may write over a variable before all are past failing.
//
// Before: host_call collective_wait (%5) (%1); kernel %6 = %0 - %5 (a new value of %0)
// After:  host_call collective_wait (%5) (%1); host_call collective_agree () ();
//         kernel %6 = %0 - %5
//
// A row update can fail, so that the call follows it: its variable is not updated in place.
#pragma once

#include "backends/codegen/plan/plan.h"

namespace kiln::codegen {

/// Adds a call of the host's function "collective_agree" after the last step that can fail, if the
/// plan waits for a collective. Returns whether it did. REQUIRES: steps are final.
bool agree_before_updates(Program& program);

}  // namespace kiln::codegen
