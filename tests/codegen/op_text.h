// The scalar meaning of every elementwise op as C++ text: the one table that a text emitter has.
// Read kernel_text.h next.
#pragma once

#include "core/ops/op.h"

#include <span>
#include <string>

namespace kiln::test {

/// What an op is over x, y and z of type T, by the rules at the top of core/ops/op.h. Rounding to
/// a storage type and flushing of subnormals come around it.
struct OpText {
  ir::Op op;
  const char* real;   // T is float or double
  const char* whole;  // T is an integer type or Bool; null where the op takes none
  bool truth = false;  // the result is a Bool
};

std::span<const OpText> op_texts();
/// Null when the op has no scalar meaning.
const OpText* find_op_text(ir::Op op);

/// Types, loads and stores, rounding, casts, random numbers, and a function template op_<name> for
/// each row: what the text of every kernel begins with. It includes nothing.
const std::string& text_prelude();

}  // namespace kiln::test
