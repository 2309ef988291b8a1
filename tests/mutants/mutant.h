// The fault that this process runs with, in the special build of tests/mutants.
#pragma once

#include <cstdlib>

namespace kiln::test {

/// Of the row of mutants.txt, from 1; 0: none.
inline int chosen_mutant() {
  static const char* const chosen = std::getenv("KILN_TEST_MUTANT");
  static const int number = chosen == nullptr ? 0 : std::atoi(chosen);
  return number;
}

}  // namespace kiln::test
