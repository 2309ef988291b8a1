// Timing a row: in every round the work, the peer's and the calibrations of its limit are measured
// one after the other, for each number of threads, so that a drifting clock meets all alike.
#pragma once

#include "tools/kiln/bench/peer.h"
#include "tools/kiln/bench/row.h"

#include <optional>
#include <string>
#include <vector>

namespace kiln::bench {

struct MeasureOptions {
  std::vector<int> threads;
  std::string backend;  // for the processes of cold rows
  bool tiny = false;
  Peer* peer = nullptr;  // may be null
};

/// Medians over the rounds, in seconds.
struct Result {
  std::string row;
  int threads = 1;
  double ours = 0;
  std::optional<double> limit, peer;
  std::optional<double> ratio;  // median of peer / ours
  std::string peer_form;
  int rounds = 0;
};

/// One result for each number of threads.
std::vector<Result> measure(const Row& row, const MeasureOptions& options);

/// Makes a cold row's work once, in this process; seconds until its first result.
double measure_cold(const Row& row);

}  // namespace kiln::bench
