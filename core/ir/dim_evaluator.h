// DimEvaluator: a Dim compiled to instructions on a stack, for evaluation at every call without
// lookups, callbacks or (for dims of usual size) allocation. An operation is evaluated once.
#pragma once

#include "core/ir/dim.h"

#include <span>

namespace kiln::ir {

class DimEvaluator {
 public:
  DimEvaluator() = default;
  /// Compiles `dim`. An evaluation takes the value of `symbols[i]` from `values[i]`.
  DimEvaluator(const Dim& dim, std::span<const Symbol> symbols);

  /// Whether every symbol of the dim is among `symbols`.
  bool is_bound() const { return bound_; }
  /// Evaluates. REQUIRES: is_bound(). Throws ValueError on overflow and on division by zero.
  std::int64_t operator()(std::span<const std::int64_t> values) const;

 private:
  /// The actions that push come first, the last of them is Reload: run() compares.
  enum class Action : std::uint8_t { Push, Load, Reload, Add, Mul, FloorDiv, Mod, Max, Min };
  struct Step {
    Action action = Action::Push;
    std::int64_t number = 0;  // Push: the integer; Load, Reload: the index into values, the stack
  };
  /// The entry of the stack that holds the result of each operation.
  using Results = std::unordered_map<const DimAtom*, std::size_t>;

  void compile(const Dim& dim, std::span<const Symbol> symbols, const Results& results);
  static Action action_of(DimOp op);
  void load(const Symbol& symbol, std::span<const Symbol> symbols);
  void push(Action action, std::int64_t number);
  void combine(Action action);
  std::int64_t run(std::span<const std::int64_t> values, std::span<std::int64_t> stack) const;

  std::vector<Step> steps_{{Action::Push, 0}};
  std::size_t depth_ = 0, max_depth_ = 1;  // of the stack
  bool bound_ = true;
};

}  // namespace kiln::ir
