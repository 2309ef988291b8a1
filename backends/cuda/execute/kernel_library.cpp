// One text and one library for all kernels of a program.
#include "backends/cuda/execute/kernel_library.h"

#include "core/types/text.h"

#include <algorithm>

namespace kiln::cuda {
namespace {

using codegen::BuiltKernel;
using codegen::ScheduledKernel;

std::string print_schedules(const std::vector<BuiltKernel>& kernels,
                            const std::vector<LoadedKernel>& loaded) {
  std::string out;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    out += text(kernels[i].kernel.name, ": ", print(loaded[i].schedule), "\n");
  }
  return out;
}

}  // namespace

int code_architecture(const api::Compiler& compiler, int compute_capability) {
  int best = 0;
  for (const int one : compiler.architectures()) {
    if (one <= compute_capability && one / 10 == compute_capability / 10) best = one;
  }
  if (best != 0) return best;
  throw sdk::Failure(KILN_CODE_UNIMPLEMENTED,
                     text("NVRTC ", compiler.version_text(), " (", compiler.path(),
                          ") makes no code for compute capability ", compute_capability / 10, ".",
                          compute_capability % 10));
}

LoadedCode::LoadedCode(std::shared_ptr<const Device> device, const std::string& cubin)
    : device_(std::move(device)) {
  device_->check(device_->driver().library_load_data(&library_, cubin.data(), nullptr, nullptr, 0,
                                                     nullptr, nullptr, 0),
                 "load kernels");
}

LoadedCode::~LoadedCode() {
  if (!device_->is_usable()) return;
  try {
    const ScopedContext context(*device_);
    device_->driver().library_unload(library_);
  } catch (const sdk::Failure&) {
    // The device has just ended: the library went with it.
  }
}

api::FunctionHandle LoadedCode::function(const std::string& name) const {
  const api::Driver& driver = device_->driver();
  api::KernelHandle kernel = nullptr;
  api::FunctionHandle function = nullptr;
  device_->check(driver.library_get_kernel(&kernel, library_, name.c_str()), "find a kernel");
  device_->check(driver.kernel_get_function(&function, kernel), "load a kernel");
  return function;
}

KernelLibrary::KernelLibrary(const std::vector<BuiltKernel>& kernels,
                             const std::shared_ptr<const Device>& device,
                             const api::Compiler& compiler, const codegen::Dumps& dumps,
                             const std::string& label) {
  if (kernels.empty()) return;
  std::vector<ScheduledKernel> scheduled;
  kernels_.reserve(kernels.size());
  for (const BuiltKernel& built : kernels) {
    kernels_.push_back({schedule_grid(built.kernel, device->grid())});
    verify(built.kernel, kernels_.back().schedule, device->grid());
    scheduled.push_back({built.kernel, kernels_.back().schedule});
  }
  dumps.hand_over("schedule", "", [&] { return print_schedules(kernels, kernels_); });
  const std::string source = grid_text(scheduled);
  dumps.hand_over("cuda_c", "", [&] { return source; });
  const int architecture = code_architecture(compiler, device->identity().compute_capability);
  const std::string name = label.empty() ? "kernels.cu" : label + ".cu";
  const api::CompiledText compiled = compiler.compile(source, architecture, name);
  dumps.hand_over("ptx", "", [&] { return compiled.ptx; });
  const ScopedContext context(*device);
  code_ = std::make_unique<const LoadedCode>(device, compiled.cubin);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    kernels_[i].function = code_->function(kernels[i].kernel.name);
  }
}

}  // namespace kiln::cuda
