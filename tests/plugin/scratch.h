// A private folder for the files of one test, removed at its end; and what the texts of the loader
// are compared with.
#pragma once

#include "core/types/text.h"
#include "runtime/plugin.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace kiln::runtime {

class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "kiln-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) folder_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& folder() const { return folder_; }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string write(const std::string& name, const std::string& contents) const {
    std::ofstream(path(name), std::ios::binary) << contents;
    return path(name);
  }

 private:
  std::string folder_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
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
