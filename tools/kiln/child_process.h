// Starts programs and waits for them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::tool {

/// A descriptor of this process, and the number that a child has it by.
struct PassedDescriptor {
  int own, of_child;
};

struct ChildCommand {
  std::vector<std::string> words;  // the program, a path or a name that PATH has; its arguments
  std::vector<std::string> variables = {};  // "NAME=value"; empty: those of this process
  /// Passed in this order, so that `own` of none may be `of_child` of one before it.
  /// Descriptors of this process that are not close-on-exec are inherited, too.
  std::vector<PassedDescriptor> descriptors = {};
};

/// Returns the variables of this process, but for those that begin with `replaced`, and `setting`.
std::vector<std::string> variables_with(const std::string& setting, std::string_view replaced);

/// Starts the program, without a shell, and sets `child`. Returns 0 or the error number, ENOENT if
/// there is no such program.
int start_child(const ChildCommand& command, pid_t& child);

/// Waits for the process, and kills it after `limit`. Returns how it ended, "crashes with SIGSEGV
/// (signal 11)", "exits with status 3", "hangs: it has not ended after 60 s"; empty: it exited with
/// status 0.
std::string wait_for(pid_t child, std::chrono::milliseconds limit);

/// Waits for the process without a limit. Returns its status as a shell has it: 128 and more for a
/// signal. Interrupts from the terminal end the child alone.
int wait_for_status(pid_t child);

}  // namespace kiln::tool
