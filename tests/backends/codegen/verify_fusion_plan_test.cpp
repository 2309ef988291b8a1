// Tests the verifier of fusion plans on plans written by hand.
#include "backends/codegen/fusion/fusion_plan.h"
#include "core/ops/build.h"

#include "tests/support/catch.h"
#include "tests/support/error_text.h"

using namespace kiln::codegen;
using kiln::testing::error_text;

namespace {

std::string error_of(std::vector<FusionGroup> groups) {
  FusionPlan plan;
  plan.groups = std::move(groups);
  return error_text<kiln::InternalError>([&] { verify(plan); });
}

}  // namespace

TEST_CASE("fusion plan rules: a kernel reduces axes of its domain") {
  KernelGroup kernel;
  kernel.domain = {4, 8};
  kernel.reduced = {false, true};
  kernel.has_reduced_axes = true;
  CHECK(error_of({kernel, MergedGroup{}}) == "no error");
  kernel.reduced.push_back(true);
  CHECK(error_of({kernel}).find("group 0 reduces 3 axes of 2") != std::string::npos);
}

TEST_CASE("fusion plan rules: a node is in one kernel") {
  const kiln::ir::Value value = kiln::ir::scalar_constant(kiln::DType::Float32, 1);
  KernelGroup kernel;
  kernel.members.push_back({value.node.get()});
  CHECK(error_of({kernel}) == "no error");
  CHECK(error_of({kernel, kernel}).find("group 1 computes a node of group 0, too") !=
        std::string::npos);
}

TEST_CASE("fusion plan rules: a group that is no kernel has a node") {
  const kiln::ir::Value value = kiln::ir::scalar_constant(kiln::DType::Float32, 1);
  for (const auto kind : {NodeGroup::Kind::Loop, NodeGroup::Kind::WrittenTensor}) {
    CHECK(error_of({NodeGroup{kind, value.node.get()}}) == "no error");
    CHECK(error_of({NodeGroup{kind, nullptr}}).find("group 0 has no node") != std::string::npos);
  }
}
