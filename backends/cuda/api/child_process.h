// Runs programs of the toolkit without a shell.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace kiln::cuda::api {

struct ChildOutcome {
  std::string failure;  // why there is no status, such as "does not end"; empty: it ended
  int status = 0;       // of exit(), or 128 and the number of the signal
  std::string output, errors;
};

/// Runs the program at this absolute path, without standard input, with the environment of the
/// process, and waits until it ends; kills it when it takes longer than `limit`. `arguments` are
/// those after the name.
ChildOutcome run_child(const std::string& path, const std::vector<std::string>& arguments,
                       std::chrono::milliseconds limit);

}  // namespace kiln::cuda::api
