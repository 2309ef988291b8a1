// Runs a part of kiln doctor in a process of its own: this program again, with the hidden option
// --probe. A process, and not a fork(), which would inherit the state of this one.
#pragma once

#include "tools/kiln/doctor_probe.h"

#include <chrono>
#include <string>
#include <vector>

namespace kiln::tool {

struct ProbeOutcome {
  ProbeAnswer answer;  // empty: the process ended without one
  ProbeAnswer unfinished;  // the fields that it wrote before it ended without the rest
  /// How the process ended, unless it exited normally with an answer: "crashes with SIGSEGV (signal
  /// 11)", "exits with status 3", "hangs: it has not ended after 60 s".
  std::string failure;
  std::string last_library;  // the path of the last library that it opened; empty: unknown
  std::string output;  // its standard output and errors
};

/// Describes how the process ended, unless it exited normally with an answer: "its process crashes
/// with SIGSEGV (signal 11); the last library that it opened is /x/liby.so".
std::string failure_text(const ProbeOutcome& outcome);
/// The last lines that it printed, cut and escaped.
std::vector<std::string> printed_lines(const ProbeOutcome& outcome);

/// Runs probe_backend() without standard input; kills the process after `limit`. Throws IoError if
/// it cannot be started.
ProbeOutcome run_backend_probe(const std::string& name_or_path, const std::string& path,
                               std::chrono::milliseconds limit);
/// The same with check_plugin().
ProbeOutcome run_plugin_probe(const std::string& path, std::chrono::milliseconds limit);
/// The same with probe_selection().
ProbeOutcome run_selection_probe(std::chrono::milliseconds limit);

/// The same with probe_group().
ProbeOutcome run_group_probe(std::chrono::milliseconds limit);

/// The work of these processes, given the words after --probe: writes the answer to the parent.
/// Throws ValueError where the words are none of theirs, and IoError without a parent.
void answer_probe(const std::vector<std::string>& probe);

}  // namespace kiln::tool
