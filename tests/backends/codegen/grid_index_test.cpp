// Tests the record of an index out of range: kernels of later steps write nothing, and its first
// point stays.
#include "tests/support/catch.h"
#include "tests/backends/codegen/grid_emulation.h"

using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;

namespace {

using Ints = std::vector<std::int32_t>;

/// y[i] = table[at[i]] for tables of two.
Kernel gather() {
  KernelMaker k("gather", {6}, 1);
  const OperandId table = k.input(DType::Int32), at = k.input(DType::Int32);
  const ExpressionId index = k.load(k.access(at, {1}));
  const ExpressionId value = k.load(k.access_at(table, {0}, index, 1, 2));
  k.map({{k.access(k.output(DType::Int32), {1}), value}});
  return k.kernel;
}

/// A record that says index 9 at that step and point.
CallBlock recorded(std::int32_t step, std::int64_t point) {
  CallBlock block;
  block.step = step;
  block.point = point;
  block.access = 0;
  block.index = 9;
  block.limit = 2;
  return block;
}

}  // namespace

TEST_CASE("index out of range: kernels of later steps write nothing, others go on") {
  const Ints stored{20, 10, 0, 10, 0, 20}, kept(6, -1);
  const struct {
    const char* name;
    GridStep step;
    Ints y;
    std::int64_t index;  // recorded at the end; points 2 and 4 have 5 and 7
  } rows[] = {
      {"none before", {1 << 30, {}}, stored, 5},
      {"of an earlier step", {4, recorded(3, 2)}, kept, 9},
      {"of this step, at an earlier point", {3, recorded(3, 1)}, stored, 9},
      {"of this step, at the first bad point", {3, recorded(3, 2)}, stored, 9},
      {"of this step, at a later point", {3, recorded(3, 3)}, stored, 5},
      {"of a later step", {2, recorded(3, 0)}, stored, 5},
  };
  const KernelCall call{
      {memory(Ints{10, 20}), memory(Ints{1, 0, 5, 0, 7, 1}), memory(kept)}, {}, 0, 6};
  ThreadOrder order = ThreadOrder::Ascending;
  for (const auto& row : rows) {
    INFO(row.name);
    const auto check = [&](const KernelOutcome& outcome) {
      CHECK(elements<std::int32_t>(outcome.operands[2]) == row.y);
      CHECK(outcome.out_of_range.index == row.index);
    };
    check(run_as_grid({gather()}, {call}, order, row.step)[0]);
    for (const ThreadOrder each : {ThreadOrder::Ascending, ThreadOrder::Descending}) {
      check(run_as_parsed_grid(gather(), call, each, row.step));
    }
    const bool was_ascending = order == ThreadOrder::Ascending;
    order = was_ascending ? ThreadOrder::Descending : ThreadOrder::Ascending;
  }
}
