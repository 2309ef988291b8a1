// Suffixes are those of symbols in the text form (core/module/print.h).
#include "runtime/replay/argument_names.h"

#include "core/ir/argument_text.h"
#include "core/types/text.h"

#include <unordered_set>

namespace kiln::runtime {

std::vector<std::string> distinct_names(std::vector<std::string> names) {
  std::unordered_set<std::string> taken;
  for (std::string& name : names) {
    const std::string own = name;
    for (int i = 2; !taken.insert(name).second; ++i) name = text(own, "~", i);
  }
  return names;
}

std::vector<std::string> argument_names(const std::vector<ir::Value>& inputs,
                                        const std::vector<module::StateEntry>& state) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string_view name = given_name(*inputs[i].node);
    names.push_back(name.empty() ? text("input_", i) : std::string(name));
  }
  for (std::size_t i = 0; i < state.size(); ++i) {
    const std::string_view name = given_name(*state[i].variable.node);
    names.push_back(name.empty() ? text("variable_", i) : std::string(name));
  }
  return distinct_names(std::move(names));
}

}  // namespace kiln::runtime
