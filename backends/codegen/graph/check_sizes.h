// Rejects known sizes that exceed memory before later steps compute with them.
//
// Before: any graph. After: the bytes of every tensor of known size are countable in 63 bits.
#pragma once

#include "core/ir/node.h"

#include <span>

namespace kiln::codegen {

/// sdk::Failure that names the tensor and its line, when one of known size, bodies included, has
/// more bytes than 63 bits count.
void require_countable(std::span<const ir::Value> roots);

}  // namespace kiln::codegen
