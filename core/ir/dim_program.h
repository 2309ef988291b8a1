// A Dim made ready for evaluation at every call: a few steps over a stack, without lookups by
// symbol, callbacks or allocation.
#pragma once

#include "core/ir/dim.h"

#include <span>

namespace kiln::ir {

class DimProgram {
 public:
  DimProgram() = default;
  /// `symbols[i]` has its value at `values[i]` of an evaluation.
  DimProgram(const Dim& dim, std::span<const Symbol> symbols);

  /// Whether every symbol of the dim is among `symbols`.
  bool is_bound() const { return bound_; }
  /// REQUIRES: is_bound(). Throws ValueError on overflow and on division by zero, as evaluate().
  std::int64_t operator()(std::span<const std::int64_t> values) const;

 private:
  enum class Action : std::uint8_t { Push, Load, Add, Mul, FloorDiv, Mod, Max, Min };
  struct Step {
    Action action = Action::Push;
    std::int64_t number = 0;  // Push: the integer; Load: which value
  };

  void compile(const Dim& dim, std::span<const Symbol> symbols);
  void compile(const DimAtom& atom, std::span<const Symbol> symbols);
  void push(Action action, std::int64_t number);
  void combine(Action action);
  std::int64_t run(std::span<const std::int64_t> values, std::span<std::int64_t> stack) const;

  std::vector<Step> steps_{{Action::Push, 0}};
  std::size_t depth_ = 0, most_ = 1;  // of the stack
  bool bound_ = true;
};

}  // namespace kiln::ir
