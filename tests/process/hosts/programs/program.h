// Shared by the programs: a failed expectation is named, and ends the program with status 1.
#pragma once

#include <cstdio>
#include <cstdlib>

inline void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::_Exit(1);
}

/// The status of a program whose expectations all held.
inline int finished() {
  std::puts("all expectations held");
  std::fflush(stdout);
  return 0;
}
