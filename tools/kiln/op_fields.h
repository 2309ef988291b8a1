// The fields of an op's attributes in the module format, from the structs of core/ir/attrs.h.
#pragma once

#include "core/ops/op.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::tool {

/// The encodings of a field; lists are those from Integers on.
enum class FieldKind : std::uint8_t {
  Integer,
  Bool,
  DType,
  Text,
  Type,
  Dim,
  Constant,
  Lambda,
  Integers,
  Dims,
  Types
};
inline constexpr std::array<std::string_view, 11> kFieldKinds{
    "integer",  "bool",   "dtype",    "text", "type", "dim",
    "constant", "lambda", "integers", "dims", "types"};

struct OpField {
  std::string name;
  FieldKind kind;
  std::vector<std::string> enumerators;  // by their numbers; empty for other kinds of integers
};

/// The fields of the op's attributes, in the order of their bytes.
std::vector<OpField> fields_of(const ir::OpDef& op);
/// "role: integer (0 input, 1 filter, 2 output)".
std::string description_of(const OpField& field);

}  // namespace kiln::tool
