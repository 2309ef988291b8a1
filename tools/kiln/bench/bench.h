// kiln bench: times programs beside the limits of the machine and beside other libraries.
#pragma once

#include <string>
#include <vector>

namespace kiln::bench {

struct Options {
  std::vector<std::string> rows;  // none: all
  std::vector<int> threads{1, 2};  // counts to measure, each from 1 to 256
  std::string json, backend, cold;
  std::vector<std::string> peers;  // commands
  double seconds = 6;   // of rounds for a row
  bool tiny = false;
  bool device = false;  // the table of a GPU instead of a CPU's
  bool operators = false;  // operator() beside call_into
  bool ranks = false;  // the rows of run_ranks instead
};

/// Measures the rows and prints each result, or the reason why there is none. Errors: ValueError
/// for an unknown row, IoError for the file or a peer; after the last row, Error where a row failed
/// other than for lack of device memory.
void run(const Options& options);
/// Times sums and a training step of the ranks that a launcher started, and prints them on the
/// root; without a launcher, prints that they are left out. Errors: those of distributed::init.
void run_ranks(const Options& options);

}  // namespace kiln::bench
