// Pinned nodes: those that must not be executed speculatively, where their lambda might not run.
#pragma once

#include "core/ops/op.h"

namespace kiln::ir {

/// Whether a node must not be hoisted out of its lambda even if its operands are available outside:
/// it can fail (guards, run-time indices), reads state (random draws, host calls), or holds a
/// lambda with guards or pinned nodes. Derived from its OpDef.
bool is_pinned(const Node& node);

}  // namespace kiln::ir
