// Queries the names of a plugin's options and compares the environment with them.
#include "runtime/plugin/backend_options.h"

#include "core/types/text.h"
#include "runtime/plugin/plugin_call.h"
#include "runtime/plugin/reported_names.h"

#include <algorithm>

namespace kiln::runtime {

std::optional<std::vector<std::string>> option_names(const Plugin& plugin) {
  const std::string_view name = KILN_PROC_OPTION_NAMES;
  const kiln_proc proc =
      call_entry(plugin, "", "get_proc", plugin.api.get_proc, abi::string_of(name));
  if (proc == nullptr) return std::nullopt;
  ReportedNames reported{.unit = "options"};
  kiln_error* error = call_entry(plugin, "", KILN_PROC_OPTION_NAMES,
                                 reinterpret_cast<kiln_option_names_v1_fn>(proc),
                                 ReportedNames::take, static_cast<void*>(&reported));
  if (error != nullptr) throw_error(plugin, error, "");
  read_reported(plugin, "", KILN_PROC_OPTION_NAMES, [&] {
    if (reported.thrown) std::rethrow_exception(reported.thrown);
  });
  return std::move(reported.names);
}

std::vector<GivenOption> unknown_variables(const Plugin& plugin) {
  const std::optional<std::vector<std::string>> names = option_names(plugin);
  if (!names) return {};
  std::vector<GivenOption> variables = option_variables(plugin);
  std::erase_if(variables, [&](const GivenOption& variable) {
    return std::any_of(names->begin(), names->end(), [&](const std::string& name) {
      return variable.name == option_variable(plugin.name, name);
    });
  });
  return variables;
}

std::string options_text(const Plugin& plugin) {
  const std::vector<std::string> names = option_names(plugin).value_or(std::vector<std::string>());
  if (names.empty()) return text(plugin.name, " has no options");
  return text(plugin.name, names.size() == 1 ? " has the option " : " has the options ",
              join_text(names));
}

}  // namespace kiln::runtime
