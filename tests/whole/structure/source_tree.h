// Lists the files of the source tree, for the tests of its structure.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace structure_test {

namespace fs = std::filesystem;

extern const fs::path kRoot;
extern const std::vector<std::string> kTrees;  // that hold the project's files

bool is_source(const fs::path& path);
std::vector<fs::path> files(bool (*is_wanted)(const fs::path&));
std::vector<fs::path> sources();
/// The path relative to the root.
std::string name_of(const fs::path& path);
/// Whether a file of this name is a header that users include.
bool is_public(const std::string& name);
std::vector<std::string> lines_of(const fs::path& path);
/// Whether the text has `word` as a word of its own.
bool has_word(const std::string& text, const std::string& word);

}  // namespace structure_test
