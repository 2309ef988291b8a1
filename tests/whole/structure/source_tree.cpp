// Walks the trees on every call; nothing is cached.
#include "tests/whole/structure/source_tree.h"
#include "test_folders.h"

#include <cctype>
#include <fstream>

namespace structure_test {
namespace {

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

const fs::path kRoot = KILN_SOURCE_DIR;
const std::vector<std::string> kTrees{"core",  "runtime", "backends",
                                      "tools", "tests",   "third_party"};

bool is_source(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".h" || extension == ".cpp" || extension == ".c";
}

std::vector<fs::path> files(bool (*is_wanted)(const fs::path&)) {
  std::vector<fs::path> found;
  for (const std::string& tree : kTrees) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / tree)) {
      if (entry.is_regular_file() && is_wanted(entry.path())) found.push_back(entry.path());
    }
  }
  return found;
}

std::vector<fs::path> sources() { return files(is_source); }

std::string name_of(const fs::path& path) { return fs::relative(path, kRoot).string(); }

bool is_public(const std::string& name) {
  return name.find("/kiln/") != std::string::npos && !name.starts_with("tools/") &&
         !name.starts_with("tests/") && name.ends_with(".h");
}

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

bool has_word(const std::string& text, const std::string& word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !is_word_character(text[at - 1]);
    if (begins && (end == text.size() || !is_word_character(text[end]))) return true;
  }
  return false;
}

}  // namespace structure_test
