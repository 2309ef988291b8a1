// The perf map of this process: /tmp/perf-PID.map, in which `perf` looks up the names of code that
// belongs to no file.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"

#include <string>

namespace kiln::cpu {

/// Appends rows "ADDRESS BYTES NAME". Logs a warning if that fails, once in a process. Any thread.
void append_to_perf_map(const std::string& rows, const sdk::Host& host);

}  // namespace kiln::cpu
