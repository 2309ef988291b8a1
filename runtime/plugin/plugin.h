// Plugins as opened shared libraries: finding them, opening them, agreeing on a version. A Plugin
// is made once per file, never closed and never freed, so references to it are good for ever.
// plugin_file.cpp judges a path, plugin_open.cpp opens and negotiates, plugin_table.cpp completes
// the table, plugin_search.cpp knows the directories and names. Next: backend_instance.h.
#pragma once

#include "backends/abi/kiln_backend.h"

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::runtime {

struct Plugin {
  std::string name, version, build_id, toolchain;  // as the plugin calls itself
  std::string path;  // absolute, without symbolic links
  std::string id;    // what users say: the name of an own plugin, else the path
  std::uint32_t abi_minor = 0;  // the highest that both sides know
  std::uint64_t features = 0;
  kiln_backend_api api{};  // complete: no entry is null
};

/// A file that looks like a plugin by its name. Nothing of it has been run.
struct PluginFile {
  std::string name, path;
  std::string refusal;  // why it cannot be opened; empty when nothing speaks against it
};

/// Where own plugins are looked for: beside the object that holds this code, and ../lib of there.
std::vector<std::string> plugin_directories();

/// The files libkiln_<name>.so in those directories, sorted by name; the first directory wins.
std::vector<PluginFile> list_plugin_files();

/// The plugin of that name or absolute path, opened at the first use. A name means the file
/// libkiln_<name>.so in plugin_directories(), whatever other plugins call themselves. `function`:
/// the K function that errors begin with. BackendError, with a text of its own for each thing that
/// can be wrong.
const Plugin& open_plugin(const std::string& name_or_path, const std::string& function);

/// Every plugin opened so far, in order.
std::vector<const Plugin*> opened_plugins();

/// The file that holds this code, as messages name it: libkiln.so, or the program it is part of.
const std::string& host_path();

/// The minors of one major version that a side can speak.
struct AbiRange {
  std::uint32_t major = 0, lowest = 0, highest = 0;
};
AbiRange host_abi();
/// The highest minor that both sides speak, or nothing.
std::optional<std::uint32_t> common_minor(const AbiRange& a, const AbiRange& b);
std::ostream& operator<<(std::ostream& out, const AbiRange& range);

// ---- Parts of the above, each in a file of its own ----

/// Why the file must not be opened, or nothing. `own`: it was found by name, beside the host.
std::string refusal_of_file(const std::string& path, bool own);

/// Opens the file and negotiates; `path` has passed refusal_of_file.
Plugin load_plugin(const std::string& path, const std::string& function);

/// The table with what an older or smaller plugin lacks replaced by fallbacks. `refusal` gets the
/// reason when a required entry is missing.
kiln_backend_api complete_table(const kiln_backend_api* table, std::string& refusal);

}  // namespace kiln::runtime
