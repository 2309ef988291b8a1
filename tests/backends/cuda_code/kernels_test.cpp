// Tests machine code of the kernels that other tests run on the fakes, by the machine's NVRTC. The
// fakes interpret the comments above each function: these tests compile the functions.
#include "tests/support/catch.h"
#include "tests/backends/codegen/machines_compiler.h"
#include "tests/backends/cuda_code/kernel_resources.h"
#include "tests/backends/cuda_code/recorded_kernels.h"

#include "backends/codegen/text/grid_text.h"
#include "core/types/text.h"

#include <algorithm>

using namespace kiln;
using namespace kiln::testing;
using kiln::test::machines_compiler;
using kiln::test::ParsedKernel;

namespace {

constexpr int kArchitectures[] = {80, 90, 100};
/// From sm_90 on, the shared memory of a kernel begins with that of the system.
constexpr std::int64_t kReservedBytes = 1024;
constexpr std::size_t kOfProgram = 100;  // kernels that are compiled at a time

/// The bytes of stack that a kernel may have, for registers that are saved around calls: of the
/// slow path of a division, and of the record of an index out of range. NVIDIA's sin and cos of
/// large angles, and the 64-bit divisions that find a block's part, need more.
int max_stack_bytes(const ParsedKernel& parsed) {
  const auto is_circular = [](const codegen::Expression& e) {
    return e.kind == codegen::ExpressionKind::Apply && (e.op == ir::Op::Sin || e.op == ir::Op::Cos);
  };
  const auto& all = parsed.kernel.expressions;
  const bool has_more = parsed.schedule.split_k || std::any_of(all.begin(), all.end(), is_circular);
  return has_more ? 64 : 32;
}

/// Maxima over all kernels, and the number of kernels with a stack.
struct Totals {
  int kernels = 0, registers = 0, with_stack = 0, stack_bytes = 0;
};

void check_resources(const ParsedKernel& parsed, const KernelResources& resources, Totals& totals) {
  const codegen::GridDescription device;
  INFO(print(parsed.kernel) << print(parsed.schedule) << "\nregisters " << resources.registers
                            << ", stack " << resources.stack_bytes);
  CHECK(resources.registers > 0);
  CHECK(resources.registers * parsed.schedule.threads <= device.registers);
  CHECK(resources.stack_bytes <= max_stack_bytes(parsed));
  const std::int64_t shared = shared_bytes(parsed.kernel, parsed.schedule);
  CHECK(shared <= device.shared_bytes);
  CHECK(resources.shared_bytes <= (shared == 0 ? 0 : shared + kReservedBytes));
  ++totals.kernels;
  totals.registers = std::max(totals.registers, resources.registers);
  totals.stack_bytes = std::max(totals.stack_bytes, resources.stack_bytes);
  totals.with_stack += resources.stack_bytes > 0 ? 1 : 0;
}

void compile(const cuda::api::Compiler& compiler, int architecture,
             std::span<const ParsedKernel> kernels, Totals& totals) {
  std::vector<codegen::ScheduledKernel> scheduled;
  for (const ParsedKernel& one : kernels) scheduled.push_back({one.kernel, one.schedule});
  const auto compiled = compiler.compile(grid_text(scheduled), architecture, "kernels.cu");
  const auto resources = read_kernel_resources(compiled.cubin);
  for (const ParsedKernel& one : kernels) {
    check_resources(one, resources.at(one.kernel.name), totals);
  }
}

/// Loops have more registers to spill than their kernels, and at most the stack of several.
void compile(const cuda::api::Compiler& compiler, int architecture,
             std::span<const codegen::RowLoop> loops) {
  if (loops.empty()) return;
  const auto compiled = compiler.compile(grid_text({}, loops), architecture, "loops.cu");
  const auto resources = read_kernel_resources(compiled.cubin);
  const codegen::GridDescription device;
  for (const codegen::RowLoop& one : loops) {
    const KernelResources& own = resources.at(one.name);
    INFO(kiln::test::print_whole(one) << "registers " << own.registers);
    CHECK(own.registers * one.threads <= device.registers);
    CHECK(own.shared_bytes <= device.shared_bytes);
  }
}

void compile_all(const cuda::api::Compiler& compiler, std::span<const ParsedKernel> kernels,
                 std::span<const codegen::RowLoop> loops) {
  const std::vector<int>& known = compiler.architectures();
  int compiled = 0;
  for (const int architecture : kArchitectures) {
    if (std::find(known.begin(), known.end(), architecture) == known.end()) continue;
    INFO("sm_" << architecture);
    Totals totals;
    for (std::size_t i = 0; i < kernels.size(); i += kOfProgram) {
      const auto count = std::min(kOfProgram, kernels.size() - i);
      compile(compiler, architecture, kernels.subspan(i, count), totals);
    }
    compile(compiler, architecture, loops);
    WARN("sm_" << architecture << ": " << totals.kernels << " kernels, at most " << totals.registers
               << " registers; " << totals.with_stack << " have a stack, of " << totals.stack_bytes
               << " bytes at most");
    ++compiled;
  }
  CHECK(compiled >= 1);
}

}  // namespace

TEST_CASE("NVRTC compiles kernels of random programs with few spilled registers", "[slow]") {
  const auto compiler = machines_compiler();
  if (compiler == nullptr) return;
  RecordedKernels recorded =
      record_kernels({{"test_random_programs", "'[seeds]'", "KILN_RANDOM_PROGRAMS=0:30"}});
  recorded.kernels.resize(std::min<std::size_t>(recorded.kernels.size(), 80));
  compile_all(*compiler, recorded.kernels, recorded.loops);
}

TEST_CASE("NVRTC compiles all kernels of the tests with few spilled registers", "[matrix]") {
  const auto compiler = machines_compiler();
  if (compiler == nullptr) return;
  const RecordedKernels recorded = record_kernels(all_programs());
  compile_all(*compiler, recorded.kernels, recorded.loops);
}
