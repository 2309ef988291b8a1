// A wait for other ranks that NCCL does not end by itself: it polls, tells of it, and gives up.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"

#include <chrono>
#include <string>

namespace kiln::cuda {

/// Pauses of a thread that polls, from none to a millisecond.
class RankWait {
 public:
  /// `host` outlives the object. `action`: as restart().
  RankWait(const sdk::Host& host, std::chrono::milliseconds limit, std::string action = "");

  /// Counts the time from now on. `action`: of all ranks, for the log: "all_reduce at m.cpp:3".
  void restart(std::string action);
  /// Logs a warning after 60 s or half the limit, and each time that the wait has doubled. Throws
  /// sdk::Failure of DEADLINE_EXCEEDED after the limit.
  void pause();

 private:
  const sdk::Host& host_;
  std::chrono::milliseconds limit_, warning_{};
  std::string action_;
  std::chrono::steady_clock::time_point begin_;
  int polls_ = 0;
};

}  // namespace kiln::cuda
