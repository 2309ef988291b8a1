// Finds the kind of each field by its C++ type.
#include "tools/kiln/op_fields.h"

#include "core/module/attrs_of_kind.h"
#include "core/types/text.h"

namespace kiln::tool {
namespace {

// Null for other numbers. Without a default, so that the compiler names a missing enumerator.
const char* name_of(ir::ConvRole role) {
  switch (role) {
    case ir::ConvRole::Input: return "input";
    case ir::ConvRole::Filter: return "filter";
    case ir::ConvRole::Output: return "output";
  }
  return nullptr;
}

const char* name_of(ir::CollectiveKind kind) {
  switch (kind) {
    case ir::CollectiveKind::AllReduce: return "all_reduce";
    case ir::CollectiveKind::AllGather: return "all_gather";
    case ir::CollectiveKind::ReduceScatter: return "reduce_scatter";
    case ir::CollectiveKind::Broadcast: return "broadcast";
    case ir::CollectiveKind::Reduce: return "reduce";
  }
  return nullptr;
}

const char* name_of(ir::CollectiveReduction reduction) {
  switch (reduction) {
    case ir::CollectiveReduction::Sum: return "sum";
    case ir::CollectiveReduction::Max: return "max";
    case ir::CollectiveReduction::Min: return "min";
  }
  return nullptr;
}

const char* name_of(ir::Guard::Kind kind) {
  switch (kind) {
    case ir::Guard::Kind::Equal: return "equal";
    case ir::Guard::Kind::LessEqual: return "less_equal";
  }
  return nullptr;
}

OpField field_of(std::int64_t) { return {"", FieldKind::Integer, {}}; }
OpField field_of(bool) { return {"", FieldKind::Bool, {}}; }
OpField field_of(DType) { return {"", FieldKind::DType, {}}; }
OpField field_of(const std::string&) { return {"", FieldKind::Text, {}}; }
OpField field_of(const ir::Type&) { return {"", FieldKind::Type, {}}; }
OpField field_of(const ir::Dim&) { return {"", FieldKind::Dim, {}}; }
OpField field_of(const ir::ConstantData&) { return {"", FieldKind::Constant, {}}; }
OpField field_of(const ir::LambdaRef&) { return {"", FieldKind::Lambda, {}}; }
OpField field_of(const ir::Ints&) { return {"", FieldKind::Integers, {}}; }
OpField field_of(const ir::Dims&) { return {"", FieldKind::Dims, {}}; }
OpField field_of(const ir::Types&) { return {"", FieldKind::Types, {}}; }

template <class Enum>
  requires std::is_enum_v<Enum>
OpField field_of(Enum) {
  OpField field{"", FieldKind::Integer, {}};
  for (std::int64_t i = 0; const char* name = name_of(static_cast<Enum>(i)); ++i) {
    field.enumerators.emplace_back(name);
  }
  return field;
}

}  // namespace

std::vector<OpField> fields_of(const ir::OpDef& op) {
  std::vector<OpField> fields;
  const ir::Attrs attrs = module::attrs_of_kind(op.attrs);
  ir::for_each_field(attrs, [&](const char* name, const auto& member) {
    fields.push_back(field_of(member));
    fields.back().name = name;
  });
  return fields;
}

std::string description_of(const OpField& field) {
  std::string out = text(field.name, ": ", kFieldKinds[static_cast<std::size_t>(field.kind)]);
  for (std::size_t i = 0; i < field.enumerators.size(); ++i) {
    out += text(i == 0 ? " (" : ", ", i, " ", field.enumerators[i]);
  }
  return field.enumerators.empty() ? out : out + ")";
}

}  // namespace kiln::tool
