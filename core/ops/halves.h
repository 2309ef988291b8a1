// float16 and bfloat16, the storage types: sums of more than one node compute in float32 and round
// once, by the rules at the top of op.h.
#pragma once

#include "core/ir/node.h"

namespace kiln::ir {

constexpr bool is_half(DType dtype) { return dtype == DType::Float16 || dtype == DType::BFloat16; }

/// Casts float16 and bfloat16 to float32; returns other x as it is.
Value widened(const Value& x);
/// The same op on widened operands.
NodeRef widened(const Node& node);

}  // namespace kiln::ir
