// Tests that the page on environment variables lists exactly what the sources read.
#include "tests/support/catch.h"
#include "tests/whole/structure/source_tree.h"
#include "tools/environment/environment_page.h"

#include <algorithm>
#include <set>

using namespace structure_test;
using kiln::tool::environment_page;
using kiln::tool::is_listed;
using kiln::tool::names_of_tables;

namespace {

using Names = std::set<std::string>;

/// Adds the words of capitals, digits and underscores, the last of them no underscore, that follow
/// `marker` and begin with `prefix` and, where it is given, that `end` follows.
void add_words(const std::string& line, const std::string& marker, const std::string& prefix,
               const std::string& end, Names& words) {
  for (std::size_t at = line.find(marker); at != line.npos; at = line.find(marker, at + 1)) {
    const std::size_t begin = at + marker.size();
    const std::size_t stop = std::min(
        line.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", begin), line.size());
    const std::string word = line.substr(begin, stop - begin);
    const bool is_whole = word.size() > prefix.size() && !word.ends_with('_') &&
                          line.compare(stop, end.size(), end) == 0;
    if (is_whole && word.starts_with(prefix)) words.insert(word);
  }
}

/// Variables of Kiln as C++ literals, and those that are read under any other name.
void add_of_source(const std::string& line, Names& words) {
  for (const char* prefix : {"KILN_", "KERAS_"}) add_words(line, "\"", prefix, "\"", words);
  for (const char* reader : {"getenv(\"", "environment(\""}) {
    add_words(line, reader, "", "\")", words);
  }
}

bool is_script(const fs::path& path) {
  const std::string name = path.filename().string();
  return !is_source(path) && !name.starts_with("CMakeLists") && !name.ends_with(".cmake");
}

void add_of_script(const std::string& line, Names& words) {
  for (const char* marker : {"$", "${"}) {
    for (const char* prefix : {"KILN_", "KERAS_"}) add_words(line, marker, prefix, "", words);
  }
}

/// The variables that files of the trees read; of tests alone, or of all others.
Names variables_read(bool by_tests) {
  Names words;
  const auto add = [&](const std::vector<fs::path>& paths, const auto& add_of_line) {
    for (const fs::path& path : paths) {
      if (name_of(path).starts_with("tests/") != by_tests) continue;
      for (const std::string& line : lines_of(path)) add_of_line(line, words);
    }
  };
  add(sources(), add_of_source);
  add(files(is_script), add_of_script);
  return words;
}

}  // namespace

TEST_CASE("environment page: each variable that is read is listed") {
  const std::vector<std::string> listed = names_of_tables(environment_page(), "variable");
  const Names read = variables_read(/*by_tests=*/false);
  CHECK(read.size() > 20);
  for (const std::string& name : read) {
    INFO(name << " is a row of tools/pages/environment.md");
    CHECK(is_listed(listed, name));
  }
}

TEST_CASE("environment page: each listed variable is read") {
  Names read = variables_read(/*by_tests=*/false);
  read.merge(variables_read(/*by_tests=*/true));
  Names listed;
  for (const std::string& name : names_of_tables(environment_page(), "variable")) {
    INFO(name);
    CHECK(listed.insert(name).second);
    if (!name.ends_with('*')) CHECK(read.count(name) == 1);
  }
  CHECK(listed.size() > 20);
}

TEST_CASE("environment page: the keys of keras.json are those that are known") {
  Names known;
  for (const std::string& line : lines_of(kRoot / "runtime/config/keras_json.cpp")) {
    const std::string marker = "key == \"";
    for (std::size_t at = line.find(marker); at != line.npos; at = line.find(marker, at + 1)) {
      const std::size_t begin = at + marker.size();
      known.insert(line.substr(begin, line.find('"', begin) - begin));
    }
  }
  const std::vector<std::string> listed = names_of_tables(environment_page(), "key");
  CHECK(Names(listed.begin(), listed.end()) == known);
}

TEST_CASE("environment page: words of a line and rows of a table are found") {
  Names words;
  add_of_source(R"(f("KILN_A"), getenv("B"), "KILN_C is", KILN_D, "KILN_E_", getenv(name))", words);
  CHECK(words == Names{"B", "KILN_A"});
  words.clear();
  add_of_script("${KILN_A:-} $KILN_B \\KILN_C $OTHER", words);
  CHECK(words == Names{"KILN_A", "KILN_B"});
  const char* page =
      "| key | x |\n|---|---|\n| `no` | |\n\n"
      "| variable | x |\n|---|---|\n| `KILN_A`, `LD_*` | `none` |\n";
  const std::vector<std::string> names = names_of_tables(page, "variable");
  CHECK(names == std::vector<std::string>{"KILN_A", "LD_*"});
  CHECK(is_listed(names, "LD_PRELOAD"));
  CHECK(is_listed(names, "KILN_A"));
  CHECK_FALSE(is_listed(names, "KILN_AB"));
  CHECK_FALSE(is_listed(names, "KILN"));
}
