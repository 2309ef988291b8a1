// Runs calls that must throw. Compares the whole text of the error with the user's file and line,
// then checks that every variable is as before, bit for bit, and that the next call works.
#pragma once

#include "core/types/no_destructor.h"

#include <kiln/k.h>

#include <memory>
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

/// A call without arguments, with its captures. For each lambda, two small functions are
/// instantiated instead of the about 15 of std::function: a third of the time that a table of
/// misuses compiles.
class MisusedCall {
 public:
  template <class Lambda>
  MisusedCall(const Lambda& lambda) : MisusedCall(new Lambda(lambda), &call_or_delete<Lambda>) {}
  void operator()() const;

 private:
  using CallOrDelete = void (*)(void* lambda, bool is_call);
  template <class Lambda>
  static void call_or_delete(void* lambda, bool is_call) {
    if (is_call) {
      (*static_cast<Lambda*>(lambda))();
    } else {
      delete static_cast<Lambda*>(lambda);
    }
  }

  struct Owner;
  /// Takes ownership of `lambda`.
  MisusedCall(void* lambda, CallOrDelete call_or_delete);
  std::shared_ptr<const Owner> owner_;
};

struct Misuse {
  ExpectedError error;
  MisusedCall call;
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
