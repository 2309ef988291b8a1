// What is checked of a call's inputs: their number, dims against the placeholders' types, and the
// guards between symbolic dims. Made once per function; a check allocates nothing.
#pragma once

#include "core/ir/graph.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kiln::runtime {

class InputBinding {
 public:
  InputBinding() = default;
  InputBinding(std::string function, const std::vector<ir::Value>& inputs,
               std::vector<ir::Guard> guards);

  std::size_t count() const { return inputs_.size(); }
  const ir::Type& type(std::size_t i) const { return inputs_[i].type; }
  const std::string& name(std::size_t i) const { return inputs_[i].name; }
  /// "inputs[1] (y float32[None,10])": how messages name an input.
  std::string describe(std::size_t i) const;

  /// ValueError when the number differs.
  void check_count(std::size_t given) const;
  /// Checks all inputs' dims, then the guards. ValueError naming the input or the guard.
  void check_dims(std::span<const std::span<const std::int64_t>> dims) const;

 private:
  struct Input {
    ir::Type type;
    std::string name;
  };
  struct Slot {  // a symbol and where its value comes from
    ir::Symbol symbol;
    std::size_t input, axis;
  };
  std::optional<std::int64_t> value_of(const ir::Symbol& symbol,
                                       std::span<const std::span<const std::int64_t>> dims) const;
  void check_input(std::size_t i, std::span<const std::span<const std::int64_t>> dims) const;
  void check_guard(const ir::Guard& guard,
                   std::span<const std::span<const std::int64_t>> dims) const;

  std::string function_;
  std::vector<Input> inputs_;
  std::vector<Slot> slots_;
  std::vector<ir::Guard> guards_;
};

}  // namespace kiln::runtime
