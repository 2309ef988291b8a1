// The seeds of KILN_RANDOM_PROGRAMS, for tests that repeat single programs.
#pragma once

#include "tests/support/catch.h"

#include <cstdint>
#include <cstdlib>

namespace kiln::testing {

/// The seeds [first, first + count).
struct Seeds {
  std::uint64_t first = 0, count = 1;
};

/// KILN_RANDOM_PROGRAMS: FIRST or FIRST:COUNT. REQUIRES: it is set.
inline Seeds wanted_seeds() {
  const char* wanted = std::getenv("KILN_RANDOM_PROGRAMS");
  REQUIRE(wanted != nullptr);
  char* rest = nullptr;
  Seeds seeds;
  seeds.first = std::strtoull(wanted, &rest, 10);
  if (*rest == ':') seeds.count = std::strtoull(rest + 1, nullptr, 10);
  return seeds;
}

}  // namespace kiln::testing
