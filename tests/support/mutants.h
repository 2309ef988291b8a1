// Mutants of files: copies in which a few bytes are replaced.
#pragma once

#include <random>
#include <string>

namespace kiln::testing {

/// Calls run(bytes) with `count` mutants of `good`, in each of which one to four bytes, drawn by
/// `seed`, have other values. REQUIRES: `good` is not empty.
template <class Run>
void for_each_mutant(const std::string& good, int count, unsigned seed, const Run& run) {
  std::mt19937 random(seed);
  for (int i = 0; i < count; ++i) {
    std::string mutant = good;
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
      mutant[random() % mutant.size()] = static_cast<char>(random() % 256);
    }
    run(mutant);
  }
}

}  // namespace kiln::testing
