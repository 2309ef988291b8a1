// Texts may have any length and contain any bytes: print_dot.h shortens and escapes them.
#include "core/picture/node_text.h"

#include "core/module/element_text.h"
#include "core/ops/op.h"
#include "core/types/text.h"

#include <algorithm>

namespace kiln::picture {
namespace {

std::string attributes_of(const ir::Node& node) {
  if (const auto* axes = std::get_if<ir::AxesAttrs>(&node.attrs)) {
    return " axes " + join_text(axes->axes, ",");
  }
  if (const auto* axis = std::get_if<ir::AxisAttrs>(&node.attrs)) return text(" axis ", axis->axis);
  if (const auto* sort = std::get_if<ir::SortAttrs>(&node.attrs)) {
    return text(" axis ", sort->axis, sort->descending ? " descending" : "");
  }
  if (const auto* attention = std::get_if<ir::AttentionAttrs>(&node.attrs)) {
    return attention->causal ? " causal" : "";
  }
  if (const auto* cast = std::get_if<ir::CastAttrs>(&node.attrs)) {
    return text(" to ", dtype_name(cast->dtype));
  }
  if (const auto* call = std::get_if<ir::HostCallAttrs>(&node.attrs)) return " " + call->function;
  return "";
}

}  // namespace

std::string leaf_text(const ir::Node& node) {
  if (const auto* variable = std::get_if<ir::VariableAttrs>(&node.attrs)) {
    return text(variable->name.empty() ? "variable" : variable->name, " ", variable->type);
  }
  if (const auto* constant = std::get_if<ir::ConstantAttrs>(&node.attrs)) {
    if (constant->type.rank() > 0) return text("constant ", constant->type);
    std::string value;
    module::append_element(value, constant->type.dtype, constant->data.bytes->data());
    return value;
  }
  if (const auto* size = std::get_if<ir::DimAttrs>(&node.attrs)) return text("size ", size->dim);
  return text(def(node).name, " ", node.types[0]);
}

std::string leaf_structure(const ir::Node& node) {
  const auto* constant = std::get_if<ir::ConstantAttrs>(&node.attrs);
  if (constant != nullptr && constant->type.rank() == 0) return leaf_text(node);
  return std::string(def(node).name);
}

std::string work_text(const ir::Node& node, const std::vector<std::string>& operands) {
  std::string line = text(def(node).name, attributes_of(node));
  const auto is_named = [](const std::string& operand) { return !operand.empty(); };
  if (std::none_of(operands.begin(), operands.end(), is_named)) return line;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    line += text(i == 0 ? "(" : ", ", operands[i].empty() ? "·" : operands[i]);
  }
  return line + ")";
}

std::string types_text(const ir::Node& node) { return join_text(node.types); }

std::string source_text(const ir::Origin& origin) {
  if (!origin.where.known()) return "";
  const std::string_view file = origin.where.file;
  return text(origin.function, *origin.function == '\0' ? "" : " at ",
              file.substr(file.rfind('/') + 1), ":", origin.where.line);
}

}  // namespace kiln::picture
