// kiln bench: the speed of programs beside what the machine can do and what peers reach.
#pragma once

#include <string>
#include <vector>

namespace kiln::bench {

struct Options {
  std::vector<std::string> rows;  // none: all
  std::vector<int> threads{1, 2};
  std::string json, backend, cold;
  std::vector<std::string> peers;  // commands
  double seconds = 6;   // of rounds for a row
  bool tiny = false;
  bool device = false;  // the table of a GPU instead of a CPU's
  bool operators = false;  // operator() beside call_into
};

/// Prints each row when it is measured, or the reason why it has no result. After the last row,
/// throws Error where one failed, but not where the device lacked memory. Throws ValueError for an
/// unknown row or a bad number of threads, IoError for the file or a peer.
void run(const Options& options);

}  // namespace kiln::bench
