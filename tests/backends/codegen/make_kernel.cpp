// Runs a kernel both ways and compares the memory that they leave.
#include "tests/backends/codegen/make_kernel.h"

#include "tests/support/catch.h"
#include "tests/backends/codegen/grid_emulation.h"
#include "tests/backends/codegen/host_compiler.h"
#include "tests/backends/codegen/kernel_interpreter.h"
#include "tests/backends/codegen/kernel_run.h"

#include "core/ops/convert.h"
#include "core/types/at.h"
#include "core/types/text.h"

#include <algorithm>
#include <cmath>

namespace kiln::test {
namespace {

using namespace codegen;

KernelOutcome run(const KernelFunction& function, const KernelCall& call) {
  KernelOutcome outcome{call.operands, {}};
  std::vector<std::byte*> buffers;
  for (Memory& memory : outcome.operands) buffers.push_back(memory.bytes.data());
  KernelArguments arguments;
  arguments.buffers = buffers.data();
  arguments.sizes = call.sizes.data();
  arguments.begin = call.begin;
  arguments.end = call.end;
  arguments.out_of_range = &outcome.out_of_range;
  arguments.seed = call.seed;
  arguments.call_counter = call.call_counter;
  function.run(function.context, &arguments);
  return outcome;
}

bool gives_bool(ir::Op op) {
  return op == ir::Op::Equal || op == ir::Op::Less || op == ir::Op::LessEqual ||
         op == ir::Op::And || op == ir::Op::Or || op == ir::Op::Not;
}

std::vector<double> numbers(DType dtype, const Memory& memory) {
  std::vector<double> list(memory.bytes.size() / dtype_bytes(dtype));
  ir::load_floating(dtype, memory.bytes.data(), list.data(),
                    static_cast<std::int64_t>(list.size()));
  return list;
}

void check_close(DType dtype, const Memory& found, const Memory& expected) {
  const std::vector<double> x = numbers(dtype, found), y = numbers(dtype, expected);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(y[i])) {
      CHECK(std::isnan(x[i]));
    } else {
      CHECK(x[i] == Approx(y[i]).epsilon(1e-5).margin(1e-4));
    }
  }
}

}  // namespace

KernelMaker::KernelMaker(std::string name, std::vector<ir::Dim> axes, int outer) {
  kernel.name = std::move(name);
  kernel.axes = std::move(axes);
  kernel.outer = outer;
  for (const ir::Dim& dim : kernel.axes) add_size(kernel, dim);
}

OperandId KernelMaker::input(DType dtype) {
  return kernel.operands.add({text("x", kernel.operands.size()), dtype, true, false});
}

OperandId KernelMaker::output(DType dtype, bool read) {
  return kernel.operands.add({text("y", kernel.operands.size()), dtype, read, true});
}

AccessId KernelMaker::access(OperandId operand, std::vector<ir::Dim> strides, ir::Dim offset) {
  for (const ir::Dim& stride : strides) add_size(kernel, stride);
  add_size(kernel, offset);
  return kernel.accesses.add({operand, offset, std::move(strides), {}, 0, 0});
}

AccessId KernelMaker::access_at(OperandId operand, std::vector<ir::Dim> strides,
                                ExpressionId dynamic, ir::Dim dynamic_stride,
                                ir::Dim dynamic_limit) {
  const AccessId id = access(operand, std::move(strides));
  add_size(kernel, dynamic_stride);
  add_size(kernel, dynamic_limit);
  Access& added = kernel.accesses.back();
  added.dynamic = dynamic;
  added.dynamic_stride = dynamic_stride;
  added.dynamic_limit = dynamic_limit;
  return id;
}

AccessId KernelMaker::guard(AccessId access, ExpressionId when) {
  kernel.accesses[access].when = when;
  return access;
}

ExpressionId KernelMaker::number(DType dtype, double value) {
  Expression e{ExpressionKind::Constant, dtype};
  const std::vector<std::byte> bytes = ir::scalar_bytes(dtype, value);
  std::memcpy(&e.bits, bytes.data(), bytes.size());
  return kernel.expressions.add(e);
}

