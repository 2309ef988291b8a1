// Hashes attributes, consistently with their operator==.
#pragma once

#include "core/ir/attrs.h"

namespace kiln::ir {

std::size_t hash(const Attrs& attrs);

}  // namespace kiln::ir
