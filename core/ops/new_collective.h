// Makes collectives, each with an id of its own.
#pragma once

#include "core/ops/op.h"

namespace kiln::ir {

/// A collective of x with these attributes, but a new id if there are several ranks. Not a node
/// that the program has made before, even if their operands are equal here: they may differ on
/// other ranks.
Value new_collective(CollectiveAttrs attrs, const Value& x);

}  // namespace kiln::ir
