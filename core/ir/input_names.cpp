// Chooses names for symbols whose own names are ambiguous.
#include "core/ir/input_names.h"

#include "core/types/text.h"

#include <unordered_set>

namespace kiln::ir {

SymbolNames input_names(const std::vector<Value>& inputs) {
  std::unordered_map<std::int64_t, std::string> names;
  std::unordered_set<std::int64_t> seen;
  std::unordered_set<std::string> taken;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto* placeholder = std::get_if<PlaceholderAttrs>(&inputs[i].node->attrs);
    const bool is_unnamed = placeholder != nullptr && placeholder->name.empty();
    for (std::size_t axis = 0; axis < inputs[i].dims().size(); ++axis) {
      const auto symbol = inputs[i].dims()[axis].as_symbol();
      if (!symbol || !seen.insert(symbol->id).second) continue;
      if (!is_unnamed && taken.insert(symbol->name).second) continue;
      names.emplace(symbol->id, text("input_", i, ".", axis));
    }
  }
  return SymbolNames(std::move(names));
}

}  // namespace kiln::ir
