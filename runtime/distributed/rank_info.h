// The exchange of all ranks at init: they divide a machine's processors among those that run on it,
// and take one random state.
#pragma once

#include <kiln/where.h>

#include "runtime/distributed/group.h"

namespace kiln::runtime::distributed {

/// Sets the process's random state, unless the user has set it, to that of the root, so that ranks
/// make equal initial values. Sets the number of threads, unless it has been set, to this rank's
/// part of the processors that it may use: all of them if the launcher bound it to its own, else
/// divided by the ranks that share them. Logs a warning if it is bound to fewer than its part of
/// the machine. An operation of all ranks, with the errors of Group::run.
void exchange_rank_info(Group& world, Where where);

}  // namespace kiln::runtime::distributed
