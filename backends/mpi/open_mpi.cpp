// Makes the list of candidates and opens the first that can be loaded.
#include "backends/mpi/open_mpi.h"

#include "backends/abi/kiln_backend_sdk.h"
#include "core/types/escaped_text.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

namespace kiln::mpi {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> file_names(Abi abi) {
  switch (abi) {
    case Abi::OpenMpi: return {"libmpi.so.40"};
    case Abi::Mpich: return {"libmpi.so.12", "libmpich.so.12"};
    case Abi::Standard: return {"libmpi_abi.so.1", "libmpi_abi.so.0"};
  }
  return {};
}

const char* debian_package(Abi abi) { return abi == Abi::OpenMpi ? "libopenmpi3" : "libmpich12"; }

/// The standard interface by file name: one library may have the symbols of two interfaces.
Abi abi_of(void* handle, const std::string& path) {
  if (fs::path(path).filename().string().starts_with("libmpi_abi.")) return Abi::Standard;
  const bool is_open_mpi = ::dlsym(handle, kOpenMpiHandles.world) != nullptr;
  return is_open_mpi ? Abi::OpenMpi : Abi::Mpich;
}

/// Opens a file name or path; without success adds the loader's reason to `attempts`.
std::optional<Library> try_open(const std::string& name, const char* origin,
                                std::vector<std::string>& attempts) {
  void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    attempts.push_back(reason == nullptr ? name + ": cannot be opened" : reason);
    return std::nullopt;
  }
  const link_map* map = nullptr;
  const bool has_path = ::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr;
  const std::string path = has_path && map->l_name != nullptr ? map->l_name : name;
  return Library{handle, path, abi_of(handle, path), origin};
}

/// The library among those that the program's own code sees.
std::optional<Library> linked_library(std::vector<std::string>& attempts) {
  void* function = ::dlsym(RTLD_DEFAULT, "MPI_Initialized");
  Dl_info info;
  if (function == nullptr || ::dladdr(function, &info) == 0) return std::nullopt;
  return try_open(info.dli_fname, "which the program is linked to", attempts);
}

bool is_initialised(const Library& library) {
  int is_initialised = 0;
  const auto initialized = reinterpret_cast<int (*)(int*)>(library.symbol("MPI_Initialized"));
  return initialized(&is_initialised) == kSuccess && is_initialised != 0;
}

std::optional<Library> named_library() {
  const char* path = ::secure_getenv("KILN_MPI");
  if (path == nullptr || *path == '\0') return std::nullopt;
  if (*path != '/') {
    throw sdk::Failure(KILN_CODE_INVALID_ARGUMENT,
                       "KILN_MPI is \"" + escaped_text(path) + "\", which is no absolute path");
  }
  std::vector<std::string> attempts;
  std::optional<Library> library = try_open(path, "which KILN_MPI names", attempts);
  if (!library) throw sdk::Failure(KILN_CODE_NOT_FOUND, "KILN_MPI: " + escaped_text(attempts[0]));
  return library;
}

std::vector<std::string> folders_beside(const Launcher& launcher) {
  if (launcher.path.empty()) return {};
  const fs::path bin = fs::path(launcher.path).parent_path(), prefix = bin.parent_path();
  return {bin.string(), (prefix / "lib").string(), (prefix / "lib64").string()};
}

/// Absolute paths of files that exist beside the launcher, then names for the system's loader.
std::vector<std::string> candidates(const Launcher& launcher) {
  std::vector<std::string> own, standard = file_names(Abi::Standard), found;
  for (const Abi abi : launcher.abis) {
    for (const std::string& name : file_names(abi)) own.push_back(name);
  }
  for (const std::vector<std::string>& names : {standard, own}) {
    for (const std::string& folder : folders_beside(launcher)) {
      for (const std::string& name : names) {
        const std::string path = folder + "/" + name;
        if (fs::exists(path)) found.push_back(path);
      }
    }
  }
  found.insert(found.end(), own.begin(), own.end());
  found.insert(found.end(), standard.begin(), standard.end());
  return found;
}

std::string not_found(const Launcher& launcher, const std::vector<std::string>& attempts) {
  std::string text =
      launcher.title() + " " + launcher.action() + ", but no MPI library can be opened: ";
  for (const std::string& attempt : attempts) text += escaped_text(attempt) + "; ";
  text += "searched ";
  for (const std::string& folder : folders_beside(launcher)) text += escaped_text(folder) + ", ";
  text += "the system's loader; on Debian, install ";
  for (const Abi abi : launcher.abis) {
    text += (abi == launcher.abis.front() ? "" : " or ") + std::string(debian_package(abi));
  }
  return text;
}

}  // namespace

void* Library::symbol(const char* name) const {
  void* address = ::dlsym(handle, name);
  if (address != nullptr) return address;
  throw sdk::Failure(KILN_CODE_UNIMPLEMENTED, escaped_text(path) + " lacks " + name);
}

/// "Open MPI v4.1.4" of "Open MPI v4.1.4, package: ...", "MPICH 4.0.2" of "MPICH Version: 4.0.2\n".
std::string Library::title() const {
  using Get = decltype(Functions<int>::get_library_version);
  const auto get = reinterpret_cast<Get>(symbol("MPI_Get_library_version"));
  std::string text(kMaxText, '\0');
  int size = 0;
  get(text.data(), &size);
  text.resize(std::min(text.find_first_of(std::string(",\n\0", 3)), text.size()));
  const std::string word = " Version:";
  const std::size_t at = text.find(word);
  if (at != std::string::npos) {
    const std::size_t number = text.find_first_not_of(" \t", at + word.size());
    text = text.substr(0, at) + (number == std::string::npos ? "" : " " + text.substr(number));
  }
  return escaped_text(text) + " (" + escaped_text(path) + ")";
}

std::optional<Library> open_library(const Launcher& launcher) {
  std::vector<std::string> attempts;
  const std::optional<Library> linked = linked_library(attempts);
  if (linked && is_initialised(*linked)) return linked;
  if (!launcher.is_present()) return std::nullopt;
  if (const std::optional<Library> named = named_library()) return named;
  if (linked) return linked;
  for (const std::string& candidate : candidates(launcher)) {
    const char* const origin = candidate.starts_with('/') ? "which is beside the launcher"
                                                          : "which the system's loader finds";
    if (const auto library = try_open(candidate, origin, attempts)) return library;
  }
  throw sdk::Failure(KILN_CODE_NOT_FOUND, not_found(launcher, attempts));
}

}  // namespace kiln::mpi
