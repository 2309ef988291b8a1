// Loop-invariant expressions: hoisted out of the loops over inner points.
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// For each expression, whether it is equal at all inner points of an outer one, depends on no
/// index check, and only on operands that the kernel does not write.
ExpressionFlags loop_invariants(const Kernel& kernel);

}  // namespace kiln::codegen
