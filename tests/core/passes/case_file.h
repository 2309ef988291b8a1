// Reads the case files of passes, and replaces their expectations; README.md shows their form.
#pragma once

#include "core/passes/pipeline.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::test {

/// A graph and the graph that passes turn it into, as the lines of printed graphs without their
/// first two; $T stands for a dtype, $N for the number of steps, $R for whether the loop runs in
/// reverse. Lines of the file count from 1.
struct PassCase {
  std::string title;
  std::size_t line = 0;  // of "// case:"
  std::vector<passes::Pass> passes;
  std::string before;
  std::size_t before_line = 0;       // the first of `before`
  std::optional<std::string> after;  // nothing if the passes must return the same nodes
  std::size_t after_begin = 0;       // of "// after:"
  std::size_t after_end = 0;         // behind the last line of `after`
};

/// The cases in their order. Throws std::invalid_argument "FILE:LINE: message", where FILE is
/// `file`, for an incomplete case, an unknown pass, a title that occurs twice, a graph that a
/// comment divides, and a text without cases.
std::vector<PassCase> read_cases(const std::string& text, std::string_view file);

/// The text that `one` was read from, with `after` as its expectation.
std::string with_expectation(const std::string& text, const PassCase& one,
                             const std::optional<std::string>& after);

}  // namespace kiln::test
