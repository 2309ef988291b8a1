// The table of elementwise ops as C++ text, shared by all text emitters.
#pragma once

#include "core/ops/op.h"

#include <span>
#include <string>

namespace kiln::codegen {

/// What subnormals an op has to have flushed.
enum class Subnormals : std::uint8_t {
  Results,      // flushed operands can give a subnormal result
  Operands,     // a result is subnormal only if an operand is
  Instruction,  // as Results, by one instruction, which on GPUs flushes operands and result
  Division,     // likewise; but NVRTC replaces x / 1 by x, so operands are flushed first
};

/// An op on x, y and z of type T, by the rules at the top of core/ops/op.h. Callers round to
/// storage types and flush subnormals, of float32 by the prelude's flush_operand and flush_result
/// where the op is one instruction.
struct OpText {
  ir::Op op;
  const char* floating;  // T is float or double
  const char* integral;  // T is an integer type or Bool; null: the op rejects those
  Subnormals subnormals = Subnormals::Results;
  bool is_predicate = false;  // the result is a Bool
};

std::span<const OpText> op_texts();
/// Null if the op has no scalar meaning.
const OpText* find_op_text(ir::Op op);

/// A function template op_<name> for each row.
std::string op_functions();

}  // namespace kiln::codegen
