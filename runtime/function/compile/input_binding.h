// Checks of a call's inputs: their number, their dims against the placeholders' types, and guards
// between symbolic dims. Prepared once per function; a call only evaluates the sizes.
#pragma once

#include "core/ir/dim_evaluator.h"
#include "core/ir/graph.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kiln::runtime {

/// The user's input that an input of a program belongs to.
struct UserInput {
  enum class Part : std::uint8_t { Whole, Indices, Values, Extent };

  std::size_t number = 0;   // index among the user's inputs
  Part part = Part::Whole;  // else: of a sparse matrix, which is three inputs of the program
};

/// Throws the ValueError for a wrong number of inputs.
[[noreturn]] void reject_input_count(const std::string& function, std::size_t expected,
                                     std::size_t given);

class InputBinding {
 public:
  using DimSpans = std::span<const std::span<const std::int64_t>>;

  InputBinding() = default;
  /// Formats the sizes in messages under the thread's SymbolNames (core/ir/input_names.h).
  /// `sparse`: whether each of the user's inputs is a sparse matrix; missing entries are false.
  InputBinding(std::string function, const std::vector<ir::Value>& inputs,
               const std::vector<ir::Guard>& guards, const std::vector<bool>& sparse = {});

  std::size_t count() const { return inputs_.size(); }
  const ir::Type& type(std::size_t i) const { return inputs_[i].type; }
  const std::string& name(std::size_t i) const { return inputs_[i].name; }
  /// Describes the user's input that input i belongs to: "inputs[1] (y float32[y.0,10])",
  /// "input 1 (unnamed) float32[input_1.0,10]", "inputs[0] (s sparse float32[s.0,2])".
  std::string describe(std::size_t i) const;
  /// Returns the symbols that sizes of inputs bind.
  std::span<const ir::Symbol> symbols() const { return symbols_; }

  /// ValueError unless `given` is count().
  void check_count(std::size_t given) const {
    if (given != inputs_.size()) reject_input_count(function_, inputs_.size(), given);
  }
  /// Checks all inputs' dims, then the guards; sets `values` to the values of symbols().
  /// ValueError naming the input or the guard.
  void check_dims(DimSpans dims, std::vector<std::int64_t>& values) const;

 private:
  struct Input {
    ir::Type type;
    UserInput user;
    std::string name;
    std::string type_text;
    std::vector<ir::DimEvaluator> sizes;    // one per axis
    std::vector<std::string> size_texts;  // one per axis
  };
  struct SymbolAxis {  // the axis that binds a symbol
    std::size_t input, axis;
  };
  struct GuardSizes {
    ir::Guard guard;
    ir::DimEvaluator left, right;
    std::string left_name, right_name;
  };
  void check_input(std::size_t i, std::span<const std::int64_t> given,
                   std::span<const std::int64_t> values) const;
  static void check_guard(const GuardSizes& guard, std::span<const std::int64_t> values);
  [[noreturn]] void fail(std::size_t i, std::span<const std::int64_t> given,
                         const std::string& detail) const;

  std::string function_;
  std::vector<Input> inputs_;
  std::vector<ir::Symbol> symbols_;
  std::vector<SymbolAxis> symbol_axes_;  // one per symbol
  std::vector<GuardSizes> guards_;
};

}  // namespace kiln::runtime
