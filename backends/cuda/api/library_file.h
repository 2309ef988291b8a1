// Searches folders for one shared library, opens it, and records each failed attempt.
#pragma once

#include <string>
#include <vector>

namespace kiln::cuda::api {

/// The search path of a library, in this order. Folders hold the pattern characters of glob(3);
/// of several matches the one with the highest version number comes first.
struct LibraryPlaces {
  /// Folders that the user names, absolute: the folder itself, then its lib64, lib and
  /// nvidia/*/lib, so that a toolkit's or a Python environment's site-packages folder can be named.
  std::vector<std::string> configured;
  bool plugin_folder = true;  // the folder that holds this code
  bool system_search = true;  // the dynamic loader's: LD_LIBRARY_PATH, ld.so.cache, /lib, ...
  std::vector<std::string> known_folders;
};

/// The default folders of toolkits, as patterns of glob(3).
std::vector<std::string> toolkit_folders();

struct LibraryFile {
  void* handle = nullptr;  // null: not found; else open until the process ends
  std::string path;        // absolute, without symbolic links
  /// Each place before the library was found, and what was there: "PATH: no such file".
  std::vector<std::string> attempts;

  /// Null where the library has no such symbol.
  void* symbol(const char* name) const;
};

/// Opens the first loadable library of one of these file names; in each place the names are tried
/// in their order. A file that cannot be loaded (unreadable, no ELF file, another architecture, a
/// linker stub of a toolkit) is an attempt, and the search goes on.
LibraryFile open_library(const std::vector<std::string>& names, const LibraryPlaces& places);

/// Opens the library at an absolute path, with the same checks; a failure is its one attempt.
LibraryFile open_library_at(const std::string& path);

/// The attempts as one text, separated by semicolons.
std::string attempts_text(const LibraryFile& file);

/// Paths that match a pattern of glob(3), the highest version number first.
std::vector<std::string> matches_of(const std::string& pattern);

}  // namespace kiln::cuda::api
