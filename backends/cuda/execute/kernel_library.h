// Loads the cubins of a program on a device by cuLibraryLoadData and resolves its functions.
#pragma once

#include "backends/cuda/device/device.h"
#include "backends/cuda/execute/compile_kernels.h"

#include <memory>
#include <string>
#include <vector>

namespace kiln::cuda {

/// A kernel that can be launched.
struct LoadedKernel {
  codegen::GridSchedule schedule;
  api::FunctionHandle function = nullptr;  // null: loops alone have the kernel
  std::int64_t resident_blocks = 0;  // that fit the device at a time, with the kernel's registers
  bool has_variable_extent = false;  // as CompiledKernel's
};

using LoadedKernels = IdVector<codegen::KernelId, LoadedKernel>;

/// A loop that is one kernel.
struct LoadedLoop {
  codegen::ScheduledLoop scheduled;
  api::FunctionHandle function = nullptr;
  std::int64_t resident_blocks = 0;
};

using LoadedLoops = std::unordered_map<const codegen::Plan*, LoadedLoop>;  // by body

/// Loaded machine code; the destructor unloads it. REQUIRES of the destructor: no launch of its
/// functions is queued.
class LoadedCode {
 public:
  /// `cubin`: an ELF file of the device. Throws sdk::Failure. REQUIRES: a ScopedContext.
  LoadedCode(std::shared_ptr<const Device> device, const std::string& cubin);
  ~LoadedCode();
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;

  /// Throws sdk::Failure. REQUIRES: a ScopedContext.
  api::FunctionHandle function(const std::string& name) const;

 private:
  std::shared_ptr<const Device> device_;
  api::LibraryHandle library_ = nullptr;
};

/// The kernels of a program on a device.
class KernelLibrary {
 public:
  /// `compiled`: of these kernels. Throws sdk::Failure.
  KernelLibrary(const codegen::BuiltKernels& kernels, const std::shared_ptr<const Device>& device,
                CompiledKernels compiled);

  const LoadedKernels& kernels() const { return kernels_; }
  const LoadedLoops& loops() const { return loops_; }

 private:
  LoadedKernels kernels_;
  LoadedLoops loops_;
  std::vector<std::unique_ptr<const LoadedCode>> code_;
};

}  // namespace kiln::cuda
