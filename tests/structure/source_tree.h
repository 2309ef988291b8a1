// The files of the source tree, for the tests of its shape.
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
/// The path from the root on.
std::string name_of(const fs::path& path);
std::vector<std::string> lines_of(const fs::path& path);
/// Whether `word` stands in the text, not as a part of a longer one.
bool has_word(const std::string& text, const std::string& word);

}  // namespace structure_test
