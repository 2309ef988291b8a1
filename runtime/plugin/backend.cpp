// The backend in use: its choice, and the public functions.
#include <kiln/backend.h>

#include <kiln/error.h>

#include "core/k/base/tensor_impl.h"
#include "core/types/at_line.h"
#include "core/types/fork.h"
#include "core/types/no_destructor.h"
#include "core/types/text.h"
#include "runtime/config/keras_json.h"
#include "runtime/host/log.h"
#include "runtime/host/thread_pool.h"
#include "runtime/plugin/backend_choice.h"
#include "runtime/plugin/backend_instance.h"
#include "runtime/plugin/backend_options.h"
#include "runtime/plugin/instance_table.h"
#include "runtime/plugin/plugin.h"
#include "runtime/plugin/version.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>

namespace kiln {
namespace runtime {
namespace {

struct ChosenPlugin {
  const Plugin* plugin = nullptr;
  std::string reason;
};

/// Guarded by choice_mutex; empty until it is needed.
KILN_AT_LOAD NoDestructor<std::optional<ChosenPlugin>> choice;
constinit ForkMutex choice_mutex;
[[maybe_unused]] const bool is_choice_held = hold_at_fork<choice_mutex>();

/// Serialises choosing, during which choice_mutex is not held.
constinit ForkMutex choosing_mutex;

/// The value of an environment variable; empty if it is not set.
std::string environment(const char* variable) {
  const char* value = ::secure_getenv(variable);
  return value == nullptr ? "" : value;
}

/// Reads each source only if none before it is set. Throws ConfigError.
BackendSources read_sources() {
  BackendSources sources{.own_environment = environment("KILN_BACKEND")};
  if (!sources.own_environment.empty()) return sources;
  const KerasJson json = read_keras_json();
  sources.file_path = json.path;
  sources.own_file = json.kiln_backend.get().value_or("");
  if (!sources.own_file.empty()) return sources;
  sources.environment = environment("KERAS_BACKEND");
  if (sources.environment.empty()) sources.file = json.backend.get().value_or("");
  return sources;
}

// ---- auto ----

struct Candidate {
  const Plugin* plugin;
  std::uint32_t score;
};

/// Returns the message without the leading function name, since the caller adds one.
std::string message_of(const Error& error) {
  const std::string before = error.function() + ": ";
  const std::string& message = error.message();
  return message.starts_with(before) ? message.substr(before.size()) : message;
}

/// Logs why `auto` skips a backend; a warning if the user set options for it.
void log_skipped(const Plugin& plugin, const std::string& reason) {
  const bool has_options = !options_in_force(plugin).empty() || !option_variables(plugin).empty();
  log_line(has_options ? LogLevel::Warning : LogLevel::Info, "backend",
           text("auto skips ", plugin.id, ": ", reason));
}

/// Opens and probes every backend; returns the usable ones, best first, and appends the reasons of
/// the others to `rejections`.
std::vector<Candidate> usable_backends(std::string& rejections) {
  const auto reject = [&](const std::string& name, const std::string& reason) {
    rejections += text(rejections.empty() ? "" : "; ", name, ": ", reason);
  };
  for (const PluginFile& file : list_plugin_files()) {
    try {
      open_plugin(file.name, "");
    } catch (const Error& error) {
      reject(file.name, message_of(error));
    }
  }
  std::vector<Candidate> usable;
  for (const Plugin* plugin : opened_plugins()) {
    try {
      const ProbeReport report = probe_configured(*plugin);
      if (report.score != 0) {
        usable.push_back({plugin, report.score});
        continue;
      }
      reject(plugin->id, report.reason);
      log_skipped(*plugin, report.reason);
    } catch (const Error& error) {
      reject(plugin->id, message_of(error));
    }
  }
  std::sort(usable.begin(), usable.end(), [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.plugin->id < b.plugin->id;
  });
  return usable;
}

ChosenPlugin choose_automatically(const std::string& reason, const std::string& function) {
  std::string rejections;
  const std::vector<Candidate> usable = usable_backends(rejections);
  std::size_t count = usable.size();
  for (const Candidate& candidate : usable) {
    try {
      instance_of(*candidate.plugin);
      const std::string why = text(reason, ": best of ", count, " usable, score ", candidate.score);
      log_line(LogLevel::Info, "backend", text("auto chose ", candidate.plugin->id));
      return {candidate.plugin, why};
    } catch (const Error& error) {
      --count;
      rejections +=
          text(rejections.empty() ? "" : "; ", candidate.plugin->id, ": ", message_of(error));
      log_line(LogLevel::Warning, "backend", message_of(error));
    }
  }
  throw BackendError(
      function, "",
      text("auto found no usable backend; ", rejections.empty() ? "none is in " : rejections,
           rejections.empty() ? join_text(plugin_directories()) : ""));
}

ChosenPlugin choose(const std::string& value, const std::string& reason,
                    const std::string& function) {
  if (value == "auto") return choose_automatically(reason, function);
  return {&open_plugin(value, function), reason};
}

/// Opens the backend that the environment or keras.json selects; errors name the source.
ChosenPlugin choose_from_sources(const std::string& function) {
  const WantedBackend wanted = decide_backend(read_sources());
  if (!wanted.note.empty()) log_line(LogLevel::Info, "backend", wanted.note);
  try {
    return choose(wanted.value, wanted.reason, "");
  } catch (const BackendError& error) {
    throw BackendError(function, "",
                       text(message_of(error), " (requested by: ", wanted.reason, ")"));
  }
}

std::optional<ChosenPlugin> known_choice() {
  const std::lock_guard lock(choice_mutex);
  return *choice;
}

ChosenPlugin current_choice(const std::string& function) {
  if (const auto known = known_choice()) return *known;
  const std::lock_guard choosing(choosing_mutex);
  if (const auto known = known_choice()) return *known;  // by another thread
  ChosenPlugin chosen = choose_from_sources(function);
  const std::lock_guard lock(choice_mutex);
  if (!*choice) *choice = std::move(chosen);  // else set_backend was called meanwhile
  return **choice;
}

}  // namespace

void forget_backend_choice() {
  const std::lock_guard lock(choice_mutex);
  choice->reset();
}

InstancePtr backend_instance(const std::string& name_or_path, const std::string& function) {
  return instance_of(open_plugin(name_or_path, function));
}

InstancePtr current_instance(const std::string& function) {
  return instance_of(*current_choice(function).plugin);
}

}  // namespace runtime

std::string backend(Where where) {
  return api_call("backend", where, [&] { return backend_choice(where).name; });
}

BackendChoice backend_choice(Where where) {
  return translate_exceptions("backend_choice", where, [&] {
    const Call call("backend", where);
    return at_line(where, [] {
      const runtime::ChosenPlugin chosen = runtime::current_choice("backend");
      return BackendChoice{chosen.plugin->id, chosen.reason};
    });
  });
}

void set_backend(const StringArgument& name_or_path, Where where) {
  api_call("set_backend", where, [&] {
    runtime::ChosenPlugin chosen =
        at_line(where, [&] { return runtime::choose(name_or_path, "set_backend", "set_backend"); });
    const std::lock_guard lock(runtime::choice_mutex);
    *runtime::choice = std::move(chosen);
  });
}

std::string load_backend(const StringArgument& name_or_path, Where where) {
  return api_call("load_backend", where, [&] {
    return at_line(where, [&] { return runtime::open_plugin(name_or_path, "load_backend").id; });
  });
}

void set_backend_options(const StringArgument& name_or_path,
                         const std::map<std::string, std::string>& options, Where where) {
  api_call("set_backend_options", where, [&] {
    at_line(where, [&] {
      const std::string function = "set_backend_options";
      runtime::set_options(runtime::open_plugin(name_or_path, function), options, function);
    });
  });
}

std::vector<BackendDescription> list_backends() {
  return api_call("list_backends", {}, [&] {
    std::map<std::string, BackendDescription> all;
    for (const runtime::PluginFile& file : runtime::list_plugin_files()) {
      all[file.name] = {.name = file.name,
                        .path = file.path,
                        .version = "",
                        .loaded = false,
                        .rejection = file.rejection};
    }
    for (const runtime::Plugin* plugin : runtime::opened_plugins()) {
      all[plugin->id] = {.name = plugin->id,
                         .path = plugin->path,
                         .version = plugin->version,
                         .loaded = true,
                         .rejection = ""};
    }
    std::vector<BackendDescription> list;
    for (auto& [name, description] : all) list.push_back(std::move(description));
    return list;
  });
}

void set_threads(WholeNumber count, Where where) {
  api_call("set_threads", where,
           [&] { at_line(where, [&] { runtime::set_thread_count(count); }); });
}

std::string version() {
  return translate_exceptions("version", {}, [&] { return std::string(runtime::kVersion); });
}

}  // namespace kiln
