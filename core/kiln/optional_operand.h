// OptionalOperand: an operand that may be None, such as a bound of clip or the initializer of a
// fold.
#pragma once

#include <kiln/tensor.h>

#include <optional>
#include <type_traits>

namespace kiln {

/// A number, a tensor, or None.
class KILN_API OptionalOperand {
 public:
  OptionalOperand(NoneType) {}                                          // NOLINT
  OptionalOperand(const Operand& value) : value_(value) {}              // NOLINT
  OptionalOperand(const Tensor& value, Where where = Where::here())     // NOLINT
      : value_(Operand(value, where)) {}
  template <class Number, std::enable_if_t<is_operand_number_v<Number>, int> = 0>
  OptionalOperand(Number number, Where where = Where::here())           // NOLINT
      : value_(Operand(number, where)) {}

  bool is_none() const { return !value_; }
  /// REQUIRES: not is_none().
  const Operand& value() const { return *value_; }

 private:
  std::optional<Operand> value_;
};

}  // namespace kiln
