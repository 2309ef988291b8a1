// The element types of onnx.proto, by their numbers.
#include "core/onnx/file/value_type.h"

#include "core/types/text.h"

#include <array>

namespace kiln::onnx {
namespace {

struct DataTypeRow {
  std::string_view name;
  int bits;  // 0 for strings
};

// Indexed by TensorProto.DataType; number 0 is no type.
constexpr std::array<DataTypeRow, 29> kDataTypes = {{
    {"undefined", 0},      {"float32", 32},     {"uint8", 8},          {"int8", 8},
    {"uint16", 16},        {"int16", 16},       {"int32", 32},         {"int64", 64},
    {"string", 0},         {"bool", 8},         {"float16", 16},       {"float64", 64},
    {"uint32", 32},        {"uint64", 64},      {"complex64", 64},     {"complex128", 128},
    {"bfloat16", 16},      {"float8e4m3fn", 8}, {"float8e4m3fnuz", 8}, {"float8e5m2", 8},
    {"float8e5m2fnuz", 8}, {"uint4", 4},        {"int4", 4},           {"float4e2m1", 4},
    {"float8e8m0", 8},     {"uint2", 2},        {"int2", 2},           {"float6e2m3", 6},
    {"float6e3m2", 6},
}};

const DataTypeRow* row_of(std::int64_t data_type) {
  const bool is_known = data_type > 0 && static_cast<std::size_t>(data_type) < kDataTypes.size();
  return is_known ? &kDataTypes[static_cast<std::size_t>(data_type)] : nullptr;
}

}  // namespace

std::string data_type_text(std::int64_t data_type) {
  const DataTypeRow* row = row_of(data_type);
  return row ? std::string(row->name) : text("element type ", data_type);
}

std::optional<DType> dtype_of(std::int64_t data_type) {
  const DataTypeRow* row = row_of(data_type);
  return row ? dtype_of_name(row->name) : std::nullopt;
}

std::string name_of_dim(const ValueInfo& input, std::size_t axis) {
  const std::string_view parameter = input.shape[axis].parameter;
  const bool is_named = !parameter.empty() && parameter != "?";
  return is_named ? std::string(parameter) : text(input.name, ".", axis);
}

std::optional<int> data_type_bits(std::int64_t data_type) {
  const DataTypeRow* row = row_of(data_type);
  return row && row->bits != 0 ? std::optional(row->bits) : std::nullopt;
}

}  // namespace kiln::onnx
