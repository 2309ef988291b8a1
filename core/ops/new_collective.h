// Makes collectives, each with an id of its own.
#pragma once

#include "core/ops/op.h"

namespace kiln::ir {

/// Whether no other process takes part: the result is then the operand. A part of a single rank of
/// several takes part in the calls of all, since other parts may have more.
inline bool is_of_one_process(const CollectiveAttrs& attrs) {
  return attrs.group == 0 && attrs.ranks == 1;
}

/// A collective of x with these attributes, but a new id if there are several processes. Not a node
/// that the program has made before, even if their operands are equal here: they may differ on
/// other ranks.
Value new_collective(CollectiveAttrs attrs, const Value& x);

}  // namespace kiln::ir
