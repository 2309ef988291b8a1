// Tests READMEs: each folder has one, and files that they name exist.
#include "tests/support/catch.h"
#include "tests/whole/structure/source_tree.h"

#include <algorithm>
#include <set>

using namespace structure_test;

namespace {

/// Whether the folder of the file needs a README: sources, and files that build, link or run.
bool is_described(const fs::path& path) {
  const std::string extension = path.extension().string();
  return is_source(path) || extension == ".cmake" || extension == ".map" || extension == ".py" ||
         extension == ".sh";
}

/// The texts between backticks.
std::vector<std::string> quoted_in(const fs::path& readme) {
  std::vector<std::string> quoted;
  for (const std::string& line : lines_of(readme)) {
    std::size_t open = line.find('`');
    while (open != std::string::npos) {
      const std::size_t close = line.find('`', open + 1);
      if (close == std::string::npos) break;
      quoted.push_back(line.substr(open + 1, close - open - 1));
      open = line.find('`', close + 1);
    }
  }
  return quoted;
}

}  // namespace

TEST_CASE("READMEs: lines are short") {
  std::vector<fs::path> readmes =
      files([](const fs::path& path) { return path.extension() == ".md"; });
  readmes.push_back(kRoot / "README.md");
  CHECK(readmes.size() > 20);
  for (const fs::path& path : readmes) {
    const std::vector<std::string> lines = lines_of(path);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      INFO(name_of(path) << ", line " << i + 1);
      CHECK(lines[i].size() <= 100);
    }
  }
}

TEST_CASE("READMEs: each folder has one, which names only files that exist") {
  std::set<fs::path> folders;
  for (const fs::path& path : files(is_described)) folders.insert(path.parent_path());
  for (const fs::path& folder : folders) {
    INFO(name_of(folder));
    REQUIRE(fs::exists(folder / "README.md"));
    for (const std::string& name : quoted_in(folder / "README.md")) {
      const bool is_file = name.size() > 2 && name.find_first_of(" {}*<>()") == std::string::npos &&
                           (name.ends_with(".h") || name.ends_with(".cpp"));
      if (!is_file) continue;
      INFO(name_of(folder) << "/README.md names " << name);
      CHECK((fs::exists(folder / name) || fs::exists(kRoot / name) ||
             fs::exists(folder / "kiln" / name) || fs::exists(folder / "fakes" / name)));
    }
  }
}

TEST_CASE("READMEs: each folder of folders has one that names them") {
  for (const std::string& tree : kTrees) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / tree)) {
      if (!entry.is_directory()) continue;
      const fs::path readme = entry.path().parent_path() / "README.md";
      INFO(name_of(readme) << " names " << entry.path().filename());
      REQUIRE(fs::exists(readme));
      const std::vector<std::string> quoted = quoted_in(readme);
      CHECK(std::any_of(quoted.begin(), quoted.end(), [&](const std::string& words) {
        return has_word(words, entry.path().filename().string());
      }));
    }
  }
}
