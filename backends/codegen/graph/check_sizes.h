// Known sizes that no memory has, found before anything is built for them: arithmetic behind this
// may fail without a line of the user's to name.
#pragma once

#include "core/ir/node.h"

#include <span>

namespace kiln::codegen {

/// sdk::Failure that names the tensor and its line, when one of known size, bodies included, has
/// more bytes than 63 bits count.
void require_countable(std::span<const ir::Value> roots);

}  // namespace kiln::codegen
