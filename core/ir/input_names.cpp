// One map a scope, from the ids of symbols.
#include "core/ir/input_names.h"

#include "core/types/text.h"

#include <unordered_set>

namespace kiln::ir {
namespace {

thread_local const InputNames* current = nullptr;

}  // namespace

InputNames::InputNames(const std::vector<Value>& inputs) : outer_(current) {
  std::unordered_set<std::int64_t> seen;
  std::unordered_set<std::string> taken;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto* placeholder = std::get_if<PlaceholderAttrs>(&inputs[i].node->attrs);
    const bool is_unnamed = placeholder != nullptr && placeholder->name.empty();
    for (std::size_t axis = 0; axis < inputs[i].dims().size(); ++axis) {
      const auto symbol = inputs[i].dims()[axis].as_symbol();
      if (!symbol || !seen.insert(symbol->id).second) continue;
      if (!is_unnamed && taken.insert(symbol->name).second) continue;
      names_.emplace(symbol->id, text("input_", i, ".", axis));
    }
  }
  current = this;
}

InputNames::~InputNames() { current = outer_; }

const std::string& InputNames::name_of(const Symbol& symbol) {
  if (!current) return symbol.name;
  const auto found = current->names_.find(symbol.id);
  return found == current->names_.end() ? symbol.name : found->second;
}

}  // namespace kiln::ir
