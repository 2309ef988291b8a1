// Tests that each fault of tests/mutants names an expression that its file has once: the build of
// the faults, which nobody makes every day, depends on it.
#include "tests/support/catch.h"
#include "tests/whole/structure/source_tree.h"

using namespace structure_test;

TEST_CASE("mutants: each expression is in its file once") {
  int faults = 0;
  for (const std::string& line : lines_of(kRoot / "tests/mutants/mutants.txt")) {
    if (line.empty() || line.starts_with('#')) continue;
    INFO(line);
    const std::size_t file = line.find(" :: "), fault = line.rfind(" => ");
    REQUIRE(file != line.npos);
    REQUIRE(fault != line.npos);
    const std::string expression = line.substr(file + 4, fault - file - 4);
    int found = 0;
    for (const std::string& source : lines_of(kRoot / line.substr(0, file))) {
      for (std::size_t at = source.find(expression); at != source.npos;
           at = source.find(expression, at + 1)) {
        ++found;
      }
    }
    CHECK(found == 1);
    ++faults;
  }
  CHECK(faults >= 60);
}
