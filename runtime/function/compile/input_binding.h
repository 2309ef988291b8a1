// What is checked of a call's inputs: their number, dims against the placeholders' types, and the
// guards between symbolic dims. Made once per function, with every size ready for evaluation.
#pragma once

#include "core/ir/dim_program.h"
#include "core/ir/graph.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kiln::runtime {

/// How the user knows an input of a program.
struct UserInput {
  enum class Part : std::uint8_t { Whole, Indices, Values, Extent };

  std::size_t number = 0;   // among the user's inputs
  Part part = Part::Whole;  // of a sparse matrix, which is three inputs of a program
};

class InputBinding {
 public:
  using DimSpans = std::span<const std::span<const std::int64_t>>;

  InputBinding() = default;
  /// Sizes have the names in messages that they print as here (core/ir/input_names.h). `sparse`:
  /// which of the user's inputs are matrices in three parts; those beyond its end are not.
  InputBinding(std::string function, const std::vector<ir::Value>& inputs,
               const std::vector<ir::Guard>& guards, const std::vector<bool>& sparse = {});

  std::size_t count() const { return inputs_.size(); }
  const ir::Type& type(std::size_t i) const { return inputs_[i].type; }
  const std::string& name(std::size_t i) const { return inputs_[i].name; }
  /// "inputs[1] (y float32[y.0,10])", "input 1 (unnamed) float32[input_1.0,10]", "inputs[0] (s
  /// sparse float32[s.0,2])": how messages name an input, or the user's one that it is a part of.
  std::string describe(std::size_t i) const;
  /// The symbols that inputs give a value to.
  std::span<const ir::Symbol> symbols() const { return symbols_; }

  /// ValueError when the number differs.
  void check_count(std::size_t given) const;
  /// Checks all inputs' dims, then the guards. ValueError naming the input or the guard. Gives the
  /// values of symbols().
  std::vector<std::int64_t> check_dims(DimSpans dims) const;

 private:
  struct Input {
    ir::Type type;
    UserInput user;
    std::string name;
    std::string type_text;
    std::vector<ir::DimProgram> sizes;    // one per axis
    std::vector<std::string> size_texts;  // likewise
  };
  struct Place {  // where the value of a symbol comes from
    std::size_t input, axis;
  };
  struct GuardSizes {
    ir::Guard guard;
    ir::DimProgram left, right;
    std::string left_name, right_name;
  };
  void check_input(std::size_t i, std::span<const std::int64_t> given,
                   std::span<const std::int64_t> values) const;
  static void check_guard(const GuardSizes& guard, std::span<const std::int64_t> values);
  [[noreturn]] void fail(std::size_t i, std::span<const std::int64_t> given,
                         const std::string& fact) const;

  std::string function_;
  std::vector<Input> inputs_;
  std::vector<ir::Symbol> symbols_;
  std::vector<Place> places_;  // one per symbol
  std::vector<GuardSizes> guards_;
};

/// Throws the ValueError of a call with another number of inputs.
[[noreturn]] void refuse_count(const std::string& function, std::size_t wanted, std::size_t given);

}  // namespace kiln::runtime
