// Libraries of kernels, what the driver tells about them, and launches.
#include "tests/backends/cuda_fakes/driver/device.h"
#include "tests/backends/cuda_fakes/driver/entries.h"
#include "tests/backends/cuda_fakes/driver/state.h"
#include "tests/backends/cuda_fakes/lies.h"

#include <algorithm>

namespace kiln::fake_cuda {
namespace {

constexpr int kRegisters = 32;  // of a thread, for every kernel

int max_shared_bytes() { return value_of(DeviceAttribute::MaxSharedMemoryPerBlockOptIn); }

struct Grid {
  unsigned blocks[3], threads[3], shared_bytes;
};

/// Grids and blocks are one-dimensional, blocks of the size that the kernel was compiled for.
bool fits(const Grid& grid, const LoadedKernel& kernel) {
  const bool is_line =
      grid.blocks[1] == 1 && grid.blocks[2] == 1 && grid.threads[1] == 1 && grid.threads[2] == 1;
  const auto max_blocks = static_cast<unsigned>(value_of(DeviceAttribute::MaxGridDimX));
  const bool has_blocks = grid.blocks[0] >= 1 && grid.blocks[0] <= max_blocks;
  const bool has_threads = grid.threads[0] == static_cast<unsigned>(kernel.threads());
  const auto shared = static_cast<unsigned>(kernel.max_dynamic_shared_bytes);
  return is_line && has_blocks && has_threads && grid.shared_bytes <= shared;
}

/// Whether the blocks of each row follow those of the row before, and the last ones end the grid.
bool divide(const std::vector<LaunchParameters>& rows, unsigned blocks) {
  std::int64_t next = 0;
  for (const LaunchParameters& row : rows) {
    if (row.first_block != next || row.blocks < 1) return false;
    next += row.blocks;
  }
  return next == blocks;
}

/// Runs the rows of a grid, which are in no order.
Status run_rows(const LoadedKernel& kernel, std::vector<LaunchParameters> rows, bool is_reversed) {
  if (is_reversed) std::reverse(rows.begin(), rows.end());
  const auto order = is_reversed ? test::ThreadOrder::Descending : test::ThreadOrder::Ascending;
  for (const LaunchParameters& row : rows) {
    const Status status = run_kernel(kernel, row, order);
    if (status != Status::Success) return status;
  }
  return Status::Success;
}

Status launch(FunctionHandle function, const Grid& grid, StreamHandle handle, void** parameters,
              void** extra) {
  State& all = state();
  const std::shared_ptr<LoadedKernel> kernel = all.functions.find(function);
  const std::shared_ptr<Stream> stream = all.streams.find(handle);
  if (kernel == nullptr || stream == nullptr) return Status::InvalidHandle;
  if (parameters == nullptr || extra != nullptr) return Status::InvalidValue;
  if (!fits(grid, *kernel)) return Status::InvalidValue;
  std::vector<LaunchParameters> rows = read_parameters(*kernel, grid.blocks[0], parameters);
  if (!divide(rows, grid.blocks[0])) return Status::InvalidValue;
  return all.streams.enqueue(*stream, {OperationKind::Kernel, [kernel, rows = std::move(rows)] {
                                         return run_rows(*kernel, rows, state().next_is_reversed());
                                       }});
}

/// Attributes that ask for more than a launch, such as clusters, are none of the plugin's.
bool are_known(const LaunchConfiguration& configuration) {
  const LaunchAttribute* begin = configuration.attributes;
  return std::all_of(begin, begin + configuration.attribute_count, [](const LaunchAttribute& one) {
    return one.id == LaunchAttributeId::Ignore || one.id == LaunchAttributeId::Cooperative;
  });
}

int attribute_of(const LoadedKernel& kernel, FunctionAttribute attribute) {
  switch (attribute) {
    case FunctionAttribute::MaxThreadsPerBlock: return kernel.threads();
    case FunctionAttribute::SharedBytes: return 0;
    case FunctionAttribute::ConstantBytes: return 0;
    case FunctionAttribute::LocalBytes: return 0;
    case FunctionAttribute::Registers: return kRegisters;
    case FunctionAttribute::BinaryVersion: return kComputeCapability;
    case FunctionAttribute::MaxDynamicSharedBytes: return kernel.max_dynamic_shared_bytes;
    case FunctionAttribute::SharedMemoryCarveout: return kernel.carveout;
  }
  return -1;
}

int resident_blocks(int threads, int shared_bytes) {
  using enum DeviceAttribute;
  const int in_warps = (threads + 31) / 32 * 32;
  const int all_shared = shared_bytes + value_of(ReservedSharedMemoryPerBlock);
  return std::min({value_of(MaxThreadsPerMultiprocessor) / in_warps,
                   value_of(MaxRegistersPerMultiprocessor) / (in_warps * kRegisters),
                   value_of(MaxSharedMemoryPerMultiprocessor) / all_shared,
                   value_of(MaxBlocksPerMultiprocessor)});
}

}  // namespace

namespace entry {

Status library_load_data(LibraryHandle* handle, const void* image, JitOption*, void**,
                         unsigned jit_options, LibraryOption*, void**, unsigned options) {
  if (handle == nullptr || image == nullptr || jit_options != 0 || options != 0) {
    return Status::InvalidValue;
  }
  State& all = state();
  auto library = std::make_shared<Library>();
  Status status = reject_in_capture();
  if (status == Status::Success) status = load_library(image, *library);
  if (status != Status::Success) return status;
  for (const std::shared_ptr<LoadedKernel>& kernel : *library) {
    kernel->kernel = all.kernels.add(kernel);
    kernel->function = all.functions.add(kernel);
  }
  *handle = all.libraries.add(std::move(library));
  return Status::Success;
}

Status library_get_kernel(KernelHandle* handle, LibraryHandle library_handle, const char* name) {
  if (handle == nullptr || name == nullptr) return Status::InvalidValue;
  const std::shared_ptr<Library> library = state().libraries.find(library_handle);
  if (library == nullptr) return Status::InvalidHandle;
  const auto found = std::find_if(library->begin(), library->end(),
                                  [&](const auto& kernel) { return kernel->name() == name; });
  if (found == library->end()) return Status::NotFound;
  *handle = (*found)->kernel;
  return Status::Success;
}

Status library_unload(LibraryHandle handle) {
  State& all = state();
  const Status status = reject_in_capture();
  if (status != Status::Success) return status;
  const std::shared_ptr<Library> library = all.libraries.take(handle);
  if (library == nullptr) return Status::InvalidHandle;
  for (const std::shared_ptr<LoadedKernel>& kernel : *library) {
    kernel->is_loaded = false;
    all.kernels.take(kernel->kernel);
    all.functions.take(kernel->function);
  }
  return Status::Success;
}

Status kernel_get_function(FunctionHandle* handle, KernelHandle kernel_handle) {
  if (handle == nullptr) return Status::InvalidValue;
  const std::shared_ptr<LoadedKernel> kernel = state().kernels.find(kernel_handle);
  if (kernel == nullptr) return Status::InvalidHandle;
  *handle = kernel->function;
  return Status::Success;
}

Status func_get_attribute(int* value, FunctionAttribute attribute, FunctionHandle handle) {
  if (value == nullptr) return Status::InvalidValue;
  const std::shared_ptr<LoadedKernel> kernel = state().functions.find(handle);
  if (kernel == nullptr) return Status::InvalidHandle;
  *value = attribute_of(*kernel, attribute);
  return Status::Success;
}

Status func_set_attribute(FunctionHandle handle, FunctionAttribute attribute, int value) {
  const std::shared_ptr<LoadedKernel> kernel = state().functions.find(handle);
  if (kernel == nullptr) return Status::InvalidHandle;
  if (attribute == FunctionAttribute::SharedMemoryCarveout) {
    if (value < -1 || value > 100) return Status::InvalidValue;
    kernel->carveout = value;
    return Status::Success;
  }
  const bool is_valid = attribute == FunctionAttribute::MaxDynamicSharedBytes && value >= 0 &&
                        value <= max_shared_bytes();
  if (!is_valid) return Status::InvalidValue;
  kernel->max_dynamic_shared_bytes = value;
  return Status::Success;
}

Status max_active_blocks(int* count, FunctionHandle handle, int threads, std::size_t shared_bytes) {
  if (count == nullptr || threads <= 0) return Status::InvalidValue;
  const std::shared_ptr<LoadedKernel> kernel = state().functions.find(handle);
  if (kernel == nullptr) return Status::InvalidHandle;
  const bool has_shared = shared_bytes <= static_cast<std::size_t>(max_shared_bytes());
  const bool runs = threads <= kernel->threads() && has_shared;
  const int honest = runs ? resident_blocks(threads, static_cast<int>(shared_bytes)) : 0;
  *count = reported("cuOccupancyMaxActiveBlocksPerMultiprocessor", honest);
  return Status::Success;
}

Status launch_kernel(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                     StreamHandle stream, void** parameters, void** extra) {
  const Grid grid{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes};
  return launch(function, grid, stream, parameters, extra);
}

Status launch_kernel_ex(const LaunchConfiguration* configuration, FunctionHandle function,
                        void** parameters, void** extra) {
  if (configuration == nullptr || !are_known(*configuration)) return Status::InvalidValue;
  const unsigned* blocks = configuration->grid;
  const unsigned* threads = configuration->block;
  const Grid grid{{blocks[0], blocks[1], blocks[2]},
                  {threads[0], threads[1], threads[2]},
                  configuration->dynamic_shared_bytes};
  return launch(function, grid, configuration->stream, parameters, extra);
}

}  // namespace entry
}  // namespace kiln::fake_cuda
