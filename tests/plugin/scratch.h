// A private folder for the files of one test, and what the texts of the loader are compared with.
#pragma once

#include "core/types/text.h"
#include "runtime/plugin/plugin.h"
#include "tests/scratch.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace kiln::runtime {

using kiln::testing::Scratch;

inline std::string read_file(const std::string& path) {
  return kiln::testing::contents_of(path);
}

/// The own plugins that are there, as the message for an unknown name lists them.
inline std::string describe_files() {
  std::string list;
  for (const PluginFile& file : list_plugin_files()) {
    const std::string why = file.refusal.empty() ? "" : ", which " + file.refusal;
    list += text(list.empty() ? "" : ", ", file.name, " (", file.path, why, ")");
  }
  return list.empty() ? "none" : list;
}

}  // namespace kiln::runtime
