// kiln bench: the speed of programs beside what the machine can do and what a peer reaches.
#pragma once

#include <string>
#include <vector>

namespace kiln::bench {

struct Options {
  std::vector<std::string> rows;  // none: all
  std::vector<int> threads{1, 2};
  std::string json, backend, peer, cold;
  double seconds = 6;   // of rounds for a row
  bool tiny = false;
  bool device = false;  // the table of a GPU instead of a CPU's
};

/// Prints as it goes, rows without memory and failed ones, too, and throws Error in the end where
/// one failed. Throws ValueError for an unknown row or a bad number of threads, IoError for the
/// file or the peer.
void run(const Options& options);

}  // namespace kiln::bench
