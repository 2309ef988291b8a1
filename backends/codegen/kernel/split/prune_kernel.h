// Removes what a kernel no longer uses after stages were taken from it.
#pragma once

#include "backends/codegen/kernel/build/built_kernel.h"

namespace kiln::codegen {

/// Drops expressions, accesses and operands that no stage needs; operands that are left are marked
/// as read or written by what is left. Sizes stay.
void prune(BuiltKernel& built);

}  // namespace kiln::codegen
