// Emits scalars of each dtype: types, constants, loads, stores, and ops with their rounding.
#pragma once

#include "core/ops/op.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kiln::codegen {

/// The type of values in registers; float16 and bfloat16 values are floats rounded to their format.
const char* type_text(DType dtype);
/// "f16" or "bf16"; null for dtypes with the same type in registers and in memory.
const char* half_text(DType dtype);
std::string constant_text(DType dtype, std::uint64_t bits);
/// `element`: "pointer, index".
std::string load_text(DType dtype, const std::string& element);
std::string store_text(DType dtype, const std::string& element, const std::string& value);
/// The bits of a number as another of the same size.
std::string bitcast_text(DType from, DType to, const std::string& value);
/// An operand of an op: subnormals are flushed to zero.
std::string operand_text(DType dtype, const std::string& value);
/// An operand of this op, which may flush it itself.
std::string operand_text(ir::Op op, DType dtype, const std::string& value);
/// An op on operands of one dtype, rounded to the dtype of its result.
std::string apply_text(ir::Op op, DType operands, DType result,
                       const std::vector<std::string>& arguments);

}  // namespace kiln::codegen
