// Permutations of axes, for passes that move them.
#pragma once

#include "core/ir/node.h"

namespace kiln::codegen {

/// The permutation that undoes `axes`.
ir::Ints inverse(const ir::Ints& axes);

/// permute(permute(x, first), second) as one permutation.
ir::Ints composed(const ir::Ints& first, const ir::Ints& second);

/// permute(broadcast(x), axes) as broadcast(permute(x)). REQUIRES: `value` is a Broadcast.
ir::Value permuted_broadcast(const ir::Value& value, const ir::Ints& axes);

}  // namespace kiln::codegen
