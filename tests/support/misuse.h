// Runs calls that must throw. Compares the whole text of the error with the user's file and line,
// then checks that every variable is as before, bit for bit, and that the next call works.
#pragma once

#include "core/types/no_destructor.h"

#include <kiln/k.h>

#include <functional>
#include <string>
#include <typeinfo>
#include <vector>

// A call that must throw is made for its error: it may discard its result.
#pragma GCC diagnostic ignored "-Wunused-result"

namespace kiln::testing {

/// The class of an error, and the user's line at the end of its text.
struct ExpectedError {
  const char* type;  // typeid(...).name()
  Where where;       // unknown: the text ends without a line
};

/// Expects an E with the line `lines_below` lines below this call: the last line of the misuse.
template <class E>
ExpectedError throws(int lines_below = 0, Where here = Where::here()) {
  return {typeid(E).name(), {here.file, here.line + static_cast<unsigned>(lines_below)}};
}

/// Expects an E with that line of this file.
template <class E>
ExpectedError throws_at(unsigned line, Where here = Where::here()) {
  return {typeid(E).name(), {here.file, line}};
}

struct Misuse {
  ExpectedError error;
  std::function<void()> call;
  std::string message;
};

/// Variables of several dtypes, and a function that updates all of them: state that no misuse may
/// change. Misuses of variables and functions use them as operands, too.
class Bystanders {
 public:
  /// The only instance, on the reference backend, never destroyed. Call it before the first misuse.
  static Bystanders& here();

  /// Whether no variable has changed, and a call works, with its updates.
  void check_unharmed();

  /// float32[2] "weights", int32[] "count", bool[2] "flags", float64[] "precise".
  Variable weights, count, flags, precise;
  /// float32[?,2] "x", the input of `advance`.
  Tensor x;
  /// Adds 1 to all numbers and negates the flags; its output is sum(x) + weights[0].
  Function advance;

 private:
  friend class NoDestructor<Bystanders>;
  Bystanders();
  std::vector<Array> values() const;
  int advanced_ = 0;
};

/// Checks the class, text and line of the error that the call throws, and that every bystander is
/// unharmed.
void run(const Misuse& row);
void run(const std::vector<Misuse>& rows);

}  // namespace kiln::testing
