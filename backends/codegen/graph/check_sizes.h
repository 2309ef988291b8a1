// Rejects tensors whose static size overflows, so that later passes may multiply sizes unchecked.
#pragma once

#include "core/ir/node.h"

#include <span>

namespace kiln::codegen {

/// Throws OutOfMemory, naming the tensor and its source line, when a tensor of static size has more
/// than 2^63 - 1 bytes. Bodies of loops and branches are included.
void require_countable(std::span<const ir::Value> roots);

}  // namespace kiln::codegen
