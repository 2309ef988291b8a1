// The table is never freed: the program's static variables may be destroyed after this file's.
#include "runtime/plugin/instance_table.h"

#include "core/types/text.h"
#include "runtime/host/log.h"

#include <kiln/error.h>

#include <map>
#include <mutex>

namespace kiln::runtime {
namespace {

struct Row {
  InstancePtr instance;  // null until it is needed
  NamedOptions options;  // without empty values
  bool has_warned = false;
};

struct Table {
  std::mutex mutex;
  std::map<const Plugin*, Row> rows;
};

Table& table() {
  static Table& one = *new Table;
  return one;
}

void warn_of_unknown_variables(const Plugin& plugin, Row& row) {
  if (row.has_warned) return;
  for (const GivenOption& variable : unknown_variables(plugin)) {
    log_line(LogLevel::Warning, "backend",
             text(variable.name, " is ignored: ", options_text(plugin)));
  }
  row.has_warned = true;
}

}  // namespace

InstancePtr instance_of(const Plugin& plugin) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  Row& row = all.rows[&plugin];
  if (!row.instance) {
    warn_of_unknown_variables(plugin, row);
    const std::vector<GivenOption> options = given_options(plugin, row.options);
    row.instance = Instance::create(plugin, pairs_of(options), origins_of(options));
  }
  return row.instance;
}

void set_options(const Plugin& plugin, const NamedOptions& options, const std::string& function) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  Row& row = all.rows[&plugin];
  NamedOptions merged = row.options;
  for (const auto& [name, value] : options) {
    if (value.empty()) {
      merged.erase(name);
    } else {
      merged[name] = value;
    }
  }
  if (row.instance && merged != row.options) {
    throw BackendError(function, "",
                       text("backend ", plugin.id,
                            " is in use already; set its options before its first use"));
  }
  row.options = std::move(merged);
}

std::vector<GivenOption> options_in_force(const Plugin& plugin) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  return given_options(plugin, all.rows[&plugin].options);
}

ProbeReport probe_configured(const Plugin& plugin) {
  const std::vector<GivenOption> options = options_in_force(plugin);
  return probe(plugin, pairs_of(options), origins_of(options));
}

InstancePtr create_configured(const Plugin& plugin) {
  const std::vector<GivenOption> options = options_in_force(plugin);
  return Instance::create(plugin, pairs_of(options), origins_of(options));
}

}  // namespace kiln::runtime
