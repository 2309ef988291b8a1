// Run-time checks of conditions on symbolic dims that are unknown when the graph is built.
#pragma once

#include "core/ir/dim.h"
#include "core/ir/origin.h"

#include <kiln/error.h>

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

/// The text of a guard that does not hold; empty when it holds. A dim that has no value (a division
/// by zero, more than 64 bits) violates the guard. Names: as for Guard::failure.
template <class EvaluateLeft, class EvaluateRight>
std::string failure_of(const Guard& guard, const EvaluateLeft& left, const EvaluateRight& right,
                       const std::string& left_name = "", const std::string& right_name = "") {
  try {
    const std::int64_t left_value = left(), right_value = right();
    if (guard.holds(left_value, right_value)) return {};
    return guard.failure(left_value, right_value, left_name, right_name);
  } catch (const ValueError& error) {
    return guard.fact + "; in this call " + error.message();
  }
}

/// Evaluates the guards in order: the text of the first that does not hold, with the line of the
/// user's program; empty when all hold.
template <class Evaluate>
std::string first_failure(const std::vector<Guard>& guards, const Evaluate& evaluate) {
  for (const Guard& guard : guards) {
    const std::string failure = failure_of(
        guard, [&] { return evaluate(guard.left); }, [&] { return evaluate(guard.right); });
    if (!failure.empty()) return failure + line_of(guard);
  }
  return {};
}

}  // namespace kiln::ir
