// Times a row: in each round Kiln, the peers and the calibrations of the limit take turns, for each
// number of threads, so that a drifting clock affects all alike.
#pragma once

#include "tools/kiln/bench/peer.h"
#include "tools/kiln/bench/row.h"

#include <optional>
#include <string>
#include <vector>

namespace kiln::bench {

struct MeasureOptions {
  std::vector<int> threads;
  std::string backend;  // for rows that have a process of their own
  bool tiny = false;
  bool device = false;  // the rows are those of a GPU
  bool operators = false;  // time operator(), too, except in rows with a process of their own
  double seconds = 6;  // of rounds for a row, which has at least three
  std::vector<Peer*> peers;  // ready
};

/// Medians over the rounds of a peer.
struct PeerResult {
  std::string name, form;
  double seconds = 0;
  double ratio = 0;  // of its seconds / ours in the same round
};

/// Medians over the rounds, in seconds.
struct Result {
  std::string row, note;  // as Row has them
  int threads = 1;
  double ours = 0;
  std::optional<double> limit;
  std::vector<PeerResult> peers;  // that have the row, the fastest one first
  std::optional<double> operator_ratio;  // median of operator() / call_into
  std::optional<double> memory;  // planned bytes of temporaries / maximum of their live bytes
};

/// The mean of the two in the middle for an even number of values. REQUIRES: at least one.
double median(std::vector<double> values);

/// One result for each number of threads.
std::vector<Result> measure(const Row& row, const MeasureOptions& options);

/// Measures a row in this process, which runs that row alone; seconds. `begin`: the start of the
/// process by seconds_now(). On a GPU, the time of a first call begins there and so includes the
/// time to open the libraries.
double measure_alone(const Row& row, double begin);

}  // namespace kiln::bench
