// The scalar meaning of every elementwise op as C++ text: the one table of the text emitters.
#pragma once

#include "core/ops/op.h"

#include <span>
#include <string>

namespace kiln::codegen {

/// An op over x, y and z of type T, by the rules at the top of core/ops/op.h. The callers round to
/// storage types and flush subnormals.
struct OpText {
  ir::Op op;
  const char* real;    // T is float or double
  const char* whole;   // T is an integer type or Bool; null where the op takes none
  bool truth = false;  // the result is a Bool
};

std::span<const OpText> op_texts();
/// Null when the op has no scalar meaning.
const OpText* find_op_text(ir::Op op);

/// A function template op_<name> for each row.
std::string op_functions();

}  // namespace kiln::codegen
