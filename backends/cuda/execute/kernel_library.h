// The kernels of a program as machine code on a device.
#pragma once

#include "backends/codegen/dumps.h"
#include "backends/codegen/text/grid_text.h"
#include "backends/cuda/api/open_compiler.h"
#include "backends/cuda/device/device.h"

#include <memory>
#include <string>
#include <vector>

namespace kiln::cuda {

/// A kernel that can be launched.
struct LoadedKernel {
  codegen::GridSchedule schedule;
  api::FunctionHandle function = nullptr;
};

/// Machine code that is loaded while the object lives.
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

/// CUDA text of a program's kernels, their machine code, and the loaded library of both.
class KernelLibrary {
 public:
  /// Schedules, compiles and loads. Hands the stages `schedule`, `cuda_c` and `ptx` over to
  /// `dumps`; `label` names the text in errors. Throws sdk::Failure.
  KernelLibrary(const std::vector<codegen::BuiltKernel>& kernels,
                const std::shared_ptr<const Device>& device, const api::Compiler& compiler,
                const codegen::Dumps& dumps, const std::string& label);

  /// In the order of the program's kernels.
  const std::vector<LoadedKernel>& kernels() const { return kernels_; }

 private:
  std::vector<LoadedKernel> kernels_;
  std::unique_ptr<const LoadedCode> code_;  // null: there are no kernels
};

/// The architecture for which code is made: that of the device, else the highest one below it with
/// the same major number, whose code the device runs too. Throws sdk::Failure of UNIMPLEMENTED.
int code_architecture(const api::Compiler& compiler, int compute_capability);

}  // namespace kiln::cuda
