// Guards: conditions on symbolic dims that can only be checked at run time.
#pragma once

#include "core/ir/dim.h"
#include "core/ir/origin.h"

#include <kiln/error.h>

#include <string>

namespace kiln::ir {

/// A run-time check of `left == right` or `left <= right`. Guards of straight-line code are checked
/// at the start of each call, before anything runs; guards of a lambda whenever it is entered.
struct Guard {
  /// The numbers are part of the module format.
  enum class Kind : std::int64_t { Equal, LessEqual } kind = Kind::Equal;
  Dim left, right;
  std::string message;  // of the error, in terms of the user's operands
  Origin origin;  // of the node that demands it

  /// Compares kind, dims and message, not the origin.
  bool operator==(const Guard& other) const;
  /// Whether the condition holds for these values of `left` and `right`.
  bool holds(std::int64_t left_value, std::int64_t right_value) const;
  /// The text of the error: "add: .. differ; in this call n is 3 and m is 4". Where a name is
  /// empty, the dim is printed instead.
  std::string failure(std::int64_t left_value, std::int64_t right_value,
                      const std::string& left_name = "", const std::string& right_name = "") const;
};

/// " (at train.cpp:88)"; empty if the line is unknown.
std::string line_of(const Guard& guard);

/// Evaluates a guard: the text of the error if it is violated, else empty. A dim without a value
/// (division by zero, overflow) violates the guard. Names: as for Guard::failure.
template <class EvaluateLeft, class EvaluateRight>
std::string failure_of(const Guard& guard, const EvaluateLeft& left, const EvaluateRight& right,
                       const std::string& left_name = "", const std::string& right_name = "") {
  try {
    const std::int64_t left_value = left(), right_value = right();
    if (guard.holds(left_value, right_value)) return {};
    return guard.failure(left_value, right_value, left_name, right_name);
  } catch (const ValueError& error) {
    return guard.message + "; in this call " + error.message();
  }
}

/// Evaluates guards in order: the text and source line of the first that is violated; empty if all
/// hold.
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
