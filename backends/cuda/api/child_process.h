// Runs programs of the toolkit by posix_spawn(), without a shell.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace kiln::cuda::api {

struct ChildOutcome {
  std::string failure;  // the reason why it did not exit, such as "does not end"; else empty
  int status = 0;       // of exit(), or 128 + the number of the signal
  std::string output, errors;
};

/// Runs the program at this absolute path, without standard input, with the environment of the
/// process, and waits until it ends; kills it when it takes longer than `limit`. `arguments` are
/// those after the name. The status is 0 where the process ignores SIGCHLD or another thread waits
/// for all children. Safe from any thread.
ChildOutcome run_child(const std::string& path, const std::vector<std::string>& arguments,
                       std::chrono::milliseconds limit);

}  // namespace kiln::cuda::api
