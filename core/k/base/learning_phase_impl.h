// The placeholder behind learning_phase(), which lives until clear_session(); 0 unless fed.
#pragma once

#include "core/ir/node.h"

namespace kiln {

/// The current placeholder; empty if there is none.
ir::Value learning_phase_placeholder();
/// The current placeholder; creates it if there is none.
ir::Value make_learning_phase_placeholder();
/// Drops it, for clear_session().
void reset_learning_phase_placeholder();

}  // namespace kiln