ExpressionId KernelMaker::axis(int number) {
  Expression e{ExpressionKind::AxisIndex, DType::Int64};
  e.number = number;
  return kernel.expressions.add(e);
}

ExpressionId KernelMaker::size(const ir::Dim& dim) {
  Expression e{ExpressionKind::SizeValue, DType::Int64};
  e.number = add_size(kernel, dim);
  return kernel.expressions.add(e);
}

ExpressionId KernelMaker::load(AccessId access) {
  const OperandId operand = kernel.accesses[access].operand;
  Expression e{ExpressionKind::Load, kernel.operands[operand].dtype};
  e.access = access;
  return kernel.expressions.add(e);
}

ExpressionId KernelMaker::apply(ir::Op op, std::vector<ExpressionId> arguments) {
  const DType last = kernel.expressions[arguments.back()].dtype;
  Expression e{ExpressionKind::Apply, gives_bool(op) ? DType::Bool : last};
  e.op = op;
  for (std::size_t i = 0; i < arguments.size(); ++i) e.arguments[i] = arguments[i];
  return kernel.expressions.add(e);
}

ExpressionId KernelMaker::convert(DType dtype, ExpressionId argument) {
  Expression e{ExpressionKind::Convert, dtype};
  e.arguments[0] = argument;
  return kernel.expressions.add(e);
}

ExpressionId KernelMaker::bitcast(DType dtype, ExpressionId argument) {
  Expression e{ExpressionKind::Bitcast, dtype};
  e.arguments[0] = argument;
  return kernel.expressions.add(e);
}

ExpressionId KernelMaker::result(StageId stage) {
  const codegen::Stage& reduction = kernel.stages[stage];
  const DType dtype = kernel.expressions[reduction.value].dtype;
  Expression e{ExpressionKind::StageResult,
               reduction.combiner == Combiner::ArgMax ? DType::Int64 : dtype};
  e.stage = stage;
  return kernel.expressions.add(e);
}

ExpressionId KernelMaker::random(DType dtype, ExpressionId position, ExpressionId element,
                                 std::int64_t seed, std::int64_t stream) {
  Expression e{ExpressionKind::Random, dtype};
  e.op = ir::Op::RandomUniform;
  e.arguments = {position, element};
  e.seed = seed;
  e.stream = stream;
  return kernel.expressions.add(e);
}

StageId KernelMaker::add_stage(StageKind kind, Combiner combiner, ExpressionId value,
                               std::vector<Store> stores) {
  return kernel.stages.add({kind, true, combiner, value, std::move(stores)});
}

StageId KernelMaker::map(std::vector<Store> stores, bool inner) {
  const StageId id = add_stage(StageKind::Map, Combiner::None, {}, std::move(stores));
  kernel.stages.back().inner = inner;
  return id;
}

StageId KernelMaker::reduce(Combiner combiner, ExpressionId value, std::vector<Store> stores) {
  return add_stage(StageKind::Reduce, combiner, value, std::move(stores));
}

StageId KernelMaker::running(Combiner combiner, ExpressionId value, std::vector<Store> stores) {
  return add_stage(StageKind::Running, combiner, value, std::move(stores));
}

KernelOutcome run_interpreted(const Kernel& kernel, const KernelCall& call) {
  std::shared_ptr<const void> holder;
  const KernelFunction function = interpreted(kernel, holder);
  return run(function, call);
}

std::vector<KernelOutcome> run_as_text(const std::vector<Kernel>& kernels,
                                       const std::vector<KernelCall>& calls) {
  std::shared_ptr<const void> holder;
  const KernelFunctions functions = compile_text(kernels, holder);
  std::vector<KernelOutcome> outcomes;
  auto call = calls.begin();
  for (const KernelFunction& one : functions) outcomes.push_back(run(one, *call++));
  return outcomes;
}

