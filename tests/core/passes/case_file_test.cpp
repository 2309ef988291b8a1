// Tests the reader of case files: faults have their file and line, and only the text of an
// expectation is replaced.
#include "tests/core/passes/case_file.h"
#include "tests/core/passes/check_case.h"
#include "tests/support/catch.h"

namespace kiln::test {
namespace {

const std::string kHead = "// Tests a pass.\n// case: A\n// pass: simplify\n";
const std::string kGraph = "%0 = placeholder id=0 name=\"x\" : $T[2]\ninputs %0\noutputs %0\n";

TEST_CASE("case files: faults have their file and line") {
  struct Row {
    std::string text, error;
  };
  const std::string complete = kHead + kGraph + "// after: unchanged\n";
  const Row rows[] = {
      {"", "1: the file has no '// case: TITLE'"},
      {"// pass: simplify\n", "1: the line precedes the first '// case: TITLE'"},
      {"\n" + kGraph, "2: the line precedes the first '// case: TITLE'"},
      {kHead + kGraph, "2: the case has no '// after:'"},
      {kHead + kGraph + "// case: B\n", "2: the case has no '// after:'"},
      {kHead + "// after: unchanged\n", "2: the case has no graph"},
      {"// case: A\n" + kGraph + "// after:\n", "1: the case has no '// pass: NAME'"},
      {"// case: A\n// pass: simplify gather_gates\n", "2: no pass has the name 'gather_gates'"},
      {complete + "// after:\n", "8: the case has two expectations"},
      {complete + kGraph, "8: a graph follows '// after: unchanged'"},
      {complete + "// case: A\n", "8: line 2 has the same title"},
      {kHead + kGraph + "// afer:\n" + kGraph, "8: a comment or an empty line divides the graph"},
      {kHead + "%0 = plaeholder\n// after:\n", "4:6: "},
      {kHead + "// A comment.\n\n%0 = exp %1 : $T[2]\n// after:\n", "6:10: %1 is not defined"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK_THROWS_WITH(check_case(read_cases(row.text, "a.kir").at(0), "a.kir"),
                      Catch::Matchers::StartsWith("a.kir:" + row.error));
  }
}

TEST_CASE("case files: only an expectation is replaced") {
  const std::string last =
      "\n// A comment.\n// case: B\n// pass: simplify\n" + kGraph + "// after: unchanged\n";
  const std::string unchanged = kHead + kGraph + "// after: unchanged\n" + last;
  const std::string changed = kHead + kGraph + "// after:\n" + kGraph + last;
  const PassCase without = read_cases(unchanged, "a.kir").at(0);
  const PassCase with = read_cases(changed, "a.kir").at(0);
  CHECK_FALSE(without.after);
  CHECK(with.after == kGraph);
  CHECK(with_expectation(unchanged, without, kGraph) == changed);
  CHECK(with_expectation(changed, with, std::nullopt) == unchanged);
  CHECK(with_expectation(changed, with, "") == kHead + kGraph + "// after:\n" + last);
}

TEST_CASE("case files: an expectation is in terms of dtype, length and direction") {
  const std::string loop =
      "%0 = placeholder id=0 name=\"x\" : $T[$N]\n"
      "%1 = placeholder id=1 name=\"x\" : $T[]\n"
      "%2 = scan %1 %0 body={\n"
      "  parameters int64[], $T[], $T[]\n"
      "  %0 = parameter index=1 : $T[]\n"
      "  %1 = parameter index=2 : $T[]\n"
      "  %2 = add %0 %1 : $T[]\n"
      "  results %2\n"
      "} consts=0 carry=1 xs=1 length=$N reverse=$R : $T[]\n";
  const std::string twice = loop + "%3 = neg %2 : $T[]\n%4 = neg %3 : $T[]\n";
  const PassCase one =
      read_cases(kHead + twice + "inputs %0 %1\noutputs %4\n// after:\n", "a.kir").at(0);
  CHECK(actual_after(one, "a.kir") == loop + "inputs %0 %1\noutputs %2\n");
}

}  // namespace
}  // namespace kiln::test
