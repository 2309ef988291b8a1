// Tests the machine code of chosen kernels by the machine's NVRTC and ptxas, where these are
// installed: width of accesses, number of registers, and no local memory.
#include "tests/support/catch.h"
#include "tests/backends/codegen/machines_compiler.h"
#include "tests/backends/codegen/make_kernel.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"

#include "backends/codegen/text/grid_text.h"
#include "core/types/text.h"

#include <algorithm>
#include <cmath>

using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using Catch::Matchers::ContainsSubstring;
using ir::Op;

namespace {

/// PTX for sm_90; empty, with a warning that says why, where no NVRTC can be opened.
std::string ptx_of(const Kernel& kernel) {
  const auto compiler = machines_compiler();
  if (compiler == nullptr) return "";
  const GridSchedule schedule = schedule_grid(kernel, {});
  const ScheduledKernel scheduled[] = {{kernel, schedule}};
  return compiler->compile(grid_text(scheduled), 90, "kernels.cu").ptx;
}

/// The output of ptxas -v; empty, with a warning, where there is no ptxas.
std::string resources_of(const std::string& ptx) {
  const testing::Scratch scratch;
  const std::string file = scratch.write("kernel.ptx", ptx);
  const std::string to = scratch.path("kernel.cubin");
  const testing::Outcome outcome = testing::run_shell(
      "PATH=\"$PATH:/usr/local/cuda/bin\" ptxas -v -arch=sm_90 -o '" + to + "' '" + file + "'");
  if (outcome.status == 0) return outcome.text;
  WARN("left out: " << outcome.text);
  return "";
}

/// The number of registers per thread.
int registers_of(const std::string& resources) {
  const std::size_t found = resources.find("Used ");
  return found == std::string::npos ? 0 : std::stoi(resources.substr(found + 5));
}

int count(const std::string& text, const std::string& word) {
  int times = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++times;
  return times;
}

/// y = ten operations on x, one after the other.
Kernel chain_of_ten(DType dtype, const ir::Dim& points) {
  KernelMaker k("chain", {points}, 1);
  const ExpressionId x = k.load(k.access(k.input(dtype), {1}));
  ExpressionId value = x;
  for (int i = 0; i < 5; ++i) {
    value = k.apply(Op::Mul, {k.apply(Op::Add, {value, x}), k.number(dtype, i - 2.5)});
  }
  k.map({{k.access(k.output(dtype), {1}), value}});
  return k.kernel;
}

/// y = exp(x - max) / sum in each row.
Kernel softmax(const ir::Dim& rows, const ir::Dim& columns) {
  KernelMaker k("softmax", {rows, columns}, 1);
  const ExpressionId x = k.load(k.access(k.input(kF32), {columns, 1}));
  const ExpressionId highest = k.result(k.reduce(Combiner::Max, x));
  const ExpressionId power = k.apply(Op::Exp, {k.apply(Op::Sub, {x, highest})});
  const ExpressionId sum = k.result(k.reduce(Combiner::Sum, power));
  k.map({{k.access(k.output(kF32), {columns, 1}), k.apply(Op::Div, {power, sum})}});
  return k.kernel;
}

void check_resources(const std::string& ptx, int max_registers) {
  CHECK(count(ptx, ".local") == 0);
  const std::string resources = resources_of(ptx);
  if (resources.empty()) return;
  INFO(resources);
  CHECK_THAT(resources, ContainsSubstring("0 bytes stack frame, 0 bytes spill stores"));
  CHECK(registers_of(resources) <= max_registers);
}

}  // namespace

TEST_CASE("machine code: chains of elementwise operations access 16 bytes at a time", "[slow]") {
  for (const ir::Dim& points : {ir::Dim::fresh("n"), ir::Dim(1 << 26)}) {
    const std::string ptx = ptx_of(chain_of_ten(kF32, points));
    if (ptx.empty()) return;
    CHECK(count(ptx, "ld.global.v4.f32") == 2);  // two groups in flight
    CHECK(count(ptx, "st.global.v4.f32") == 2);
    CHECK(count(ptx, "div.") + count(ptx, "rem.") == 0);
    // Nine elements, eight of them unrolled: one instruction for each operation.
    CHECK(count(ptx, "add.rn.ftz.f32") == 9 * 5);
    CHECK(count(ptx, "mul.rn.ftz.f32") == 9 * 5);
    CHECK(count(ptx, "copysign") == 0);
    check_resources(ptx, 48);
  }
  const std::string halves = ptx_of(chain_of_ten(DType::BFloat16, 1 << 26));
  CHECK(count(halves, "ld.global.v4") >= 1);
  CHECK(count(halves, "st.global.v4") >= 1);
  CHECK(count(halves, ".f64") == 0);  // rounded in 32 bits
  const std::string doubles = ptx_of(chain_of_ten(DType::Float64, 1 << 26));
  CHECK(count(doubles, "ld.global.v2") >= 1);
  CHECK(count(doubles, "st.global.v2") >= 1);
}

TEST_CASE("machine code: operations that change no normal number flush subnormals", "[slow]") {
  struct Row {
    Op op;
    double operand;
    const char* instruction;
  };
  for (const auto& [op, operand, instruction] :
       {Row{Op::Add, -0.0, "add.rn.ftz.f32"}, Row{Op::Sub, 0, "sub.rn.ftz.f32"},
        Row{Op::Mul, 1, "mul.rn.ftz.f32"}, Row{Op::Div, 1, "mul.rn.ftz.f32"},
        Row{Op::Maximum, -INFINITY, "max.ftz.NaN.f32"},
        Row{Op::Minimum, INFINITY, "min.ftz.NaN.f32"}}) {
    INFO(instruction);
    KernelMaker k("neutral", {64}, 1);
    const ExpressionId x = k.load(k.access(k.input(kF32), {1}));
    k.map({{k.access(k.output(kF32), {1}), k.apply(op, {x, k.number(kF32, operand)})}});
    const std::string ptx = ptx_of(k.kernel);
    if (!ptx.empty()) CHECK(count(ptx, instruction) >= 1);
  }
}

TEST_CASE("machine code: softmax of rows of 1,000 uses no local memory", "[slow]") {
  const std::string ptx = ptx_of(softmax(65536, 1000));
  if (!ptx.empty()) check_resources(ptx, 64);
}

TEST_CASE("machine code: transposes use shared memory, with four loads in flight", "[slow]") {
  const ir::Dim rows = ir::Dim::fresh("rows"), columns = ir::Dim::fresh("columns");
  KernelMaker k("transpose", {columns, rows}, 2);
  const ExpressionId x = k.load(k.access(k.input(kF32), {1, columns}));
  k.map({{k.access(k.output(kF32), {rows, 1}), x}});
  const std::string ptx = ptx_of(k.kernel);
  if (ptx.empty()) return;
  CHECK(count(ptx, "st.shared.f32") == 4);
  CHECK(count(ptx, "ld.shared.f32") == 4);
  CHECK(count(ptx, "bar.sync") == 2);
  // All loads come before the first element is stored.
  CHECK(count(ptx.substr(0, ptx.find("st.shared.f32")), "ld.global.f32") == 4);
  check_resources(ptx, 64);
}
