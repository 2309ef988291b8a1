// Scalars of each dtype as text: types, constants, loads, stores, and ops with their rounding.
#pragma once

#include "core/ops/op.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kiln::codegen {

/// The type that holds values; float16 and bfloat16 are floats that such a number can be.
const char* type_text(DType dtype);
/// "f16" or "bf16"; null for types that are held as they are stored.
const char* half_text(DType dtype);
std::string constant_text(DType dtype, std::uint64_t bits);
/// `element`: a pointer and an index, with a comma between.
std::string load_text(DType dtype, const std::string& element);
std::string store_text(DType dtype, const std::string& element, const std::string& value);
/// An operand of an op: subnormals count as zeros.
std::string operand_text(DType dtype, const std::string& value);
/// An op on operands of one dtype, rounded to the dtype of its result.
std::string apply_text(ir::Op op, DType operands, DType result,
                       const std::vector<std::string>& arguments);

}  // namespace kiln::codegen
