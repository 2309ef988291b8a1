// kiln bench: the speed of programs beside what the machine can do and what a peer reaches.
#pragma once

#include <string>
#include <vector>

namespace kiln::bench {

struct Options {
  std::vector<std::string> rows;  // none: all
  std::vector<int> threads{1, 2};
  std::string json, backend, peer, cold;
  bool tiny = false;
};

/// Prints as it goes. Throws ValueError for an unknown row or a bad number of threads, IoError for
/// the file or the peer, and what the rows throw.
void run(const Options& options);

}  // namespace kiln::bench
