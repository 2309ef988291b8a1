// A table under one mutex, which is also held while an instance is created.
#include "runtime/plugin/instance_table.h"

#include "core/types/no_destructor.h"
#include "core/types/text.h"
#include "runtime/host/log.h"

#include <kiln/error.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

namespace kiln::runtime {
namespace {

struct TableEntry {
  InstancePtr instance;  // null until first used
  NamedOptions options;  // without empty values
  bool has_warned = false;
};

struct Table {
  std::mutex mutex;
  std::map<const Plugin*, TableEntry> entries;
};

Table& table() {
  static NoDestructor<Table> instance;
  return *instance;
}

void warn_of_unknown_variables(const Plugin& plugin, TableEntry& entry) {
  if (entry.has_warned) return;
  for (const GivenOption& variable : unknown_variables(plugin)) {
    log_line(LogLevel::Warning, "backend",
             text(variable.name, " is ignored: ", options_text(plugin)));
  }
  entry.has_warned = true;
}

/// Returns the plugin's optional passes; none if it cannot be used here.
std::vector<std::string> passes_if_usable(const Plugin& plugin) {
  try {
    if (probe_configured(plugin).score == 0) return {};
    return create_configured(plugin)->optional_passes();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

InstancePtr instance_of(const Plugin& plugin) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  TableEntry& entry = all.entries[&plugin];
  if (!entry.instance) {
    warn_of_unknown_variables(plugin, entry);
    const std::vector<GivenOption> options = given_options(plugin, entry.options);
    entry.instance = Instance::create(plugin, pairs_of(options), origins_of(options));
  }
  return entry.instance;
}

void set_options(const Plugin& plugin, const NamedOptions& options, const std::string& function) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  TableEntry& entry = all.entries[&plugin];
  NamedOptions merged = entry.options;
  for (const auto& [name, value] : options) {
    if (value.empty()) {
      merged.erase(name);
    } else {
      merged[name] = value;
    }
  }
  if (entry.instance && merged != entry.options) {
    throw BackendError(function, "",
                       text("backend ", plugin.id,
                            " is in use already; set its options before its first use"));
  }
  entry.options = std::move(merged);
}

std::vector<GivenOption> options_in_force(const Plugin& plugin) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  return given_options(plugin, all.entries[&plugin].options);
}

ProbeReport probe_configured(const Plugin& plugin) {
  const std::vector<GivenOption> options = options_in_force(plugin);
  return probe(plugin, pairs_of(options), origins_of(options));
}

InstancePtr create_configured(const Plugin& plugin) {
  const std::vector<GivenOption> options = options_in_force(plugin);
  return Instance::create(plugin, pairs_of(options), origins_of(options));
}

std::vector<std::string> passes_of_other_backends(const Plugin& plugin, const std::string& wanted) {
  std::vector<std::string> passes;
  std::set<const Plugin*> asked{&plugin};
  const auto is_found = [&] {
    return std::find(passes.begin(), passes.end(), wanted) != passes.end();
  };
  const auto ask = [&](const Plugin& other) {
    if (is_found() || !asked.insert(&other).second) return;
    for (std::string& name : passes_if_usable(other)) passes.push_back(std::move(name));
  };
  for (const Plugin* other : opened_plugins()) ask(*other);
  for (const PluginFile& file : list_plugin_files()) {
    if (is_found()) break;
    try {
      ask(open_plugin(file.name, ""));
    } catch (const Error&) {  // cannot be opened here
    }
  }
  return passes;
}

}  // namespace kiln::runtime
