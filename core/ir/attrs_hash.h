// A hash of attributes that agrees with their equality.
#pragma once

#include "core/ir/attrs.h"

namespace kiln::ir {

std::size_t hash(const Attrs& attrs);

}  // namespace kiln::ir
