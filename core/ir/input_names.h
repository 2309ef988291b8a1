// Names of unknown sizes in the messages of one function: symbols of unnamed placeholders all print
// as x.0, x.1, ..., and so do those of placeholders with equal names.
#pragma once

#include "core/ir/node.h"

#include <string>
#include <unordered_map>

namespace kiln::ir {

/// While it lives, symbols of unnamed inputs, and those whose name an earlier input has, print on
/// this thread as "input_1.0": axis 0 of inputs[1]. Scopes nest; the innermost one applies.
class InputNames {
 public:
  explicit InputNames(const std::vector<Value>& inputs);
  ~InputNames();
  InputNames(const InputNames&) = delete;
  InputNames& operator=(const InputNames&) = delete;

  /// The name that the present scope of this thread gives the symbol, else its own.
  static const std::string& name_of(const Symbol& symbol);

 private:
  std::unordered_map<std::int64_t, std::string> names_;  // by id
  const InputNames* outer_;
};

}  // namespace kiln::ir
