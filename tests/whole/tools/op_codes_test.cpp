// Tests that the C header and the page of the module format are what kiln ops prints.
#include "tests/support/catch.h"
#include "tests/support/process.h"
#include "test_folders.h"

#include "core/types/text.h"
#include "core/ops/op.h"

#include <fstream>
#include <sstream>
#include <string>

using namespace kiln;
using kiln::testing::Outcome;
using kiln::testing::run_shell;

namespace {

std::string source_text(const std::string& path) {
  std::ifstream file(KILN_SOURCE_DIR "/" + path);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

std::string ops_with(const std::string& options) {
  const Outcome outcome = run_shell("'" KILN_BINARY_DIR "/bin/kiln' ops " + options);
  CHECK(outcome.status == 0);
  return outcome.text;
}

}  // namespace

TEST_CASE("kiln ops --header: the header of the SDK has every op") {
  CHECK(source_text("backends/abi/kiln_module_ops.h") == ops_with("--header"));
}

TEST_CASE("kiln ops --codes: the page of the module format ends with it") {
  const std::string codes = ops_with("--codes");
  for (const ir::OpDef& d : ir::all_ops()) {
    INFO(d.name);
    const std::string item = text(" ", d.name, " ", d.code);
    CHECK((codes.find(item + ",") != codes.npos || codes.find(item + "\n") != codes.npos));
  }
  std::string indented;
  std::istringstream lines(codes);
  for (std::string line; std::getline(lines, line);) indented += "    " + line + "\n";
  const std::string page = source_text("tools/pages/module_format.md");
  REQUIRE(page.size() > indented.size());
  CHECK(page.substr(page.size() - indented.size()) == indented);
}

TEST_CASE("kiln ops: describes the attributes of an op in the order of the module format") {
  CHECK(ops_with("conv").find("\n  attributes, in the order of the module format:\n"
                              "    role: integer (0 input, 1 filter, 2 output)\n"
                              "    strides: integers\n    dilations: integers\n    low: dims\n"
                              "    high: dims\n    sizes: dims\n    groups: dim\n"
                              "  code in the module format: 63\n") != std::string::npos);
}
