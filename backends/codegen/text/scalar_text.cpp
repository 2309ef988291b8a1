// Calls of the functions of the prelude.
#include "backends/codegen/text/scalar_text.h"

#include "backends/codegen/text/op_text.h"
#include "core/types/text.h"

namespace kiln::codegen {
namespace {

/// A subnormal float16 is a normal float.
bool flushes(DType dtype) { return is_float(dtype) && dtype != DType::Float16; }

}  // namespace

const char* type_text(DType dtype) {
  switch (dtype) {
    case DType::Bool: return "Bool";
    case DType::Int8: return "s8";
    case DType::Int16: return "s16";
    case DType::Int32: return "s32";
    case DType::Int64: return "s64";
    case DType::UInt8: return "u8";
    case DType::UInt16: return "u16";
    case DType::UInt32: return "u32";
    case DType::UInt64: return "u64";
    case DType::Float64: return "double";
    default: return "float";
  }
}

const char* half_text(DType dtype) {
  return dtype == DType::Float16 ? "f16" : dtype == DType::BFloat16 ? "bf16" : nullptr;
}

std::string constant_text(DType dtype, std::uint64_t bits) {
  const char* half = half_text(dtype);
  if (half) return text(half, "_value(", bits & 0xffffu, "u)");
  if (dtype == DType::Float64) return text("from_bits<double>(", bits, "ull)");
  if (dtype == DType::Float32) return text("from_bits<float>(", bits & 0xffffffffu, "u)");
  return text("wrap<", type_text(dtype), ">(", bits, "ull)");
}

std::string load_text(DType dtype, const std::string& element) {
  const char* half = half_text(dtype);
  return half ? text(half, "_value(load<u16>(", element, "))")
              : text("load<", type_text(dtype), ">(", element, ")");
}

std::string store_text(DType dtype, const std::string& element, const std::string& value) {
  const char* half = half_text(dtype);
  return half ? text("store<u16>(", element, ", ", half, "_bits(", value, "));")
              : text("store<", type_text(dtype), ">(", element, ", ", value, ");");
}

std::string bitcast_text(DType from, DType to, const std::string& value) {
  const char *source = half_text(from), *target = half_text(to);
  const std::string bits = source ? text(source, "_bits(", value, ")") : value;
  return target ? text(target, "_value(from_bits<u16>(", bits, "))")
                : text("from_bits<", type_text(to), ">(", bits, ")");
}

std::string operand_text(DType dtype, const std::string& value) {
  return flushes(dtype) ? text("flush(", value, ")") : value;
}

std::string operand_text(ir::Op op, DType dtype, const std::string& value) {
  const bool is_instruction = find_op_text(op)->flush == FlushRule::ByInstruction;
  if (is_instruction && flushes(dtype)) return text("flush_operand(", value, ")");
  return operand_text(dtype, value);
}

std::string apply_text(ir::Op op, DType operands, DType result,
                       const std::vector<std::string>& arguments) {
  const std::string call =
      text("op_", ir::def(op).name, "<", type_text(operands), ">(", join_text(arguments), ")");
  const char* half = half_text(result);
  if (half) return ir::def(op).exact ? call : text("to_", half, "(", call, ")");
  if (!flushes(result)) return call;
  switch (find_op_text(op)->flush) {
    case FlushRule::Operands: return call;
    case FlushRule::ByInstruction: return text("flush_result(", call, ")");
    case FlushRule::OperandsAndResult: break;
  }
  return text("flush(", call, ")");
}

}  // namespace kiln::codegen
