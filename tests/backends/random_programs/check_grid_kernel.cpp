// Operands hold small numbers, among them indices out of range.
#include "tests/backends/random_programs/check_grid_kernel.h"

#include "core/ops/convert.h"
#include "core/types/text.h"
#include "tests/support/catch.h"
#include "tests/backends/codegen/grid_emulation.h"
#include "tests/backends/codegen/grid_interpreter.h"
#include "tests/backends/codegen/kernel_interpreter.h"
#include "tests/backends/codegen/kernel_run.h"
#include "tests/backends/codegen/parse_kernel.h"

#include <algorithm>
#include <cmath>

namespace kiln::testing {
namespace {

using namespace codegen;
using Bytes = std::vector<std::byte>;

/// Devices with few threads (several points each), with two warps per block, and with many blocks.
constexpr GridDescription kDevices[] = {kiln::test::kSmallDevice, kiln::test::kTwoWarps,
                                        kiln::test::kManyBlocks};

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

std::vector<double> numbers_of(DType dtype, const Bytes& bytes) {
  std::vector<double> list(bytes.size() / dtype_bytes(dtype));
  ir::load_floating(dtype, bytes.data(), list.data(), static_cast<std::int64_t>(list.size()));
  return list;
}

struct Outcome {
  std::vector<Bytes> operands;
  IndexOutOfRange out_of_range;

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
  arguments.out_of_range = &outcome.out_of_range;
  kiln::test::interpret(built.kernel, arguments);
  return outcome;
}

Outcome run_grid(const BuiltKernel& built, const kiln::test::GridKernel& grid,
                 const GridDescription& device, kiln::test::ThreadOrder order) {
  Outcome outcome = start(built);
  const std::vector<std::byte*> buffers = outcome.addresses();
  const GridLaunch launch = launch_of(grid.kernel(), grid.schedule(), device, value_of);
  CallBlock block;
  kiln::test::PartialMemory parts(launch);
  grid.run({.buffers = buffers.data(),
            .points = launch.points,
            .blocks = launch.blocks,
            .part_points = launch.part_points,
            .partials = parts.partials.data(),
            .arrivals = parts.arrivals.data(),
            .call = &block,
            .order = order});
  outcome.out_of_range = {block.access, block.index, block.limit};
  return outcome;
}

/// Checks both outcomes; floats may differ by rounding unless `is_exact`.
void check_close(const BuiltKernel& built, const Outcome& found, const Outcome& loops,
                 bool is_exact) {
  for (std::size_t i = 0; i < built.operands.size(); ++i) {
    INFO("operand " << i);
    const DType dtype = built.kernel.operands[OperandId(static_cast<int>(i))].dtype;
    if (!is_float(dtype) || is_exact) {
      CHECK((found.operands[i] == loops.operands[i]));
      continue;
    }
    const std::vector<double> x = numbers_of(dtype, found.operands[i]);
    const std::vector<double> y = numbers_of(dtype, loops.operands[i]);
    const double tolerance = dtype_bytes(dtype) < 4 ? 1e-2 : 1e-5;
    for (std::size_t e = 0; e < x.size(); ++e) {
      const bool is_close = std::isnan(y[e]) ? std::isnan(x[e])
                                             : x[e] == Approx(y[e]).epsilon(tolerance).margin(1e-5);
      if (!is_close) FAIL_CHECK("element " << e << ": " << x[e] << ", not " << y[e]);
    }
  }
}

/// Whether the kernel calls functions that libraries round differently.
bool has_elementary_function(const Kernel& kernel) {
  using enum ir::Op;
  static constexpr ir::Op kOps[] = {Exp,  Expm1,   Log, Log1p, Sin, Cos,
                                    Tanh, Sigmoid, Erf, Atan,  Pow};
  return std::any_of(kernel.expressions.begin(), kernel.expressions.end(), [](const Expression& e) {
    return e.kind == ExpressionKind::Apply &&
           std::find(std::begin(kOps), std::end(kOps), e.op) != std::end(kOps);
  });
}

Outcome outcome_of(kiln::test::KernelOutcome given) {
  Outcome outcome{{}, given.out_of_range};
  for (kiln::test::Memory& memory : given.operands) {
    outcome.operands.push_back(std::move(memory.bytes));
  }
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
  const Outcome loops = run_loops(built);
  for (const GridDescription& device : kDevices) {
    const GridSchedule schedule = schedule_grid(built.kernel, device);
    INFO(print(built.kernel) << print(schedule));
    const kiln::test::GridKernel grid(kiln::test::parse_kernel(print(built.kernel)), schedule);
    for (const kiln::test::ThreadOrder order : kiln::test::kThreadOrders) {
      const Outcome found = run_grid(built, grid, device, order);
      // Grids add floats in another order than loops, and round each sum.
      check_close(built, found, loops, !kiln::test::sums_floats(built.kernel));
      CHECK(found.out_of_range.access == loops.out_of_range.access);
      CHECK(found.out_of_range.index == loops.out_of_range.index);
    }
  }
  return true;
}

void TextSample::add(const BuiltKernel& built) {
  if (!can_run(built)) return;
  const GridSchedule blocks = schedule_grid(built.kernel, kiln::test::kTwoWarps);
  const GridSchedule points = schedule_grid(built.kernel, kiln::test::kSmallDevice);
  const bool is_shared = has_blocks(blocks) || blocks.form == GridForm::Tile;
  const bool has_groups = points.elements > 1 || points.unroll > 1;
  if (!is_shared && !has_groups) return;
  std::vector<BuiltKernel>& list = is_shared ? blocks_ : groups_;
  list.push_back(built);
  list.back().kernel.name = text("k", list.size());
}

int TextSample::check() const {
  check(blocks_, kiln::test::kTwoWarps);
  check(groups_, kiln::test::kSmallDevice);
  return static_cast<int>(blocks_.size() + groups_.size());
}

void TextSample::check(const std::vector<BuiltKernel>& sample, const GridDescription& device) {
  std::vector<Kernel> kernels;
  std::vector<kiln::test::KernelCall> calls;
  for (const BuiltKernel& built : sample) {
    kernels.push_back(built.kernel);
    kiln::test::KernelCall call;
    for (Bytes& bytes : start(built).operands) call.operands.push_back({std::move(bytes)});
    call.end = built.kernel.outer == 0 ? 1 : built.kernel.axes[0].value();
    calls.push_back(std::move(call));
  }
  for (const kiln::test::ThreadOrder order : kiln::test::kThreadOrders) {
    // Either two of three operands are aligned to a whole vector, or all are.
    const bool is_aligned = order == kiln::test::ThreadOrder::Ascending;
    kiln::test::GridStep step;
    if (!is_aligned) step = {.shifts = {0, 0, 1}, .rows = 3};
    const auto found = kiln::test::run_as_grid(kernels, calls, order, step, device);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      INFO(print(kernels[i]) << print(schedule_grid(kernels[i], device)));
      const auto expected = kiln::test::run_as_parsed_grid(kernels[i], calls[i], order, {}, device);
      check_close(sample[i], outcome_of(found[i]), outcome_of(expected),
                  !has_elementary_function(kernels[i]));
      CHECK(found[i].out_of_range.index == expected.out_of_range.index);
    }
  }
}

}  // namespace kiln::testing
