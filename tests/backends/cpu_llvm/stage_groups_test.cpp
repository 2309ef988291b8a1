// Tests which stages share a loop: those that read no result and no memory of each other.
#include "tests/support/catch.h"
#include "tests/backends/cpu_llvm/emitted.h"

#include "backends/cpu/schedule/kernel_levels.h"

using namespace cpu_llvm_test;
using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using ir::Op;

namespace {

constexpr int kColumns = 37;

std::vector<int> sizes_of_groups(const Kernel& kernel) {
  std::vector<int> sizes;
  for (const cpu::StageGroup group : cpu::KernelLevels(kernel).groups()) {
    sizes.push_back(group.last.number - group.first.number);
  }
  return sizes;
}

/// Leaves 2x in y at each point of the sum; the next stage reads y, the one after it z.
EmitCase stored_and_read() {
  KernelMaker k("stored_and_read", {3, kColumns}, 1);
  const OperandId x = k.input(kF32), y = k.output(kF32, /*read=*/true), z = k.output(kF32, true);
  const ExpressionId value = k.load(k.access(x, {kColumns, 1}));
  const AccessId to = k.access(y, {kColumns, 1}), there = k.access(z, {kColumns, 1});
  const StageId sum = k.reduce(Combiner::Sum, value, {{to, k.apply(Op::Add, {value, value})}});
  const StageId min = k.reduce(Combiner::Min, value);
  k.map({{there, k.load(to)}});
  const StageId max = k.reduce(Combiner::Max, k.load(there));
  const ExpressionId all =
      k.apply(Op::Add, {k.apply(Op::Add, {k.result(sum), k.result(min)}), k.result(max)});
  k.map({{k.access(z, {kColumns, 1}), all}});
  k.kernel.vector_axis = 1;
  const auto count = static_cast<std::size_t>(3 * kColumns);
  const Memory start = filled(kF32, std::vector<double>(count, 1));
  return {k.kernel, {{{filled(kF32, whole_numbers(count, -9, 9)), start, start}, {}, 0, 3}}};
}

}  // namespace

TEST_CASE("emitted: stages share a loop unless one reads what another writes") {
  const EmitCase one = stored_and_read();
  CHECK(sizes_of_groups(one.kernel) == std::vector<int>{2, 1, 1, 1});
  check_emitted({one});
}

TEST_CASE("emitted: sums of blocks of rows beside the sums of rows") {
  KernelMaker k("blocks", {2, 3, kColumns}, 2);
  const OperandId x = k.input(kF32), rows = k.output(kF32), blocks = k.output(kF32, true);
  const ExpressionId value = k.load(k.access(x, {3 * kColumns, kColumns, 1}));
  const StageId sum = k.reduce(Combiner::Sum, value);
  k.map({{k.access(blocks, {kColumns, 0, 1}), value, /*accumulate=*/true}});
  k.map({{k.access(rows, {3, 1, 0}), k.result(sum)}}, false);
  k.kernel.vector_axis = 2;
  CHECK(sizes_of_groups(k.kernel) == std::vector<int>{2, 1});
  const auto count = static_cast<std::size_t>(6 * kColumns);
  check_emitted(
      {{k.kernel,
        {{{filled(kF32, whole_numbers(count, -9, 9)), filled(kF32, std::vector<double>(10, 1)),
           filled(kF32, whole_numbers(2 * kColumns + 20, -3, 3))},
          {},
          0,
          2}}}});
}
