// The placeholder behind learning_phase(): one per session, 0 when it is not fed.
#pragma once

#include "core/ir/node.h"

namespace kiln {

/// The placeholder in use; empty when none has been asked for.
ir::Value learning_phase_placeholder();
/// Makes it when there is none.
ir::Value make_learning_phase_placeholder();
/// Forgets it: clear_session().
void reset_learning_phase_placeholder();

}  // namespace kiln
