// Solves the symbols of a program from the sizes of a call's inputs.
//
// Example: an input of [2 * n, 8] given as [6, 8] makes n = 3.
#pragma once

#include "backends/codegen/bind/slot_sizes.h"
#include "core/ir/dim_evaluator.h"

#include <optional>
#include <unordered_map>
#include <vector>

namespace kiln::codegen {

/// Dims of each input.
using InputSizes = std::vector<sdk::Dims>;

/// Evaluates dims for one call after the other. Equal dims are compiled once, when one is first
/// evaluated, and evaluated once per call. One thread at a time.
class CallSizes {
 public:
  /// REQUIRES: `inputs` and `guards` outlive the object.
  CallSizes(const std::vector<ir::Value>& inputs, const std::vector<ir::Guard>& guards);

  /// Solves the axes of the inputs in order, then checks them and the guards. REQUIRES: `given` has
  /// the number and the ranks of the inputs. Throws sdk::Failure INVALID_ARGUMENT for sizes that
  /// contradict each other, a static dim or a guard.
  void solve(const InputSizes& given);

  /// The value of `dim` in this call; throws as EvaluateDim does. Use std::cref of this object for
  /// an EvaluateDim that does not copy it.
  std::int64_t operator()(const ir::Dim& dim) const;

 private:
  /// A dim with its value in the call of that number.
  struct Compiled {
    ir::DimEvaluator evaluate;
    std::uint64_t call = 0;
    std::int64_t value = 0;
  };

  struct HashOfDim {
    std::size_t operator()(const ir::Dim& dim) const { return dim.hash(); }
  };
  /// An object of Dim::expr(), which `dim` keeps alive, and its index in compiled_.
  struct KnownDim {
    ir::Dim dim;
    std::size_t number = 0;
  };

  std::size_t number_of(const ir::Dim& dim) const;
  /// The index of the symbol in symbols_; symbols_.size() if no input has it.
  std::size_t index_of(const ir::Symbol& symbol) const;
  std::optional<std::int64_t> value_of(const ir::Symbol& symbol) const;
  bool is_solved(std::size_t symbol) const { return solved_in_[symbol] == call_; }
  void solve_input(std::size_t i, sdk::Dims given);

  const std::vector<ir::Value>& inputs_;
  const std::vector<ir::Guard>& guards_;
  std::vector<std::vector<int>> axes_;  // of each input: the symbol that an axis is; -1: another
  std::vector<ir::Symbol> symbols_;  // of the inputs
  std::vector<std::int64_t> values_;  // of symbols_
  std::vector<std::uint64_t> solved_in_;  // of symbols_: the last call that solved it
  std::uint64_t call_ = 0;
  bool is_complete_ = false;  // this call has solved all symbols
  mutable std::vector<Compiled> compiled_;
  mutable std::unordered_map<ir::Dim, std::size_t, HashOfDim> numbers_;  // in compiled_
  mutable std::unordered_map<const ir::DimExpr*, KnownDim> known_;  // without comparisons
};

}  // namespace kiln::codegen
