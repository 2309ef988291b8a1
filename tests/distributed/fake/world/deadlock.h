// Detects that no rank can ever go on.
#pragma once

#include "tests/distributed/fake/world/world.h"

namespace kiln::fake {

/// Breaks the world if every rank that has neither closed nor ended is idle or in a split, and none
/// of their transfers is complete: exact, as an idle rank promises to start nothing. The error
/// names each rank, its transfers and the ranks that have not started them. Call it under the lock
/// after each change by which a rank stops. O(transfers in progress).
void look_for_deadlock(World& world);

}  // namespace kiln::fake
