// Conditions on symbolic dims that could not be settled when the graph was built.
#pragma once

#include "core/ir/node.h"

#include <string>

namespace kiln::ir {

/// An equality or order of dims, checked at run time before the code that relies on it: those of
/// straight-line code at each call before anything runs, those of a lambda on entering it. `fact`
/// is the text of the error, in terms of the user's operands.
struct Guard {
  enum class Kind : std::uint8_t { Equal, LessEqual } kind = Kind::Equal;
  Dim left, right;
  std::string fact;
  Origin origin;

  /// The same condition with the same text; the line is no part of it.
  bool operator==(const Guard& other) const;
  /// Whether the condition holds for these values of `left` and `right`.
  bool holds(std::int64_t left_value, std::int64_t right_value) const;
  /// `fact` and the values: "add: ... differ; in this call n is 3 and m is 4". The names are those
  /// of `left` and `right`; unknown to a caller, they are the dims as text.
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
