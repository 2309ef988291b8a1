// Tests the manual pages: one for kiln and one for each command, with the texts of --help.
#include "tests/support/catch.h"
#include "tests/support/has.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/whole/tools/kiln_commands.h"
#include "test_folders.h"

#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace {

using kiln::testing::contents_of;
using kiln::testing::has;
using kiln::testing::Outcome;
using kiln::testing::run_shell;
using kiln::testing::Scratch;

Outcome kiln_of(const std::string& words) {
  return run_shell("'" KILN_BINARY_DIR "/bin/kiln' " + words);
}

/// The source of a page as text: without fonts and escapes.
std::string plain(std::string page) {
  for (const char* mark : {"\\fB", "\\fI", "\\fR", "\\&"}) {
    for (std::size_t at = 0; (at = page.find(mark, at)) != page.npos;) page.erase(at, 3);
  }
  for (std::size_t at = 0; (at = page.find("\\-", at)) != page.npos;) page.erase(at, 1);
  for (std::size_t at = 0; (at = page.find("\\:", at)) != page.npos;) page.erase(at, 2);
  return page;
}

/// The words of --help, but its headings: descriptions are wrapped nowhere.
std::vector<std::string> texts_of(const std::string& help) {
  std::vector<std::string> texts;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    const bool is_row = line.starts_with("  ");
    const std::size_t column = is_row ? line.find("  ", 2) : line.npos;
    if (column == line.npos) continue;
    texts.push_back(line.substr(line.find_first_not_of(' ', column)));
  }
  return texts;
}

}  // namespace

TEST_CASE("kiln man: a page for each command, with the texts of --help") {
  const Scratch scratch;
  const std::string folder = scratch.path("man1");
  REQUIRE(kiln_of("man '" + folder + "'").status == 0);
  std::vector<std::string> names = kiln::testing::kiln_commands();
  CHECK(names.size() >= 7);
  const auto files = std::distance(std::filesystem::directory_iterator(folder), {});
  CHECK(static_cast<std::size_t>(files) == names.size() + 1);
  names.emplace_back();
  for (const std::string& name : names) {
    INFO(name);
    const std::string path = folder + "/kiln" + (name.empty() ? "" : "-") + name + ".1";
    const std::string page = plain(contents_of(path));
    CHECK(page.starts_with(".TH KILN"));
    CHECK(has(page, "\n.SH SYNOPSIS\nkiln " + (name.empty() ? "[options] COMMAND" : name + " [")));
    for (const std::string& text : texts_of(kiln_of(name + " --help").text)) {
      INFO(text);
      CHECK(has(page, text));
    }
  }
  CHECK(has(plain(contents_of(folder + "/kiln-run.1")),
            "\n.TP\n--dim NAME=SIZE\nsize of an unknown dim"));
  // A list without spaces has places where a line may break.
  CHECK(has(contents_of(folder + "/kiln-dump.1"), "graph,\\:passes,\\:module,\\:collectives"));
}

TEST_CASE("kiln man: a folder that cannot be written is an error") {
  const Outcome outcome = kiln_of("man /dev/null/man1");
  CHECK(outcome.status == 1);
  CHECK(has(outcome.text, "kiln man: cannot write /dev/null/man1/"));
  CHECK_FALSE(has(kiln_of("--help").text, "man "));
}
