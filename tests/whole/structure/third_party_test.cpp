// Tests third-party libraries: each has one row, one find module and one list of Debian packages.
#include "tests/whole/structure/third_party.h"
#include "tests/support/catch.h"
#include "tests/whole/structure/source_tree.h"

#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace structure_test;

namespace {

fs::path folder() { return kRoot / "third_party"; }

std::string text_of(const fs::path& file) {
  std::string text;
  for (const std::string& line : lines_of(file)) text += line + "\n";
  return text;
}

/// Whether the text has the package's name, which may contain '-', '+' and '.'.
bool names_package(const std::string& text, const std::string& package) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    while (!word.empty() && (word.back() == ',' || word.back() == '.')) word.pop_back();
    if (word == package) return true;
  }
  return false;
}

/// The Debian packages that building Kiln needs.
std::vector<std::string> build_packages() {
  std::vector<std::string> packages;
  for (const std::string& line : lines_of(folder() / "debian-packages.txt")) {
    std::istringstream words(line);
    std::string purpose, package;
    if (words >> purpose >> package && purpose == "build") packages.push_back(package);
  }
  return packages;
}

}  // namespace

TEST_CASE("third-party libraries: each dependency has a row and a find module") {
  std::set<std::string> modules;
  for (const auto& entry : fs::directory_iterator(folder())) {
    const std::string stem = entry.path().stem().string();
    if (entry.path().extension() == ".cmake" && stem.starts_with("Find")) {
      modules.insert(stem.substr(4));
    }
  }
  const std::vector<std::string>& rows = dependencies();
  CHECK(modules == std::set<std::string>(rows.begin(), rows.end()));
  CHECK(modules.size() >= 7);
}

TEST_CASE("third-party libraries: find modules name the Debian packages of the list") {
  const std::vector<std::string> packages = build_packages();
  std::set<std::string> named{"g++", "cmake", "lld", "ninja-build"};  // of no library
  for (const std::string& dependency : dependencies()) {
    const std::string module = text_of(folder() / ("Find" + dependency + ".cmake"));
    bool names_any = false;
    for (const std::string& package : packages) {
      if (!names_package(module, package)) continue;
      named.insert(package);
      names_any = true;
    }
    INFO(dependency);
    CHECK(names_any);
  }
  CHECK(named == std::set<std::string>(packages.begin(), packages.end()));
}

TEST_CASE("third-party libraries: scripts name no Debian package of the list themselves") {
  const std::vector<std::string> packages = build_packages();
  for (const char* script : {"tools/demo", "tools/test", "tools/setup.sh", "tools/bench_peers",
                             "tools/digits", "tools/gpu_test", ".ci/run"}) {
    const std::string text = text_of(kRoot / script);
    REQUIRE_FALSE(text.empty());
    for (const std::string& package : packages) {
      if (package == "cmake") continue;  // also the name of the program
      INFO(script << " names " << package);
      CHECK_FALSE(names_package(text, package));
    }
  }
}
