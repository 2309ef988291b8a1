// Precedence of an option's origins: set_backend_options, the environment, keras.json.
#include "runtime/plugin/backend_options.h"

#include "core/types/text.h"
#include "runtime/files/quoted_name.h"

#include <kiln/error.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

namespace kiln::runtime {
namespace {

/// Converts a name to capital letters, digits and underscores, in any locale.
std::string variable_word(std::string_view name) {
  std::string word;
  for (const char c : name) {
    const bool is_lower = c >= 'a' && c <= 'z';
    const bool is_kept = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    word += is_lower ? static_cast<char>(c - 'a' + 'A') : is_kept ? c : '_';
  }
  return word;
}

/// Returns the value of an environment variable; empty if it is not set.
std::string variable_value(const std::string& variable) {
  const char* value = ::secure_getenv(variable.c_str());
  return value == nullptr ? "" : value;
}

/// Whether a section of keras.json is for the plugin.
bool names_plugin(const std::string& section, const Plugin& plugin) {
  if (section == plugin.id) return true;
  if (!section.starts_with('/')) return false;
  std::error_code error;
  return std::filesystem::equivalent(section, plugin.path, error);
}

/// Whether the variable belongs to another backend whose name has the plugin's as a prefix.
bool names_other_backend(const std::string& variable, const std::string& beginning) {
  for (const PluginFile& file : list_plugin_files()) {
    const std::string other = option_variable(file.name, "");
    if (other.size() > beginning.size() && variable.starts_with(other)) return true;
  }
  return false;
}

/// Returns the options of keras.json that are not overridden. Throws ConfigError for one of them,
/// or a section with them, that cannot be used.
std::vector<GivenOption> file_options(
    const Plugin& plugin, const std::function<bool(const std::string&)>& is_overridden) {
  const KerasJson json = read_keras_json();
  const std::optional<BackendSettings>& backends = json.backends.get();
  std::vector<GivenOption> given;
  if (!backends) return given;
  for (const auto& [section, options] : *backends) {
    if (!names_plugin(section, plugin)) continue;
    for (const auto& [name, setting] : *options.get()) {
      if (is_overridden(name)) continue;
      const std::string& value = *setting.get();
      if (!value.empty()) given.push_back({name, value, json.path});
    }
  }
  return given;
}

}  // namespace

std::string option_variable(std::string_view backend, std::string_view option) {
  return text("KILN_", variable_word(backend), "_", variable_word(option));
}

std::vector<GivenOption> given_options(const Plugin& plugin, const NamedOptions& set) {
  std::vector<GivenOption> given;
  for (const auto& [name, value] : set) {
    if (!value.empty()) given.push_back({name, value, "set_backend_options"});
  }
  const auto is_overridden = [&](const std::string& name) {
    const auto found = set.find(name);
    return (found != set.end() && !found->second.empty()) ||
           !variable_value(option_variable(plugin.name, name)).empty();
  };
  try {
    const std::vector<GivenOption> of_file = file_options(plugin, is_overridden);
    given.insert(given.end(), of_file.begin(), of_file.end());
  } catch (const ConfigError&) {
    const std::optional<std::vector<std::string>> names = option_names(plugin);
    const bool is_needed = !names || !std::all_of(names->begin(), names->end(), is_overridden);
    if (is_needed) throw;
  }
  return given;
}

std::vector<GivenOption> option_variables(const Plugin& plugin) {
  const std::string beginning = option_variable(plugin.name, "");
  std::vector<GivenOption> set;
  // clearenv() leaves no list at all.
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string name(text.substr(0, text.find('=')));
    if (!name.starts_with(beginning) || names_other_backend(name, beginning)) continue;
    std::string value = variable_value(name);
    if (!value.empty()) set.push_back({name, std::move(value), "environment"});
  }
  std::sort(set.begin(), set.end(),
            [](const GivenOption& a, const GivenOption& b) { return a.name < b.name; });
  return set;
}

BackendOptions pairs_of(const std::vector<GivenOption>& options) {
  BackendOptions pairs;
  for (const GivenOption& option : options) pairs.emplace_back(option.name, option.value);
  return pairs;
}

std::string origins_of(const std::vector<GivenOption>& options) {
  std::string list;
  for (const GivenOption& option : options) {
    list += text(list.empty() ? "; options: " : ", ", quoted_name(option.name), " = ",
                 quoted_name(option.value), " (", option.origin, ")");
  }
  return list;
}

}  // namespace kiln::runtime
