// A private folder for the files of one test, and texts that messages of the loader contain.
#pragma once

#include "core/types/text.h"
#include "runtime/plugin/plugin.h"
#include "tests/support/scratch.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace kiln::runtime {

using kiln::testing::Scratch;

inline std::string read_file(const std::string& path) { return kiln::testing::contents_of(path); }

/// The list of Kiln's own plugins, as the message for an unknown name has it.
inline std::string describe_files() {
  std::string list;
  for (const PluginFile& file : list_plugin_files()) {
    const std::string why = file.rejection.empty() ? "" : ", which " + file.rejection;
    list += text(list.empty() ? "" : ", ", file.name, " (", file.path, why, ")");
  }
  return list.empty() ? "none" : list;
}

}  // namespace kiln::runtime
