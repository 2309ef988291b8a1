// Launches check their addresses when they run, against what is live then.
#include "tests/backends/cuda_fakes/driver/library.h"

#include "backends/codegen/grid/batch.h"
#include "backends/codegen/grid/split_rows.h"
#include "tests/backends/codegen/parse_kernel.h"
#include "tests/backends/cuda_fakes/driver/emulation.h"
#include "tests/backends/cuda_fakes/driver/device.h"
#include "tests/backends/cuda_fakes/driver/operand_ranges.h"
#include "tests/backends/cuda_fakes/driver/state.h"
#include "tests/backends/cuda_fakes/fake_cubin.h"

#include <bit>
#include <cstdio>
#include <cstring>
#include <exception>

namespace kiln::fake_cuda {
namespace {

template <class T>
T value_at(const void* parameter) {
  T value;
  std::memcpy(&value, parameter, sizeof(T));
  return value;
}

std::int64_t size_of(const LoadedKernel& kernel, const LaunchParameters& parameters,
                     const ir::Dim& dim) {
  if (dim.is_static()) return dim.value();
  return parameters.sizes[static_cast<std::size_t>(size_argument(kernel.grid->kernel(), dim))];
}

/// The points of the parallel axes for the sizes of the launch.
std::int64_t points_of(const LoadedKernel& kernel, const LaunchParameters& parameters) {
  const auto evaluate = [&](const ir::Dim& dim) { return size_of(kernel, parameters, dim); };
  return launch_of(kernel.grid->kernel(), kernel.grid->schedule(), {}, evaluate).points;
}

std::int64_t parts_of(const LoadedKernel& kernel, const LaunchParameters& parameters) {
  const codegen::Kernel& one = kernel.grid->kernel();
  std::int64_t inner = 1;
  for (std::size_t axis = static_cast<std::size_t>(one.outer); axis < one.axes.size(); ++axis) {
    inner *= size_of(kernel, parameters, one.axes[axis]);
  }
  return inner > parameters.part_points ? (inner - 1) / parameters.part_points + 1 : 1;
}

/// Checks that a launch whose blocks divide inner points has whole sets of them, and memory.
Status check_parts(const LoadedKernel& kernel, const LaunchParameters& parameters) {
  if (!kernel.grid->schedule().split_k) return Status::Success;
  if (parameters.part_points < 1) return Status::IllegalInstruction;
  const std::int64_t parts = parts_of(kernel, parameters);
  if (parts == 1) return Status::Success;
  if (parameters.blocks % parts != 0) return Status::IllegalInstruction;
  if (parameters.partials % 16 != 0 || parameters.arrivals % 4 != 0) {
    return Status::MisalignedAddress;
  }
  const auto bytes = partial_bytes(kernel.grid->kernel(), parameters.points, parts);
  const auto counters = parameters.blocks / parts * std::int64_t{sizeof(std::uint32_t)};
  const bool is_live =
      state().device_bytes(parameters.partials, static_cast<std::uint64_t>(bytes)) != nullptr &&
      state().device_bytes(parameters.arrivals, static_cast<std::uint64_t>(counters)) != nullptr;
  return is_live ? Status::Success : Status::IllegalAddress;
}

bool is_live(DeviceAddress base, const OperandRange& range) {
  const DeviceAddress begin = base + static_cast<DeviceAddress>(range.begin);
  const auto bytes = static_cast<std::uint64_t>(range.end - range.begin);
  return base != 0 && state().device_bytes(begin, bytes) != nullptr;
}

/// Checks that each operand begins in live memory, and that accesses without a guard stay in it. A
/// launch over other points than the kernel's own is checked at its bases alone.
Status check_operands(const LoadedKernel& kernel, const LaunchParameters& parameters) {
  const codegen::Kernel& one = kernel.grid->kernel();
  for (const codegen::OperandId i : one.operands.ids()) {
    const DeviceAddress base = parameters.operands[i];
    if (base == 0) continue;
    if (base % dtype_bytes(one.operands[i].dtype) != 0) return Status::MisalignedAddress;
    if (state().device_bytes(base, 0) == nullptr) return Status::IllegalAddress;
  }
  if (parameters.points != points_of(kernel, parameters)) return Status::Success;
  const auto ranges = operand_ranges(one, kernel.checked_accesses, parameters.sizes);
  for (const OperandRange& range : ranges) {
    if (!is_live(parameters.operands[range.operand], range)) return Status::IllegalAddress;
  }
  return Status::Success;
}

/// The rows of the launch. Copies the whole table first, as a driver does.
std::vector<LaunchParameters> read_table(const LoadedKernel& kernel, void** parameters) {
  const codegen::Kernel& one = kernel.grid->kernel();
  const auto words = static_cast<std::size_t>(codegen::row_words(one));
  std::vector<std::int64_t> table(words * static_cast<std::size_t>(kernel.grid->schedule().batch));
  std::memcpy(table.data(), parameters[0], table.size() * sizeof(std::int64_t));
  std::vector<LaunchParameters> rows;
  for (const std::int64_t* next = table.data(); next != table.data() + table.size();) {
    LaunchParameters row;
    for (std::size_t i = 0; i < one.operands.size(); ++i) {
      row.operands.push_back(static_cast<DeviceAddress>(*next++));
    }
    row.sizes.assign(next, next + one.sizes.size());
    next += one.sizes.size();
    row.points = *next++;
    const auto blocks = std::bit_cast<codegen::BatchBlocks>(*next++);
    if (blocks.first == INT32_MAX) continue;
    row.first_block = blocks.first;
    row.blocks = blocks.count;
    row.step = value_at<std::int32_t>(parameters[1]);
    row.call = value_at<DeviceAddress>(parameters[2]);
    rows.push_back(std::move(row));
  }
  return rows;
}

LaunchParameters read_words(const test::TextFunction& function, unsigned blocks,
                            void** parameters) {
  LaunchParameters read;
  for (int i = 0; i < function.addresses; ++i) {
    read.operands.push_back(value_at<DeviceAddress>(*parameters++));
  }
  for (int i = 0; i < function.sizes; ++i) {
    read.sizes.push_back(value_at<std::int64_t>(*parameters++));
  }
  read.points = value_at<std::int64_t>(*parameters);
  read.blocks = blocks;
  return read;
}

std::vector<std::byte*> host_operands(const LaunchParameters& parameters) {
  std::vector<std::byte*> operands;
  for (const DeviceAddress base : parameters.operands) {
    operands.push_back(base == 0 ? nullptr : to_host(base));
  }
  return operands;
}

LaunchParameters read_loop(const test::RowLoopRun& loop, unsigned blocks, void** parameters) {
  LaunchParameters read;
  for (std::int64_t i = 0; i < loop.pointers(); ++i) {
    read.operands.push_back(value_at<DeviceAddress>(*parameters++));
  }
  for (std::int64_t i = 0; i < loop.numbers(); ++i) {
    read.sizes.push_back(value_at<std::int64_t>(*parameters++));
  }
  read.points = value_at<std::int64_t>(*parameters++);
  read.iterations = value_at<std::int64_t>(*parameters++);
  read.step = value_at<std::int32_t>(*parameters++);
  read.call = value_at<DeviceAddress>(*parameters++);
  read.blocks = blocks;
  return read;
}

/// Checks the accesses of a step of a loop to global memory.
bool is_step_live(const test::RowLoopRun& run, std::size_t s, std::int64_t t,
                  const test::RowLoopCall& call) {
  const codegen::RowLoopStep& step = run.loop().steps[s];
  const auto is_range_live = [&](std::size_t operand, const OperandRange& range) {
    const auto base = run.global_address(step.tensors[operand], t, call);
    return !base || is_live(*base, range);
  };
  if (const auto* copy = std::get_if<codegen::RowLoopCopy>(&step.work)) {
    const std::int64_t bytes = step.points * copy->width * (step.is_whole ? 1 : call.rows);
    return bytes == 0 || (is_range_live(0, {.operand = {}, .begin = 0, .end = bytes}) &&
                          is_range_live(1, {.operand = {}, .begin = 0, .end = bytes}));
  }
  const codegen::Kernel& kernel = std::get<codegen::RowLoopKernel>(step.work).kernel;
  const std::int64_t* sizes = run.sizes(s, call);
  for (const OperandRange& range :
       operand_ranges(kernel, unguarded_accesses(kernel), {sizes, sizes + kernel.sizes.size()})) {
    if (!is_range_live(static_cast<std::size_t>(range.operand.number), range)) return false;
  }
  return true;
}

Status run_loop(const test::RowLoopRun& run, const LaunchParameters& parameters,
                codegen::CallBlock* call_block, test::ThreadOrder order) {
  const test::RowLoopCall call{.pointers = &parameters.operands.front(),
                               .numbers = parameters.sizes.data(),
                               .to_host = to_host,
                               .rows = parameters.points,
                               .length = parameters.iterations,
                               .blocks = parameters.blocks,
                               .step = parameters.step,
                               .call = call_block,
                               .order = order};
  for (std::int64_t t = 0; t < call.length; ++t) {
    for (std::size_t s = 0; s < run.loop().steps.size(); ++s) {
      if (!is_step_live(run, s, t, call)) return Status::IllegalAddress;
    }
  }
  run.run(call);
  return Status::Success;
}

}  // namespace

LoadedKernel::LoadedKernel(test::GridKernel kernel)
    : grid(std::move(kernel)), checked_accesses(unguarded_accesses(grid->kernel())) {}

Status load_library(const void* image, Library& library) try {
  const std::optional<Cubin> cubin = read_cubin(image);
  if (!cubin) return Status::InvalidImage;
  if (cubin->architecture != kComputeCapability) return Status::NoBinaryForGpu;
  const std::vector<test::TextFunction> functions = test::parse_functions(cubin->text);
  if (!functions.empty()) {
    const test::EmulatedKernels* const emulation = emulation_of(cubin->text);
    for (const test::TextFunction& one : functions) {
      library.push_back(std::make_shared<LoadedKernel>(one, emulation));
    }
    return Status::Success;
  }
  for (const test::ParsedKernel& parsed : test::parse_grid_text(cubin->text)) {
    library.push_back(
        std::make_shared<LoadedKernel>(test::GridKernel(parsed.kernel, parsed.schedule)));
    use_emulation(parsed, *library.back());
  }
  for (const codegen::RowLoop& loop : test::parse_row_loops(cubin->text)) {
    library.push_back(std::make_shared<LoadedKernel>(loop));
    use_emulation(loop, *library.back());
  }
  return Status::Success;
} catch (const std::exception& error) {
  std::fprintf(stderr, "fake CUDA driver: cannot load a library: %s\n", error.what());
  return Status::InvalidImage;
}

std::vector<LaunchParameters> read_parameters(const LoadedKernel& kernel, unsigned blocks,
                                              void** parameters) {
  if (kernel.text) return {read_words(*kernel.text, blocks, parameters)};
  if (kernel.row_loop) return {read_loop(*kernel.row_loop, blocks, parameters)};
  if (kernel.grid->schedule().batch > 1) return read_table(kernel, parameters);
  const codegen::Kernel& one = kernel.grid->kernel();
  LaunchParameters read;
  for (std::size_t i = 0; i < one.operands.size(); ++i) {
    read.operands.push_back(value_at<DeviceAddress>(*parameters++));
  }
  for (std::size_t i = 0; i < one.sizes.size(); ++i) {
    read.sizes.push_back(value_at<std::int64_t>(*parameters++));
  }
  read.points = value_at<std::int64_t>(*parameters++);
  if (kernel.grid->schedule().split_k) {
    read.part_points = value_at<std::int64_t>(*parameters++);
    read.partials = value_at<DeviceAddress>(*parameters++);
    read.arrivals = value_at<DeviceAddress>(*parameters++);
  }
  read.step = value_at<std::int32_t>(*parameters++);
  read.call = value_at<DeviceAddress>(*parameters++);
  read.blocks = blocks;
  return {read};
}

Status run_kernel(const LoadedKernel& kernel, const LaunchParameters& parameters,
                  test::ThreadOrder order) {
  if (!kernel.is_loaded) return Status::IllegalInstruction;
  if (kernel.text) {
    return run_emulation(kernel, parameters, host_operands(parameters), nullptr, order);
  }
  if (parameters.call % alignof(codegen::CallBlock) != 0) return Status::MisalignedAddress;
  std::byte* call = state().device_bytes(parameters.call, sizeof(codegen::CallBlock));
  if (call == nullptr) return Status::IllegalAddress;
  if (parameters.points == 0) return Status::Success;
  if (kernel.row_loop && kernel.emulated == nullptr) {
    return run_loop(*kernel.row_loop, parameters, reinterpret_cast<codegen::CallBlock*>(call),
                    order);
  }
  for (const auto check : {check_operands, check_parts}) {
    if (kernel.row_loop) break;  // the emulation checks each access
    const Status status = check(kernel, parameters);
    if (status != Status::Success) return status;
  }
  const std::vector<std::byte*> operands = host_operands(parameters);
  if (kernel.emulated != nullptr) {
    return run_emulation(kernel, parameters, operands, reinterpret_cast<codegen::CallBlock*>(call),
                         order);
  }
  kernel.grid->run({.buffers = operands.data(),
                    .sizes = parameters.sizes.data(),
                    .points = parameters.points,
                    .blocks = parameters.blocks,
                    .part_points = parameters.part_points,
                    .partials = to_host(parameters.partials),
                    .arrivals = reinterpret_cast<std::uint32_t*>(to_host(parameters.arrivals)),
                    .step = parameters.step,
                    .call = reinterpret_cast<codegen::CallBlock*>(call),
                    .order = order});
  return Status::Success;
}

}  // namespace kiln::fake_cuda
