// The part of kiln doctor about groups of ranks, which opens a communicator.
#pragma once

#include "tools/kiln/doctor_probe.h"

namespace kiln::tool {

/// Returns lines "name: text": the launcher that `kiln launch` uses, the communicator that init()
/// opens, and its report (kiln_communicator_report.h), for this process or for those of the
/// launcher. Without any MPI, or settings for it, the launcher is the only line.
ProbeAnswer probe_group();

}  // namespace kiln::tool
