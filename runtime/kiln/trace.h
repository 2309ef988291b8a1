// A trace of what the process does and when, for Perfetto (ui.perfetto.dev) and chrome://tracing.
#pragma once

#include <kiln/export.h>
#include <kiln/string_argument.h>
#include <kiln/where.h>

namespace kiln {

/// Starts a trace: from now on, the passes and parts of compilations, calls of functions, the steps
/// of each call with the K function and line that they come from, copies between host and backend,
/// the work of pool threads, and on `cuda` the steps on the device by its own clock are written to
/// the file at `path`, a JSON array in the Trace Event Format. "%p" in the path stands for the
/// number of the process. The file is complete after stop_trace, or when the process exits; one of
/// a process that was killed can be loaded, too. The environment variable KILN_TRACE=file.json
/// starts a trace at the first compilation; if another process writes that file, such as one that
/// ran this program, the trace is file.json.PID, which a warning says. Traced calls are slower:
/// about a microsecond for each step, and `cuda` runs no CUDA graphs. A file that cannot grow ends
/// the trace with a warning. A child of fork() begins without a trace; it writes one of its own
/// only if KILN_TRACE has "%p", or by start_trace. Thread-safe.
/// Errors: ValueError for an empty path, and while another trace is written; IoError if the file
/// cannot be created, is no regular file but a symbolic link, a FIFO or a device, or is written by
/// another process.
///     K::start_trace("trace-%p.json");
///     const auto y = K::eval(K::constant({1., 2.}) + 1);
///     K::stop_trace();
///     y;  // [2. 3.]
KILN_API void start_trace(const StringArgument& path, Where where = Where::here());

/// Completes the file of the trace. Does nothing if none is being written. Thread-safe.
/// Errors: IoError if the last events cannot be written.
///     K::stop_trace();
///     K::eval(K::constant({1., 2.}));  // [1. 2.]
KILN_API void stop_trace(Where where = Where::here());

}  // namespace kiln
