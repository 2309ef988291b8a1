// Plugins as opened shared libraries: search and checks. A Plugin is created once
// per file, never closed and never freed, so references to it stay valid.
#pragma once

#include "backends/abi/kiln_backend.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::runtime {

struct Plugin {
  std::string name, version, build_id, toolchain;  // as the plugin reports them
  std::string path;  // absolute, without symbolic links
  std::string id;  // for users: the name of a plugin beside the host, else the path
  std::uint64_t features = 0;
  kiln_backend_api api{};  // complete: no entry is null
  std::vector<std::string> absent_entries;  // optional ones that the plugin lacks
};

/// A file with the name of a plugin. None of its code has run.
struct PluginFile {
  std::string name, path;
  std::string rejection;  // the reason why it cannot be opened; empty if file_rejection found none
};

/// Returns the folders that are searched: that of the object with this code, and ../lib from there.
std::vector<std::string> plugin_directories();

/// Lists the files libkiln_<name>.so in plugin_directories(), sorted by name; the first folder
/// wins. A folder that is missing or not readable has none; BackendError if reading one fails.
std::vector<PluginFile> list_plugin_files();

/// Returns the plugin of that name or absolute path, opened by the first call. A name means the
/// file libkiln_<name>.so in plugin_directories(), regardless of the names that plugins report.
/// `function`: the K function that errors start with. Thread-safe. Throws BackendError.
const Plugin& open_plugin(const std::string& name_or_path, const std::string& function);

/// Returns all opened plugins in the order of opening. Thread-safe.
std::vector<const Plugin*> opened_plugins();

/// Returns the path of the file with this code: libkiln.so, or the program linked with it.
const std::string& host_path();

// ---- Parts of the above, each in a file of its own ----

/// Returns the reason to reject the file before any of its code runs, or "". `own`: it was found by
/// name, beside the host.
std::string file_rejection(const std::string& path, bool own);

/// Opens the file and checks its version. REQUIRES: file_rejection accepts `path`. Throws
/// BackendError.
Plugin load_plugin(const std::string& path, const std::string& function);

/// Returns the names of the optional entries that the table lacks.
std::vector<std::string> absent_entries(const kiln_backend_api* table);

/// Copies the table and fills missing optional entries with fallbacks. Sets `reason` if a required
/// entry is missing.
kiln_backend_api complete_table(const kiln_backend_api* table, std::string& reason);

}  // namespace kiln::runtime
