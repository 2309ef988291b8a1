// Resolves a name or a path to an opened plugin. A name means a file beside the library, regardless
// of the current directory, the dynamic linker's search path and the names that plugins report.
#include "runtime/plugin/plugin.h"

#include <kiln/error.h>

#include "core/types/fork.h"
#include "core/types/nearest.h"
#include "core/types/no_destructor.h"
#include "core/types/text.h"
#include "runtime/host/caller.h"
#include "runtime/host/log.h"
#include "runtime/plugin/load_lock.h"

#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

namespace kiln::runtime {
namespace {

using FileId = std::pair<dev_t, ino_t>;

struct OpenedPlugins {
  std::vector<std::unique_ptr<Plugin>> plugins;
  std::map<FileId, const Plugin*> by_file;
};
constinit ForkMutex opened_mutex;  // not held while a LoadLock loads a plugin
KILN_AT_LOAD NoDestructor<OpenedPlugins> opened;  // guarded by opened_mutex
[[maybe_unused]] const bool are_plugins_held = hold_at_fork<opened_mutex>();

std::string real_path(const std::string& path) {
  char resolved[PATH_MAX];
  return ::realpath(path.c_str(), resolved) != nullptr ? resolved : path;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::string find_host_path() {
  Dl_info info{};
  link_map* map = nullptr;
  const auto* here = reinterpret_cast<const void*>(&find_host_path);
  if (::dladdr1(here, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) != 0 &&
      map != nullptr && map->l_name != nullptr && *map->l_name != '\0') {
    return real_path(map->l_name);
  }
  return real_path("/proc/self/exe");
}

/// Extracts the backend's name from a file name: "cpu" from "libkiln_cpu.so"; else empty.
std::string name_in(std::string_view file) {
  constexpr std::string_view kBefore = "libkiln_", kAfter = ".so";
  if (!file.starts_with(kBefore) || !file.ends_with(kAfter)) return {};
  if (file.size() <= kBefore.size() + kAfter.size()) return {};
  file.remove_prefix(kBefore.size());
  file.remove_suffix(kAfter.size());
  return std::string(file);
}

/// Accepts a folder that does not exist or is not readable as one without plugins. BackendError for
/// any other error, which would otherwise be reported as a missing backend.
void require_absent(const std::string& folder, int error) {
  if (error == ENOMEM) throw std::bad_alloc();
  if (error == ENOENT || error == ENOTDIR || error == EACCES) return;
  const Caller caller = Caller::of();
  throw BackendError(
      caller.function, "",
      text(folder, " cannot be searched for backends: ", std::generic_category().message(error)),
      caller.where);
}

void list_folder(const std::string& folder, std::map<std::string, PluginFile>& found) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(folder.c_str()), ::closedir);
  if (!directory) return require_absent(folder, errno);
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string name = name_in(entry->d_name);
    if (name.empty() || found.contains(name)) continue;
    const std::string path = text(folder, "/", entry->d_name);
    found[name] = {.name = name, .path = path, .rejection = file_rejection(path, true)};
  }
}

std::string describe_found(const std::vector<PluginFile>& files) {
  std::string list;
  for (const PluginFile& file : files) {
    list += text(list.empty() ? "" : ", ", file.name, " (", file.path);
    if (!file.rejection.empty()) list += text(", which ", file.rejection);
    list += ")";
  }
  return list.empty() ? "none" : list;
}

[[noreturn]] void throw_unknown(const std::string& name, const std::string& function,
                                const std::vector<PluginFile>& files) {
  std::vector<std::string> names;
  for (const PluginFile& file : files) names.push_back(file.name);
  throw BackendError(
      function, "",
      text("no backend '", name, "'", did_you_mean(name, names), "; found: ", describe_found(files),
           "; looked for libkiln_", name, ".so in ", join_text(plugin_directories())));
}

/// Whether the text means a file: no backend's name contains "/" or ".so".
bool is_file_name(const std::string& text) {
  return text.find('/') != std::string::npos || text.find(".so") != std::string::npos;
}

[[noreturn]] void throw_relative(const std::string& path, const std::string& function) {
  const std::string name = name_in(std::string_view(path).substr(path.rfind('/') + 1));
  throw BackendError(function, "",
                     text("backend path '", path, "' is relative; give an absolute path or a name",
                          name.empty() ? "" : text(", '", name, "'")));
}

std::optional<FileId> file_id(const std::string& path) {
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) return std::nullopt;
  return FileId{file.st_dev, file.st_ino};
}

