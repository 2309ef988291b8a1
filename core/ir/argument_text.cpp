// Tells placeholders and variables apart by their attributes.
#include "core/ir/argument_text.h"

#include "core/types/text.h"

namespace kiln::ir {

std::string_view given_name(const Node& node) {
  if (const auto* input = std::get_if<PlaceholderAttrs>(&node.attrs)) return input->name;
  if (const auto* variable = std::get_if<VariableAttrs>(&node.attrs)) return variable->name;
  return {};
}

std::string argument_text(const Node& node) {
  const std::string_view name = given_name(node);
  if (name.empty()) return "";
  return text(std::holds_alternative<VariableAttrs>(node.attrs) ? "variable " : "input ", name);
}

}  // namespace kiln::ir
