// Checks path and ELF header of each candidate before dlopen(), which would run the static
// constructors of an unsuitable file.
#include "backends/cuda/api/library_file.h"

#include "backends/cuda/api/elf_file.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>

namespace kiln::cuda::api {
namespace {

namespace fs = std::filesystem;

/// Serializes dlopen() and dlinfo(): ThreadSanitizer does not see the dynamic loader's own lock.
/// Trivially destroyed.
constinit std::mutex loader_lock;

/// Toolkits keep libraries that only the linker may use in folders of this name.
bool is_linker_stub(const fs::path& path) { return path.parent_path().filename() == "stubs"; }

std::string real_path(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? path : real.string();
}

/// The path of a loaded library; the dynamic loader has no path for the program itself.
std::string path_of(const link_map* map) {
  const bool is_program = map == nullptr || map->l_name == nullptr || *map->l_name == '\0';
  return real_path(is_program ? "/proc/self/exe" : map->l_name);
}

std::string path_of(void* handle) {
  link_map* map = nullptr;
  return ::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? path_of(map) : "";
}

std::string plugin_folder() {
  Dl_info info;
  void* map = nullptr;
  const void* here = reinterpret_cast<const void*>(&plugin_folder);
  if (::dladdr1(here, &info, &map, RTLD_DL_LINKMAP) == 0) return "";
  return fs::path(path_of(static_cast<const link_map*>(map))).parent_path().string();
}

/// The message of the last failed dlopen(), without the leading name.
std::string loader_error(const std::string& name) {
  const char* message = ::dlerror();
  if (message == nullptr) return "cannot be loaded";
  const std::string text = message, absent = name + ": cannot open shared object file: No such";
  if (text.starts_with(absent)) return "not found";
  return text.starts_with(name + ": ") ? text.substr(name.size() + 2) : text;
}

class Search {
 public:
  explicit Search(const std::vector<std::string>& names) : names_(names) {}

  /// Whether the search is over: a library is open, or a file in the folder cannot be loaded.
  bool in_configured(const std::string& folder) {
    if (!fs::path(folder).is_absolute()) {
      file_.attempts.push_back(folder + ": skipped, as the folder is not an absolute path");
      return false;
    }
    ends_at_damage_ = true;
    const bool is_over = in_configured_parts(folder);
    ends_at_damage_ = false;
    return is_over;
  }

  /// Reports a pattern that matches no folder as a failed attempt.
  bool in_known(const std::string& pattern) {
    const std::vector<std::string> folders = matches_of(pattern);
    if (folders.empty()) file_.attempts.push_back(pattern + ": no such folder");
    return in_folders(folders);
  }

  /// Whether the search is over.
  bool at_path(const std::string& path) {
    std::string reason = reason_not_loadable(path);
    const bool is_stub = reason.empty() && is_linker_stub(real_path(path));
    if (is_stub) reason = "a linker stub of the toolkit";
    if (reason.empty() && open(path, path + ": ")) return true;
    if (!reason.empty()) file_.attempts.push_back(path + ": " + reason);
    if (is_stub || reason == kNoSuchFile || !ends_at_damage_) return false;
    file_.attempts.back() += " (no other folder is searched, since this one was named)";
    file_.is_damaged = true;
    return true;
  }

  bool in_folders(const std::vector<std::string>& folders) {
    return std::any_of(folders.begin(), folders.end(),
                       [&](const std::string& folder) { return in_folder(folder); });
  }

  bool in_system() {
    return std::any_of(names_.begin(), names_.end(), [&](const std::string& name) {
      return open(name, name + " by the system's search: ");
    });
  }

  LibraryFile result() && { return std::move(file_); }

 private:
  bool in_configured_parts(const std::string& folder) {
    if (in_known(folder)) return true;
    const std::vector<std::string> inner{"/lib64", "/lib", "/nvidia/*/lib"};
    return std::any_of(inner.begin(), inner.end(), [&](const std::string& pattern) {
      return in_folders(matches_of(folder + pattern));
    });
  }

  bool in_folder(const std::string& folder) {
    if (!searched_.insert(real_path(folder)).second) return false;
    return std::any_of(names_.begin(), names_.end(),
                       [&](const std::string& name) { return at_path(folder + "/" + name); });
  }

  /// Keeps a library open that turns out to be a stub: other code of the process may call it.
  bool open(const std::string& name, const std::string& label) {
    const std::lock_guard lock(loader_lock);
    void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      file_.attempts.push_back(label + loader_error(name));
      return false;
    }
    const std::string path = path_of(handle);
    if (is_linker_stub(path)) {
      file_.attempts.push_back(label + path + ", a linker stub of the toolkit");
      return false;
    }
    file_.handle = handle;
    file_.path = path;
    return true;
  }

  const std::vector<std::string>& names_;
  std::set<std::string> searched_;  // real paths of folders
  bool ends_at_damage_ = false;     // the folder is a configured one
  LibraryFile file_;
};

bool search(Search& search, const LibrarySearchPath& search_path) {
  for (const std::string& folder : search_path.configured) {
    if (search.in_configured(folder)) return true;
  }
  if (search_path.plugin_folder && search.in_folders({plugin_folder()})) return true;
  if (search_path.system_search && search.in_system()) return true;
  return std::any_of(search_path.known_folders.begin(), search_path.known_folders.end(),
                     [&](const std::string& folder) { return search.in_known(folder); });
}

}  // namespace

std::vector<std::string> toolkit_folders() {
  return {"/usr/local/cuda/lib64", "/usr/local/cuda/lib", "/usr/local/cuda-*/lib64",
          "/usr/local/cuda-*/lib", "/opt/cuda/lib64"};
}

std::vector<std::string> matches_of(const std::string& pattern) {
  std::vector<std::string> paths;
  glob_t found{};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  ::globfree(&found);
  std::sort(paths.begin(), paths.end(), [](const std::string& left, const std::string& right) {
    return ::strverscmp(left.c_str(), right.c_str()) > 0;
  });
  return paths;
}

void* LibraryFile::symbol(const char* name) const {
  return handle == nullptr ? nullptr : ::dlsym(handle, name);
}

LibraryFile open_library(const std::vector<std::string>& names,
                         const LibrarySearchPath& search_path) {
  Search one(names);
  search(one, search_path);
  return std::move(one).result();
}

LibraryFile open_library_at(const std::string& path) {
  const std::vector<std::string> names;
  Search one(names);
  one.at_path(path);
  return std::move(one).result();
}

std::string attempts_text(const LibraryFile& file) {
  std::string text;
  for (const std::string& attempt : file.attempts) text += (text.empty() ? "" : "; ") + attempt;
  return text;
}

void throw_not_opened(const LibraryFile& file, const std::string& library,
                      const std::string& absent, const std::string& end) {
  const std::string attempts = ": " + attempts_text(file) + end;
  if (file.is_damaged) {
    throw DamagedLibrary(KILN_CODE_FAILED_PRECONDITION, library + " cannot be loaded" + attempts);
  }
  throw sdk::Failure(KILN_CODE_NOT_FOUND, library + " " + absent + attempts);
}

}  // namespace kiln::cuda::api
