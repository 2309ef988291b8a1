// A table under one mutex, which is not held while plugins run: another serialises the creation of
// instances.
#include "runtime/plugin/instance_table.h"

#include "core/types/fork.h"
#include "core/types/no_destructor.h"
#include "core/types/text.h"
#include "runtime/host/log.h"

#include <kiln/error.h>

#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace kiln::runtime {
namespace {

struct TableEntry {
  InstancePtr instance;  // null until first used
  NamedOptions options;  // without empty values
  bool has_warned = false;
  int users = 0;  // threads of `process` that are in the plugin without an instance
  pid_t process = 0;
};

constinit ForkMutex instance_table_mutex;
/// Guarded by instance_table_mutex.
KILN_AT_LOAD NoDestructor<std::map<const Plugin*, TableEntry>> instance_table;
[[maybe_unused]] const bool is_instance_table_held = hold_at_fork<instance_table_mutex>();

/// Serialises the creation of instances.
constinit ForkMutex creation_mutex;

/// Returns work(entry) under the lock.
template <class Work>
auto with_entry(const Plugin& plugin, const Work& work) {
  const std::lock_guard lock(instance_table_mutex);
  return work((*instance_table)[&plugin]);
}

/// Records that this thread is in the plugin, so that a child of fork() does not enter it: threads
/// of the parent may hold its locks.
class PluginUse {
 public:
  /// BackendError in such a child, unless the plugin is fork-safe.
  explicit PluginUse(const Plugin& plugin) : plugin_(plugin) {
    const pid_t user = with_entry(plugin, [&](TableEntry& entry) {
      const bool is_safe = (plugin.features & KILN_FEATURE_FORK_SAFE) != 0;
      const bool is_other = entry.process != process_;
      if (is_other && entry.users != 0 && !is_safe) return entry.process;
      if (is_other) entry.users = 0;
      entry.process = process_;
      ++entry.users;
      return process_;
    });
    if (user != process_) reject_in_child(plugin, user, "");
  }
  ~PluginUse() {
    with_entry(plugin_, [](TableEntry& entry) { return --entry.users; });
  }
  PluginUse(const PluginUse&) = delete;
  PluginUse& operator=(const PluginUse&) = delete;

 private:
  const Plugin& plugin_;
  const pid_t process_ = ::getpid();
};

void warn_of_unknown_variables(const Plugin& plugin) {
  const bool has_warned =
      with_entry(plugin, [](TableEntry& entry) { return std::exchange(entry.has_warned, true); });
  if (has_warned) return;
  for (const GivenOption& variable : unknown_variables(plugin)) {
    log_line(LogLevel::Warning, "backend",
             text(variable.name, " is ignored: ", options_text(plugin)));
  }
}

/// A damaged keras.json whose options are needed is an error before this.
void warn_of_damage() {
  const KerasJson json = read_keras_json();
  if (json.damage.empty()) return;
  log_line(LogLevel::Warning, "backend", text(json.damage, "; no options are read from it"));
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
  const auto known = [&] {
    return with_entry(plugin, [](const TableEntry& entry) { return entry.instance; });
  };
  if (InstancePtr instance = known()) return instance;
  const std::lock_guard creating(creation_mutex);
  if (InstancePtr instance = known()) return instance;  // created by another thread
  const PluginUse use(plugin);
  warn_of_unknown_variables(plugin);
  const std::vector<GivenOption> options = options_in_force(plugin);
  warn_of_damage();
  InstancePtr created = Instance::create(plugin, pairs_of(options), origins_of(options));
  with_entry(plugin, [&](TableEntry& entry) { return entry.instance = created; });
  return created;
}

void set_options(const Plugin& plugin, const NamedOptions& options, const std::string& function) {
  const std::lock_guard creating(creation_mutex);
  const std::lock_guard lock(instance_table_mutex);
  TableEntry& entry = (*instance_table)[&plugin];
  NamedOptions merged = entry.options;
  for (const auto& [name, value] : options) {
    if (value.empty()) {
      merged.erase(name);
    } else {
      merged[name] = value;
    }
  }
  if (entry.instance && merged != entry.options) {
    throw BackendError(
        function, "",
        text("backend ", plugin.id, " is in use already; set its options before its first use"));
  }
  entry.options = std::move(merged);
}

std::vector<GivenOption> options_in_force(const Plugin& plugin) {
  const NamedOptions set =
      with_entry(plugin, [](const TableEntry& entry) { return entry.options; });
  return given_options(plugin, set);
}

ProbeReport probe_configured(const Plugin& plugin) {
  const PluginUse use(plugin);
  const std::vector<GivenOption> options = options_in_force(plugin);
  return probe(plugin, pairs_of(options), origins_of(options));
}

InstancePtr create_configured(const Plugin& plugin) {
  const PluginUse use(plugin);
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
