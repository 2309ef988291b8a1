// A misuse is a call that must throw. The runner compares the whole text, with the user's file and
// line, and then looks at what must hold after any error: every variable is as before, bit for bit,
// and the next call works.
#pragma once

#include <kiln/k.h>

#include <functional>
#include <string>
#include <vector>

namespace kiln::testing {

enum class Fault { Value, Type, NotImplemented, Config, Backend, Io };

struct Misuse {
  /// The line where the last argument ends the call; 0 when the error has none.
  unsigned line;
  Fault fault;
  std::function<void()> call;
  std::string message;
};

/// Variables of several dtypes, and a function that updates all of them. They stand by while
/// something else goes wrong, or are what it goes wrong with.
class Bystanders {
 public:
  /// Those of the process, on the reference backend. Make them before a test breaks what it breaks.
  static Bystanders& here();

  /// Whether all variables are as they were, and a call then works, with its updates.
  void check_unharmed();

  /// float32[2] "weights", int32[] "count", bool[2] "flags", float64[] "precise".
  Variable weights, count, flags, precise;
  /// float32[?,2] "x", the input of `advance`.
  Tensor x;
  /// Adds 1 to all numbers and negates the flags; its output is sum(x) + weights[0].
  Function advance;

 private:
  Bystanders();
  std::vector<Array> values() const;
  int advanced_ = 0;
};

/// Checks class, text and place of what the call throws, and that nothing came to harm. `file` is
/// that of the rows, `__FILE__`.
void run(const Misuse& row, const char* file);
void run(const std::vector<Misuse>& rows, const char* file);

}  // namespace kiln::testing
