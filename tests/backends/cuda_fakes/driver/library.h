// Loaded machine code: kernels with their schedules, ready to run.
#pragma once

#include "backends/cuda/api/driver_api.h"
#include "tests/backends/codegen/emulated_functions.h"
#include "tests/backends/codegen/grid_interpreter.h"
#include "tests/backends/codegen/row_loop_run.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kiln::fake_cuda {

using namespace cuda::api;

/// A kernel with its schedule, a loop that is one kernel, or a function of another text, which the
/// emulation runs.
struct LoadedKernel {
  explicit LoadedKernel(test::GridKernel kernel);
  explicit LoadedKernel(codegen::RowLoop loop) : row_loop(std::move(loop)) {}
  LoadedKernel(test::TextFunction one, const test::EmulatedKernels* emulation)
      : text(std::move(one)), emulated(emulation), emulated_name(text->name) {}

  std::string name() const {
    if (text) return text->name;
    return row_loop ? row_loop->loop().name : grid->kernel().name;
  }
  int threads() const {
    if (text) return text->threads;
    return row_loop ? row_loop->loop().threads : grid->schedule().threads;
  }

  std::optional<test::GridKernel> grid;  // one of these three
  std::optional<test::RowLoopRun> row_loop;
  std::optional<test::TextFunction> text;
  std::vector<codegen::AccessId>
      checked_accesses;  // whose bounds follow from the sizes of a launch
  const test::EmulatedKernels* emulated = nullptr;  // runs launches instead of the interpreter
  std::string emulated_name;
  bool is_loaded = true;
  int max_dynamic_shared_bytes = 48 << 10, carveout = -1;
  KernelHandle kernel = nullptr;
  FunctionHandle function = nullptr;
};

using Library = std::vector<std::shared_ptr<LoadedKernel>>;

/// The kernels of a cubin for the device. InvalidImage for anything else and for a text that cannot
/// be read, with the reason on standard error; NoBinaryForGpu for another architecture. With
/// KILN_TEST_FIND_RACES, launches of texts that are not of kernels report data races. With
/// KILN_TEST_EMULATED_KERNELS, a folder, each gets its emulated text from the libraries there;
/// InvalidImage where they lack it.
Status load_library(const void* image, Library& library);

/// The parameters of a launch, read at the call. Of a loop, `operands` are all pointers, `sizes`
/// all numbers.
struct LaunchParameters {
  IdVector<codegen::OperandId, DeviceAddress> operands;
  std::vector<std::int64_t> sizes;
  std::int64_t points = 0;  // of a loop: rows; of other texts: units of work
  std::int64_t iterations = 0;  // of a loop
  std::int64_t first_block = 0, blocks = 0;
  std::int64_t part_points = 0;  // this and the next line: of schedules with `split_k`
  DeviceAddress partials = 0, arrivals = 0;
  std::int32_t step = 0;
  DeviceAddress call = 0;
};
/// One for each row with blocks of the table of a function that takes one.
std::vector<LaunchParameters> read_parameters(const LoadedKernel& kernel, unsigned blocks,
                                              void** parameters);

/// Runs the grid. IllegalAddress, MisalignedAddress where the operands, partial results or the call
/// block are not in live memory, IllegalInstruction after the library was unloaded. LaunchFailed,
/// with the reason on standard error, for what the emulation finds.
Status run_kernel(const LoadedKernel& kernel, const LaunchParameters& parameters,
                  test::ThreadOrder order);

}  // namespace kiln::fake_cuda
