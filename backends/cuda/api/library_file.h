// Searches folders for a shared library, opens it, and records each failed attempt.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"

#include <string>
#include <vector>

namespace kiln::cuda::api {

/// The search path of a library, in this order. Folders may contain pattern characters of
/// glob(3); of several matches, the one with the highest version number comes first.
struct LibrarySearchPath {
  /// Folders that the user names, absolute: the folder itself, then its lib64, lib and
  /// nvidia/*/lib, so that a toolkit's or a Python environment's site-packages folder can be named.
  std::vector<std::string> configured;
  bool plugin_folder = true;  // the folder that holds this code
  bool system_search = true;  // the dynamic loader's: LD_LIBRARY_PATH, ld.so.cache, /lib, ...
  std::vector<std::string> known_folders;
};

/// The default folders of toolkits, as patterns of glob(3).
std::vector<std::string> toolkit_folders();

/// The failure for a library that exists and cannot be loaded, in a folder that the user named.
struct DamagedLibrary : sdk::Failure {
  using sdk::Failure::Failure;
};

struct LibraryFile {
  void* handle = nullptr;  // null: not found; else open until the process ends
  std::string path;  // absolute, without symbolic links
  /// Each candidate that failed, with the reason: "PATH: no such file".
  std::vector<std::string> attempts;
  /// The last attempt found a file in a configured folder that cannot be loaded, so that the search
  /// ended there.
  bool is_damaged = false;

  /// Null where the library has no such symbol.
  void* symbol(const char* name) const;
};

/// Sets the function to the library's; adds the name to `missing` if there is none.
template <class Function>
void resolve(const LibraryFile& file, const char* name, Function& function, std::string& missing) {
  function = reinterpret_cast<Function>(file.symbol(name));
  if (function == nullptr) missing += (missing.empty() ? "" : ", ") + std::string(name);
}

/// Opens the first loadable library with one of these file names; tries the names in order in each
/// folder. Skips and records linker stubs of a toolkit, and files that cannot be loaded
/// (unreadable, not an ELF file, another architecture, cut off). Such a file in a configured folder
/// ends the search: the user meant that library, not one of another folder.
LibraryFile open_library(const std::vector<std::string>& names,
                         const LibrarySearchPath& search_path);

/// Opens the library at an absolute path, with the same checks; records a failure as one attempt.
LibraryFile open_library_at(const std::string& path);

/// The attempts as one text, separated by semicolons.
std::string attempts_text(const LibraryFile& file);

/// Throws the failure for a library that was not opened: sdk::Failure NOT_FOUND with the text
/// "LIBRARY ABSENT: ATTEMPTS END", or DamagedLibrary FAILED_PRECONDITION with "LIBRARY cannot be
/// loaded: ATTEMPTS END".
[[noreturn]] void throw_not_opened(const LibraryFile& file, const std::string& library,
                                   const std::string& absent, const std::string& end = "");

/// Paths that match a pattern of glob(3), the highest version number first.
std::vector<std::string> matches_of(const std::string& pattern);

}  // namespace kiln::cuda::api
