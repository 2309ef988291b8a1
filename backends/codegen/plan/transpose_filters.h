// Gives convolutions their filters in the layout of the target's library: [filters, spatial..,
// channels of a group], where the graph has [spatial.., channels of a group, filters]. Kernels of
// the plan transpose them, so that executors cache the filters that are variables
// (bind/cached_steps.h), and all convolutions with one filter share one transposition.
//
// Before: convolution %3 = %0 conv %1
// After:  kernel k0_transpose_filter(%1, %4); convolution %3 = %0 conv %4
#pragma once

#include "backends/codegen/plan/plan.h"

namespace kiln::codegen {

/// Changes the filters of all convolutions of the plan, among them those that are results. `plan`:
/// of the program or of a body; `names`: those of its computation. Appends the kernels to
/// `program`. Returns whether a step changed. REQUIRES: LibraryClaims::takes_filters_first().
bool transpose_filters(Plan& plan, const SizeNames& names, Program& program);

}  // namespace kiln::codegen
