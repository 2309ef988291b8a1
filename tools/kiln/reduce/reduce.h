// Delta debugging of a program on two backends (Zeller and Hildebrandt, 2002).
#pragma once

#include "tools/kiln/reduce/isolated_run.h"

#include <iosfwd>
#include <optional>

namespace kiln::tool {

struct ReduceOptions {
  std::array<ComparedRun, 2> runs;
  double tolerance = 1e-5;  // as CompareOptions::tolerance
  std::int64_t random_call = 0;
  std::chrono::milliseconds limit{60000};  // of one run
};

struct Reduction {
  Program program;
  Observation seen;  // of the program
};

/// Finds a smaller program on which the backends still differ by more than the tolerance, or one
/// fails as it does at first. Returns nothing if they agree, or fail alike. The same program gives
/// the same result. Prints progress. REQUIRES: as IsolatedRuns and Program. Throws IoError.
std::optional<Reduction> reduce(Program program, const ReduceOptions& options, std::ostream& out);

/// Describes an observation: "cpu fails: ...", "the largest difference is 0.5".
std::string describe(const Observation& seen, const ReduceOptions& options);

}  // namespace kiln::tool