/// Whether plugin_directories() resolve the name to that file.
bool is_own(const std::string& name, const FileId& id) {
  for (const std::string& folder : plugin_directories()) {
    const auto found = file_id(text(folder, "/libkiln_", name, ".so"));
    if (found) return *found == id;
  }
  return false;
}

/// Returns the opened plugin with that id, or null.
const Plugin* find_own(const std::string& name) {
  const std::lock_guard lock(opened_mutex);
  for (const auto& plugin : opened->plugins) {
    if (plugin->id == name) return plugin.get();
  }
  return nullptr;
}

/// Returns the plugin that was opened from that file, or null.
const Plugin* find_file(const FileId& id) {
  const std::lock_guard lock(opened_mutex);
  const auto known = opened->by_file.find(id);
  return known == opened->by_file.end() ? nullptr : known->second;
}

const Plugin& add_opened(Plugin plugin, const FileId& id) {
  const std::lock_guard lock(opened_mutex);
  opened->plugins.push_back(std::make_unique<Plugin>(std::move(plugin)));
  const Plugin& kept = *opened->plugins.back();
  opened->by_file[id] = &kept;
  return kept;
}

/// Opens a file unless it is open. `expected_name`: the name that the file was found by; empty if
/// it was given by path.
const Plugin& open_file(const std::string& path, const std::string& expected_name,
                        const std::string& function) {
  const auto reject = [&](const std::string& why) {
    throw BackendError(function, "", text("backend plugin '", path, "' ", why));
  };
  const auto named = [&](const Plugin& plugin) -> const Plugin& {
    const bool is_right = expected_name.empty() || plugin.name == expected_name;
    if (!is_right) reject(text("reports the name '", plugin.name, "'"));
    return plugin;
  };
  const bool own = !expected_name.empty();
  std::string reason = file_rejection(path, own);
  const std::string real = real_path(path);
  if (reason.empty() && real != path) reason = file_rejection(real, own);
  if (!reason.empty()) reject(reason);
  const std::optional<FileId> id = file_id(real);
  if (!id) reject("does not exist");
  if (const Plugin* known = find_file(*id)) return named(*known);
  const LoadLock lock([&] { throw BackendError(function, "", LoadLock::kForkedText); });
  if (const Plugin* known = find_file(*id)) return named(*known);  // opened by another thread
  Plugin plugin = load_plugin(real, function);
  named(plugin);
  plugin.id = own || is_own(plugin.name, *id) ? plugin.name : plugin.path;
  const Plugin& kept = add_opened(std::move(plugin), *id);
  log_line(LogLevel::Info, "backend",
           text("opened ", kept.name, " ", kept.version, " (", kept.path, ", build ", kept.build_id,
                ", compiler ", kept.toolchain, ")"));
  return kept;
}

}  // namespace

const std::string& host_path() {
  static constinit OnceConstructed<std::string> path;
  return path.get(find_host_path);
}

std::vector<std::string> plugin_directories() {
  const std::string beside = folder_of(host_path());
  std::vector<std::string> folders{beside};
  const std::string sibling = real_path(beside + "/../lib");
  if (sibling != beside && sibling.find("/../") == std::string::npos) folders.push_back(sibling);
  return folders;
}

std::vector<PluginFile> list_plugin_files() {
  std::map<std::string, PluginFile> found;
  for (const std::string& folder : plugin_directories()) list_folder(folder, found);
  std::vector<PluginFile> files;
  for (auto& [name, file] : found) files.push_back(std::move(file));
  return files;
}

const Plugin& open_plugin(const std::string& name_or_path, const std::string& function) {
  if (name_or_path.empty()) throw BackendError(function, "", "the name of a backend is empty");
  if (name_or_path.find('\0') != std::string::npos) {
    throw BackendError(function, "", "the name of a backend contains a zero byte");
  }
  if (name_or_path.front() == '/') return open_file(name_or_path, "", function);
  if (is_file_name(name_or_path)) throw_relative(name_or_path, function);
  if (const Plugin* plugin = find_own(name_or_path)) return *plugin;
  const std::vector<PluginFile> files = list_plugin_files();
  for (const PluginFile& file : files) {
    if (file.name == name_or_path) return open_file(file.path, file.name, function);
  }
  throw_unknown(name_or_path, function, files);
}

std::vector<const Plugin*> opened_plugins() {
  const std::lock_guard lock(opened_mutex);
  std::vector<const Plugin*> list;
  for (const auto& plugin : opened->plugins) list.push_back(plugin.get());
  return list;
}

}  // namespace kiln::runtime
