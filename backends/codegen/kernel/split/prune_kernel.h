// Dead code elimination in a kernel, after stages were removed from it.
#pragma once

#include "backends/codegen/kernel/build/built_kernel.h"

namespace kiln::codegen {

/// Removes expressions, accesses and operands that no stage needs, and recomputes the read and
/// written flags of the remaining operands. Sizes stay.
void prune(BuiltKernel& built);

}  // namespace kiln::codegen
