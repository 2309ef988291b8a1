// Run-time checks of conditions on symbolic dims that are unknown when the graph is built.
#pragma once

#include "core/ir/node.h"

#include <string>

namespace kiln::ir {

/// A run-time check on symbolic dims (== or <=). Guards of straight-line code are checked at each
/// call before anything runs, guards of a lambda when it is entered. `fact`: the text of the error,
/// in terms of the user's operands.
struct Guard {
  enum class Kind : std::uint8_t { Equal, LessEqual } kind = Kind::Equal;
  Dim left, right;
  std::string fact;
  Origin origin;

  /// Compares kind, dims and text, not the origin.
  bool operator==(const Guard& other) const;
  /// Whether the condition holds for these values of `left` and `right`.
  bool holds(std::int64_t left_value, std::int64_t right_value) const;
  /// `fact` and the values: "add: ... differ; in this call n is 3 and m is 4". An empty name stands
  /// for the printed dim.
  std::string failure(std::int64_t left_value, std::int64_t right_value,
                      const std::string& left_name = "", const std::string& right_name = "") const;
};

/// Appends the guards of `more` that `guards` lacks.
void add_guards(std::vector<Guard>& guards, const std::vector<Guard>& more);

/// " (at train.cpp:88)", or nothing when the line is unknown.
std::string line_of(const Guard& guard);

/// Evaluates the guards in order: the text of the first that does not hold, with the line of the
/// user's program; empty when all hold.
template <class Evaluate>
std::string first_failure(const std::vector<Guard>& guards, const Evaluate& evaluate) {
  for (const Guard& guard : guards) {
    const std::int64_t left = evaluate(guard.left), right = evaluate(guard.right);
    if (!guard.holds(left, right)) return guard.failure(left, right) + line_of(guard);
  }
  return {};
}

}  // namespace kiln::ir