void check_close(const Kernel& kernel, const KernelOutcome& found, const KernelOutcome& expected) {
  if (!sums_floats(kernel)) return check_equal(found, expected);
  KernelOutcome exact = expected;
  for (const OperandId i : kernel.operands.ids()) {
    const DType dtype = kernel.operands[i].dtype;
    if (!is_float(dtype)) continue;
    const std::size_t number = at(i.number);
    INFO("operand " << number);
    check_close(dtype, found.operands[number], expected.operands[number]);
    exact.operands[number] = found.operands[number];
  }
  check_equal(found, exact);
}

void check_equal(const KernelOutcome& found, const KernelOutcome& expected) {
  for (std::size_t i = 0; i < expected.operands.size(); ++i) {
    INFO("operand " << i);
    CHECK((found.operands[i] == expected.operands[i]));
  }
  CHECK(found.out_of_range.access == expected.out_of_range.access);
  CHECK(found.out_of_range.index == expected.out_of_range.index);
  CHECK(found.out_of_range.limit == expected.out_of_range.limit);
}

KernelOutcome run_all_ways(const Kernel& kernel, const KernelCall& call) {
  INFO(print(kernel));
  KernelOutcome interpreted = run_interpreted(kernel, call);
  {
    INFO("as loops");
    check_equal(run_as_text({kernel}, {call})[0], interpreted);
  }
  if (!is_whole(kernel, call)) return interpreted;
  run_as_grids(kernel, call, interpreted);
  return interpreted;
}

void run_as_grids(const Kernel& kernel, const KernelCall& call, const KernelOutcome& interpreted) {
  run_as_grids(std::vector{kernel}, {call}, {interpreted});
}

namespace {

/// Whether the kernel's schedule there differs from those of the devices before.
bool is_worth_a_run(const Kernel& kernel, const GridDescription& device) {
  if (device.max_threads == kSmallDevice.max_threads) return true;
  const GridSchedule schedule = schedule_grid(kernel, device);
  if (device.max_blocks > kTwoWarps.max_blocks) return schedule.split_k;
  return has_blocks(schedule) || schedule.form == GridForm::Tile;
}

void run_on(const GridDescription& device, const std::vector<Kernel>& kernels,
            const std::vector<KernelCall>& calls, const std::vector<KernelOutcome>& interpreted) {
  std::vector<KernelOutcome> expected;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    INFO(print(kernels[i]) << print(schedule_grid(kernels[i], device)));
    expected.push_back(
        run_as_parsed_grid(kernels[i], calls[i], ThreadOrder::Ascending, {}, device));
    check_close(kernels[i], expected[i], interpreted[i]);
  }
  for (const ThreadOrder order : kThreadOrders) {
    const std::vector<KernelOutcome> found = run_as_grid(kernels, calls, order, {}, device);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      INFO(print(kernels[i]) << "as a grid of blocks of " << device.max_threads
                             << " threads, in order " << static_cast<int>(order));
      check_equal(found[i], expected[i]);
      check_equal(run_as_parsed_grid(kernels[i], calls[i], order, {}, device), expected[i]);
    }
  }
}

}  // namespace

void run_as_grids(const std::vector<Kernel>& kernels, const std::vector<KernelCall>& calls,
                  const std::vector<KernelOutcome>& interpreted) {
  for (const GridDescription& device : {kSmallDevice, kTwoWarps, kManyBlocks, kManyPairs}) {
    std::vector<Kernel> some;
    std::vector<KernelCall> their_calls;
    std::vector<KernelOutcome> expected;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      if (!is_worth_a_run(kernels[i], device)) continue;
      some.push_back(kernels[i]);
      their_calls.push_back(calls[i]);
      expected.push_back(interpreted[i]);
    }
    if (!some.empty()) run_on(device, some, their_calls, expected);
  }
}

void GridCases::add(Kernel kernel, KernelCall call) {
  kernel.name += "_" + std::to_string(kernels_.size());
  interpreted_.push_back(run_interpreted(kernel, call));
  kernels_.push_back(std::move(kernel));
  calls_.push_back(std::move(call));
}

}  // namespace kiln::test
