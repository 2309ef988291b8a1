// A target whose kernels are functions of this process, run on host memory and threads. It brings a
// compiler of kernels and, if it likes, a library of products; this folder brings the rest.
#pragma once

#include "backends/codegen/host/run.h"
#include "backends/codegen/host/schedule/schedule_kernel.h"
#include "backends/codegen/target.h"

namespace kiln::codegen {

class HostTarget : public Target {
 public:
  /// Machine code for each kernel, in their order; `keep_alive` holds what it lies in. `dumps` is
  /// for the target's own stages, `times` for its parts. Throws sdk::Failure. Several threads may
  /// compile at once.
  virtual std::vector<KernelFunction> compile(const std::vector<BuiltKernel>& kernels,
                                              std::shared_ptr<const void>& keep_alive,
                                              const Dumps& dumps, CompileTimes& times) = 0;
  /// Whether anybody wants the target's own stages now.
  virtual bool wants_code_dumped(const Dumps& dumps) const {
    static_cast<void>(dumps);
    return false;
  }
  virtual ProductLibrary* products() { return nullptr; }
  virtual ThreadMode thread_mode() const { return {}; }

  /// One description for all CPUs.
  TargetDescription description() const final { return {}; }
  KernelSchedule schedule() const final { return schedule_kernel; }
  const LibraryClaims* claims() final { return products(); }
  std::unique_ptr<sdk::Executable> load(LoweredModule lowered, const sdk::Host& host) final;
};

}  // namespace kiln::codegen
