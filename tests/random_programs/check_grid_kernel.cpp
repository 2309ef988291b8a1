// Operands hold small numbers, among them indices that are outside of their axes.
#include "tests/random_programs/check_grid_kernel.h"

#include "core/ops/convert.h"
#include "tests/catch.h"
#include "tests/codegen/grid_interpreter.h"
#include "tests/codegen/kernel_interpreter.h"
#include "tests/codegen/parse_kernel.h"

#include <algorithm>

namespace kiln::testing {
namespace {

using namespace codegen;
using Bytes = std::vector<std::byte>;

/// So few threads that they take several points each.
constexpr GridDescription kSmallDevice{
    .max_threads = 4, .max_blocks = 2, .multiprocessors = 2, .resident_threads = 4};

std::int64_t value_of(const ir::Dim& dim) { return dim.value(); }

Bytes numbers(const ir::Type& type) {
  const std::size_t width = dtype_bytes(type.dtype);
  const auto count = static_cast<std::size_t>(ir::product(type.dims).value());
  Bytes bytes;
  bytes.reserve(count * width);
  for (std::size_t i = 0; i < count; ++i) {
    const double number = type.dtype == DType::Bool ? static_cast<double>(i * 7 % 3 % 2)
                                                    : static_cast<double>(i * 7 % 5) - 1;
    const Bytes element = ir::scalar_bytes(type.dtype, number);
    bytes.insert(bytes.end(), element.begin(), element.end());
  }
  return bytes;
}

struct Outcome {
  std::vector<Bytes> operands;
  KernelFault fault;

  std::vector<std::byte*> addresses() {
    std::vector<std::byte*> list;
    for (Bytes& bytes : operands) list.push_back(bytes.data());
    return list;
  }
};

Outcome start(const BuiltKernel& built) {
  Outcome outcome;
  for (const ir::Value& operand : built.operands) {
    outcome.operands.push_back(numbers(operand.type()));
  }
  return outcome;
}

Outcome run_loops(const BuiltKernel& built) {
  Outcome outcome = start(built);
  const std::vector<std::byte*> buffers = outcome.addresses();
  KernelArguments arguments;
  arguments.buffers = buffers.data();
  arguments.end = built.kernel.outer == 0 ? 1 : built.kernel.axes[0].value();
  arguments.fault = &outcome.fault;
  kiln::test::interpret(built.kernel, arguments);
  return outcome;
}

Outcome run_grid(const BuiltKernel& built, const kiln::test::GridKernel& grid,
                 kiln::test::ThreadOrder order) {
  Outcome outcome = start(built);
  const std::vector<std::byte*> buffers = outcome.addresses();
  const GridLaunch launch = launch_of(grid.kernel(), grid.schedule(), kSmallDevice, value_of);
  CallBlock block;
  grid.run({.buffers = buffers.data(),
            .points = launch.points,
            .blocks = launch.blocks,
            .call = &block,
            .order = order});
  outcome.fault = {block.access, block.index, block.limit};
  return outcome;
}

bool can_run(const BuiltKernel& built) {
  const auto is_known = [](const ir::Value& operand) {
    return ir::product(operand.dims()).is_static();
  };
  const std::vector<ir::Dim>& axes = built.kernel.axes;
  return built.kernel.sizes.empty() &&
         std::all_of(built.operands.begin(), built.operands.end(), is_known) &&
         std::find(axes.begin(), axes.end(), ir::Dim(0)) == axes.end();
}

}  // namespace

void check_text_form(const Kernel& kernel) {
  const GridDescription device;
  const GridSchedule schedule = schedule_grid(kernel, device);
  verify(kernel, schedule, device);
  const std::string shown = print(kernel);
  const Kernel parsed = kiln::test::parse_kernel(shown);
  verify(parsed);
  CHECK(print(parsed) == shown);
  CHECK(print(kiln::test::parse_schedule(print(schedule))) == print(schedule));
}

bool check_grid_run(const BuiltKernel& built) {
  if (!can_run(built)) return false;
  INFO(print(built.kernel));
  const GridSchedule schedule = schedule_grid(built.kernel, kSmallDevice);
  const kiln::test::GridKernel grid(kiln::test::parse_kernel(print(built.kernel)), schedule);
  const Outcome loops = run_loops(built);
  using kiln::test::ThreadOrder;
  for (const ThreadOrder order : {ThreadOrder::Ascending, ThreadOrder::Descending}) {
    const Outcome found = run_grid(built, grid, order);
    CHECK((found.operands == loops.operands));
    CHECK(found.fault.access == loops.fault.access);
    CHECK(found.fault.index == loops.fault.index);
  }
  return true;
}

}  // namespace kiln::testing
