// Tests the verifier on plans written by hand: two copies in a valid order and in invalid ones.
#include "backends/codegen/plan/verify_plan.h"

#include "core/ops/build.h"
#include "tests/support/catch.h"
#include "tests/support/error_text.h"

using namespace kiln::codegen;
using kiln::testing::error_text;

namespace {

constexpr SlotId kArgument{0}, kTemporary{1}, kResult{2};

Plan plan_of(std::vector<Step> steps) {
  Plan plan;
  plan.slots.resize(3);
  plan.slots[kArgument].kind = ArgumentSlot{};
  plan.slots[kResult].kind = ResultSlot{};
  plan.arguments = {kArgument};
  plan.results = {kResult};
  plan.steps = std::move(steps);
  return plan;
}

std::string error_of(const Plan& plan) {
  return error_text<kiln::InternalError>([&] { verify(plan, {}); });
}

}  // namespace

TEST_CASE("plan rules: a tensor is read after the last step that writes it") {
  const CopyStep first{kArgument, kTemporary}, second{kTemporary, kResult};
  CHECK_NOTHROW(verify(plan_of({first, second}), {}));
  CHECK(error_of(plan_of({second, first})).find("step 0 reads %1, which step 1 writes") !=
        std::string::npos);
  CHECK(error_of(plan_of({first, second, first})).find("step 1 reads %1, which step 2 writes") !=
        std::string::npos);
  CHECK(error_of(plan_of({second})).find("step 0 reads %1, which nothing writes") !=
        std::string::npos);
}

TEST_CASE("plan rules: steps have slots of their plan and kernels of the program") {
  CHECK(
      error_of(plan_of({CopyStep{kArgument, SlotId(3)}})).find("a step has number 3 of 3 slots") !=
      std::string::npos);
  CHECK(error_of(plan_of({CopyStep{SlotId(), kResult}})).find("a step has number -1 of 3 slots") !=
        std::string::npos);
  LoopStep loop;
  loop.body = std::make_shared<Plan>(plan_of({KernelStep{KernelId(0), {}}}));
  loop.independent_rows = IndependentRows{.rows = 8, .scales = {1}};
  CHECK(error_of(plan_of({loop})).find("a step has number 0 of 0 kernels") != std::string::npos);
}

TEST_CASE("plan rules: results are written, and arguments are not") {
  CHECK(error_of(plan_of({})).find("nothing writes the result %2") != std::string::npos);
  CHECK(error_of(plan_of({CopyStep{kArgument, kResult}, CopyStep{kResult, kArgument}}))
            .find("step 1 writes %0, an argument or a constant") != std::string::npos);
}

TEST_CASE("plan rules: bodies of loops obey them, too") {
  LoopStep loop;
  loop.results = {kResult};
  loop.body = std::make_shared<Plan>(plan_of({CopyStep{kTemporary, kResult}}));
  CHECK(error_of(plan_of({loop})).find("step 0 reads %1") != std::string::npos);
}

TEST_CASE("plan rules: a loop that is one kernel has kernels and copies, with a scale for each") {
  const Plan copies = plan_of({CopyStep{kArgument, kTemporary}, CopyStep{kTemporary, kResult}});
  const kiln::ir::Value node = kiln::ir::scalar_constant(kiln::DType::Float32, 1);
  const auto with = [&](const Plan& body, LoopFusion fusion) {
    LoopStep loop;
    loop.node = node.node.get();
    loop.results = {kResult};
    loop.body = std::make_shared<Plan>(body);
    loop.fusion = std::move(fusion);
    return error_of(plan_of({loop}));
  };
  const auto divided = [](std::vector<std::int64_t> scales) {
    return IndependentRows{.rows = 8, .scales = std::move(scales)};
  };
  CHECK(with(copies, {divided({1, 1})}) == "no error");
  CHECK(with(copies, {divided({1})}).find("blocks divide 1 steps of a loop of 2") !=
        std::string::npos);
  CHECK(with(copies, {divided({1}), "it is large"}) == "no error");
  const Plan host = plan_of({HostCallStep{.operands = {kArgument}, .results = {kResult}}});
  CHECK(with(host, {divided({1})}).find("step 0 of a loop that is one kernel is none") !=
        std::string::npos);
}

TEST_CASE("plan rules: a stack of a carry is written by no step of the body") {
  Plan body = plan_of({});
  LoopStep loop;
  loop.results = {kTemporary, kResult};
  const auto with = [&](std::vector<CarryStacks> stacks) {
    LoopStep changed = loop;
    changed.carry_stacks = std::move(stacks);
    changed.body = std::make_shared<Plan>(body);
    return error_of(plan_of({changed}));
  };
  const CarryStacks stacks{.carry = 1, .before = 0};
  CHECK(with({stacks}) == "no error");
  CHECK(with({}).find("nothing writes the result %2") != std::string::npos);
  CHECK(with({stacks, stacks}).find("result 0 of a loop stacks two carries") != std::string::npos);
  CHECK(with({{.carry = 1, .before = 0, .after = 1}}).find("are not temporary") !=
        std::string::npos);
  body.steps.push_back(CopyStep{kArgument, kResult});
  CHECK(with({stacks}).find("the body writes the stack %2") != std::string::npos);
}
