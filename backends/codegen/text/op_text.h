// The table of elementwise ops as C++ text, shared by all text emitters.
#pragma once

#include "core/ops/op.h"

#include <span>
#include <string>

namespace kiln::codegen {

/// How subnormals of an op on float32 become zero.
enum class FlushRule : std::uint8_t {
  OperandsAndResult,
  Operands,       // the result is subnormal only if an operand is
  ByInstruction,  // one instruction, which on GPUs flushes operands and result
};

/// An op on x, y and z of type T, by the rules at the top of core/ops/op.h. Callers round to
/// storage types and flush subnormals, of float32 by the prelude's flush_operand and flush_result
/// where the op is one instruction.
struct OpText {
  ir::Op op;
  const char* floating;  // T is float or double; null: the op rejects those
  const char* integral;  // T is an integer type or Bool; null: the op rejects those
  FlushRule flush = FlushRule::OperandsAndResult;
  bool is_predicate = false;  // the result is a Bool
};

std::span<const OpText> op_texts();
/// Null if the op has no scalar meaning.
const OpText* find_op_text(ir::Op op);

/// A function template op_<name> for each row.
std::string op_functions();

}  // namespace kiln::codegen
