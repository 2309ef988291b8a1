// kiln compare: how far the results of two backends, or of a graph and its compiled form, differ.
#pragma once

#include "tools/kiln/module_runner.h"

#include <iosfwd>
#include <string>
#include <vector>

namespace kiln::tool {

struct CompareOptions {
  std::vector<std::string> backends;
  double tolerance = 1e-5;  // relative to the larger of 1 and the element
  bool as_written = false;
};

/// The largest difference relative to the larger of 1 and the element of b; infinite where shapes
/// differ or one element alone is NaN.
double difference(const Array& a, const Array& b);

/// Runs the module with the arguments of `run`, prints the largest difference of each result and
/// "equal" or "different"; returns whether all are within the tolerance. as_written: compares each
/// backend after the passes (reference and cpu unless given) with `reference` without passes;
/// otherwise compares two backends without passes. Errors: ValueError for another number of
/// backends.
bool compare(const module::Module& module, const RunOptions& run, const CompareOptions& options,
             std::ostream& out);

}  // namespace kiln::tool
