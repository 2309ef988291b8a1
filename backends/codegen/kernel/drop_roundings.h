// Drops roundings between arithmetic expressions of float16 or bfloat16, which compute in float32.
//
// Before: y = (x * 0.5 + 1) * x, three expressions of float16, each rounded
// After:  y = float16((float32(x) * 0.5 + 1) * float32(x)), rounded once
#pragma once

#include "backends/codegen/kernel/kernel.h"

namespace kiln::codegen {

/// Makes an expression of float16 or bfloat16 one of float32 where all that read it are arithmetic
/// expressions of its dtype, or conversions of terms that are added in float32. Roundings before
/// stores, comparisons, other casts and ops with OpDef::rounds_first stay, so a value that one of
/// them reads has its rounded bits in all expressions of the kernel. Returns whether the kernel
/// changed. O(expressions).
bool drop_roundings(Kernel& kernel);

}  // namespace kiln::codegen
