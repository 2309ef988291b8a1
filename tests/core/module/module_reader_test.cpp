// Tests the C reader of the SDK on modules that Kiln wrote; binary_test.cpp has damaged ones.
#include "tests/core/module/edit_bytes.h"
#include "tests/core/module/module_text.h"
#include "tests/core/module/programs.h"
#include "tests/support/catch.h"

#include "backends/abi/kiln_module_reader.h"
#include "core/module/write.h"
#include "core/ops/op.h"

#include <cstdlib>
#include <memory>
#include <sstream>

using namespace kiln;

namespace {

/// The text as the C reader prints it, without source lines, by the nodes of the graph: the name,
/// an entry for each node with its lambdas, then those of lists, states and guards.
std::vector<std::string> entries_in_c(const test::Bytes& bytes) {
  const char* error = nullptr;
  const std::unique_ptr<char, decltype(&std::free)> text(
      module_text_in_c(bytes.data(), bytes.size(), &error), &std::free);
  REQUIRE(text);
  std::vector<std::string> entries;
  std::istringstream stream(text.get());
  int depth = 0;
  for (std::string line; std::getline(stream, line);) {
    line = line.substr(0, line.find(" ; "));
    if (line.starts_with("}")) --depth;
    const bool is_start = line.starts_with("%") || line.starts_with("inputs") ||
                          line.starts_with("outputs") || line.starts_with("updates") ||
                          line.starts_with("state") || line.starts_with("guard");
    if (entries.empty() || (depth == 0 && is_start)) entries.emplace_back();
    entries.back() += line;
    if (line.ends_with("{")) ++depth;
  }
  return entries;
}

}  // namespace

TEST_CASE("C reader: has the version of the format, and every op") {
  CHECK(KILN_MODULE_MAJOR == module::kFormatMajor);
  CHECK(KILN_MODULE_MINOR == module::kFormatMinor);
  CHECK(KILN_MAX_NESTING == module::kMaxNesting);
  std::size_t found = 0;
  for (const ir::OpDef& d : ir::all_ops()) {
    INFO(d.name);
    const kiln_op_format* op = kiln_find_op(static_cast<std::uint64_t>(d.code));
    REQUIRE(op != nullptr);
    CHECK(op->name == d.name);
    ++found;
  }
  CHECK(found == std::size(kiln_op_formats));
  CHECK(kiln_find_op(127) == nullptr);
}

TEST_CASE("C reader: reads what Kiln reads") {
  CHECK(test::difference_of_readers(test::every_op_program()) == "");
  CHECK(test::difference_of_readers(test::small_program()) == "");
  CHECK(test::difference_of_readers(test::nested_program(module::kMaxNesting)) == "");
}

TEST_CASE("C reader: prints operations of dims, guards and source lines") {
  const test::Bytes bytes = module::write_module(test::small_program()).bytes;
  const char* error = nullptr;
  const std::unique_ptr<char, decltype(&std::free)> found(
      module_text_in_c(bytes.data(), bytes.size(), &error), &std::free);
  REQUIRE(found);
  const std::int64_t n = module_text_symbol("x.0", 3);
  const std::string text = found.get(), line = " ; \"dot\" \"train.cpp\":88\n";
  CHECK(text.find(kiln::text("%0 = placeholder id=0 name=\"x\" type=11[", n, ",3] : 11[", n, ",3]",
                             line)) != text.npos);
  CHECK(text.find(kiln::text("%2 = dot lhs=[0,1] rhs=[1,2] result=[0,2] %0.0 %1.0 : 11[", n, ",2]",
                             line)) != text.npos);
  CHECK(text.find("%6 = constant type=11[] data=0000003f : 11[]" + line) != text.npos);
  CHECK(text.find("\nupdates %1.0 %8.0\nstate 0 \"w\" 11[3,2]\n") != text.npos);
  CHECK(text.find(kiln::text("guard 1 1 ", n, " \"dot: no rows\"")) != text.npos);
}

TEST_CASE("C reader: skips the attributes of an op that it does not know") {
  const test::Bytes good = module::write_module(test::every_op_program()).bytes;
  const std::vector<std::string> known = entries_in_c(good);
  kiln_module module;
  REQUIRE(kiln_module_open(&module, good.data(), good.size()) == nullptr);
  const auto* start = reinterpret_cast<const unsigned char*>(good.data());
  kiln_region graph = module.graph;
  for (std::size_t number = 0; number < module.graph.count; ++number) {
    test::Bytes bytes = good;
    bytes[static_cast<std::size_t>(graph.at.at - start)] = std::byte{127};
    test::sign(bytes);
    kiln_node node;
    REQUIRE(kiln_next_node(&graph, &node) == 1);
    // The node has its operands and types; all others are as before.
    std::vector<std::string> expected = known;
    std::string& entry = expected[1 + number];
    INFO(entry);
    std::string skipped = text("%", number, " = op 127");
    for (std::uint64_t i = 0; i < node.operand_count; ++i) {
      const kiln_module_value operand = kiln_read_value(&node.operands);
      skipped += text(" %", operand.node, ".", operand.result);
    }
    entry = skipped + entry.substr(entry.rfind(" :"));
    CHECK(entries_in_c(bytes) == expected);
  }
}
