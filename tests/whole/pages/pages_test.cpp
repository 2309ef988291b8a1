// Tests the pages as files: their length, their links, and that the root README names each; and the
// comparisons of page.h. The snippets themselves are tests that the build writes.
#include "tests/whole/pages/page.h"
#include "test_folders.h"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace kiln::testing {
namespace {

namespace fs = std::filesystem;
const fs::path kPages = KILN_SOURCE_DIR "/tools/pages";

std::vector<fs::path> pages() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(kPages)) {
    const bool is_page = entry.path().extension() == ".md" && entry.path().stem() != "README";
    if (is_page) found.push_back(entry.path());
  }
  return found;
}

/// The lines but for indented code, such as the table of all ops in module_format.md.
std::size_t prose_lines(const std::string& text) {
  std::istringstream lines(text);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) count += !line.starts_with("    ");
  return count;
}

/// The targets of links to files.
std::set<std::string> links_in(const std::string& text) {
  const std::regex link(R"re(\]\(([^):#]+)[^):]*\))re");
  std::set<std::string> links;
  for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at) {
    links.insert((*at)[1]);
  }
  return links;
}

}  // namespace

TEST_CASE("pages: at most 80 lines of prose, with a title and links to files that are installed",
          "[pages]") {
  CHECK(pages().size() > 5);
  for (const fs::path& page : pages()) {
    INFO(page);
    const std::string text = contents_of(page.string());
    CHECK(prose_lines(text) <= 80);
    CHECK(text.starts_with("# "));
    for (const std::string& link : links_in(text)) {
      INFO(link);
      CHECK(link.find('/') == link.npos);
      CHECK(fs::exists(kPages / link));
    }
  }
}

TEST_CASE("pages: the root README links each, and is short", "[pages]") {
  const std::string readme = contents_of(KILN_SOURCE_DIR "/README.md");
  CHECK(std::count(readme.begin(), readme.end(), '\n') <= 110);
  const std::set<std::string> links = links_in(readme);
  for (const fs::path& page : pages()) {
    CHECK(links.count("tools/pages/" + page.filename().string()) == 1);
  }
  CHECK(links.count("LICENSE") == 1);
  for (const std::string& link : links) {
    INFO(link);
    CHECK(fs::exists(fs::path(KILN_SOURCE_DIR) / link));
  }
}

TEST_CASE("pages: how printed text is compared", "[pages]") {
  CHECK(are_near("[[1.001 2]\n [3 x]]", "[[1. 2.] [3. x]]"));
  CHECK(are_near("99.5", "100"));
  CHECK_FALSE(are_near("98.5", "100"));
  CHECK_FALSE(are_near("[1 2]", "[1 2 3]"));
  CHECK_FALSE(are_near("[1 y]", "[1 x]"));
  const std::string text = "one 1.25 ms\ntwo  33 us\n\nthree\n";
  CHECK(missing_line(text, "one 7 ms\n...\nthree\n") == "");
  CHECK(missing_line(text, "two 1 us\nthr...\n") == "");
  CHECK(missing_line(text, "three\none 7 ms\n") == "one 7 ms");
  CHECK(missing_line(text, "two 1 ms\n") == "two 1 ms");
}

}  // namespace kiln::testing
