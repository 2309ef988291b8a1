// Resolves each function at load time: with lazy loading, a kernel would otherwise be loaded by the
// first call that launches it.
#include "backends/cuda/execute/kernel_library.h"

#include "backends/cuda/api/reported.h"

#include <algorithm>

namespace kiln::cuda {
namespace {

std::int64_t resident_blocks(const Device& device, api::FunctionHandle function, int threads) {
  int blocks = 0;
  device.check(device.driver().max_active_blocks(&blocks, function, threads, 0),
               "count the resident blocks of a kernel");
  constexpr const char* kFunction = "cuOccupancyMaxActiveBlocksPerMultiprocessor";
  api::checked_number(blocks, {"the NVIDIA driver", kFunction, "the resident blocks of a kernel"},
                      0, device.grid().resident_threads);
  return std::max(1, blocks) * device.grid().multiprocessors;
}

}  // namespace

LoadedCode::LoadedCode(std::shared_ptr<const Device> device, const std::string& cubin)
    : device_(std::move(device)) {
  const api::Status status = device_->allocate([&] {
    return device_->driver().library_load_data(&library_, cubin.data(), nullptr, nullptr, 0,
                                               nullptr, nullptr, 0);
  });
  device_->check(status, "load kernels");
}

LoadedCode::~LoadedCode() {
  if (!device_->is_usable()) return;
  try {
    const ScopedContext context(*device_);
    device_->driver().library_unload(library_);
  } catch (...) {
    // The device has just ended: the driver frees the library with the context.
  }
}

api::FunctionHandle LoadedCode::function(const std::string& name) const {
  const api::Driver& driver = device_->driver();
  api::KernelHandle kernel = nullptr;
  api::FunctionHandle function = nullptr;
  device_->check(driver.library_get_kernel(&kernel, library_, name.c_str()), "find a kernel");
  const api::Status status =
      device_->allocate([&] { return driver.kernel_get_function(&function, kernel); });
  device_->check(status, "load a kernel");
  return function;
}

KernelLibrary::KernelLibrary(const codegen::BuiltKernels& kernels,
                             const std::shared_ptr<const Device>& device,
                             CompiledKernels compiled) {
  if (kernels.empty()) return;
  const ScopedContext context(*device);
  std::unordered_map<std::string, api::FunctionHandle> functions;
  for (const CompiledPart& part : compiled.parts) {
    code_.push_back(std::make_unique<const LoadedCode>(device, part.cubin));
    for (const std::string& name : part.functions) functions[name] = code_.back()->function(name);
  }
  for (const codegen::KernelId i : kernels.ids()) {
    CompiledKernel& one = compiled.kernels[i];
    LoadedKernel& loaded = kernels_.emplace_back();
    loaded.schedule = std::move(one.schedule);
    loaded.has_variable_extent = one.has_variable_extent;
    if (one.function.empty()) continue;
    loaded.function = functions.at(one.function);
    loaded.resident_blocks = resident_blocks(*device, loaded.function, loaded.schedule.threads);
  }
  for (auto& [body, scheduled] : compiled.loops) {
    if (!scheduled.reason.empty()) continue;
    LoadedLoop& loaded = loops_[body];
    loaded.scheduled = std::move(scheduled);
    loaded.function = functions.at(loaded.scheduled.loop.name);
    loaded.resident_blocks =
        resident_blocks(*device, loaded.function, loaded.scheduled.loop.threads);
  }
}

}  // namespace kiln::cuda
