// Each operator that is imported has a case.
#include "core/onnx/file/read.h"
#include "core/onnx/import/table.h"
#include "tests/runtime/onnx/case_file.h"
#include "tests/support/catch.h"

#include <filesystem>
#include <set>
#include <string>

using kiln::testing::CaseFile;

namespace {

void add_operators(const std::vector<kiln::onnx::NodeProto>& nodes, std::set<std::string>& found) {
  for (const auto& node : nodes) {
    found.emplace(node.op_type);
    for (const auto& attribute : node.attribute) {
      if (attribute.g) add_operators(attribute.g->node, found);
    }
  }
}

std::set<std::string> operators_of_cases() {
  std::set<std::string> found;
  const std::string folder = KILN_SOURCE_DIR "/tests/runtime/onnx/cases";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".npz") continue;
    const CaseFile file(entry.path().stem());
    for (const std::string& name : file.names()) {
      const std::string bytes = file.find(name).bytes();
      add_operators(kiln::onnx::read_model(std::as_bytes(std::span(bytes))).graph.node, found);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("ONNX: each operator that is imported has a case") {
  const std::set<std::string> covered = operators_of_cases();
  std::set<std::string> known;
  for (const auto group : kiln::onnx::operator_groups()) {
    for (const auto& row : group) {
      INFO(row.name);
      CHECK(known.emplace(row.name).second);
      CHECK((row.import != nullptr) == row.reason.empty());
      if (row.import) CHECK(covered.count(std::string(row.name)) == 1);
    }
  }
}
