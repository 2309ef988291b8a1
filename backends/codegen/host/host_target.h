// A target whose kernels are functions in this process, run on host memory and threads. It provides
// a kernel compiler, and optionally a library of matmuls and convolutions; this folder does the
// rest.
#pragma once

#include "backends/codegen/host/run.h"
#include "backends/codegen/host/loop_order/order_loops.h"
#include "backends/codegen/target.h"

#include <string>

namespace kiln::codegen {

class HostTarget : public Target {
 public:
  /// Compiles each kernel, in order; `keep_alive` receives the owner of the code. `dumps` takes the
  /// target's own stages, `times` the times of its parts. Throws sdk::Failure. Thread-safe.
  virtual KernelFunctions compile(const BuiltKernels& kernels,
                                  std::shared_ptr<const void>& keep_alive, const Dumps& dumps,
                                  CompileTimes& times) = 0;
  /// Whether a dump of the target's own stages is requested.
  virtual bool wants_code_dumped(const Dumps& dumps) const {
    static_cast<void>(dumps);
    return false;
  }
  /// Dumps the schedules of kernels, if that is requested.
  virtual void dump_schedules(const BuiltKernels& kernels, const Dumps& dumps) const {
    static_cast<void>(kernels);
    static_cast<void>(dumps);
  }
  /// kiln_executable_info.target of what load() makes.
  virtual std::string machine() const { return {}; }
  /// The library for matmuls and convolutions; null: kernels compute them.
  virtual HostLibrary* library() { return nullptr; }
  virtual ThreadMode thread_mode() const { return {}; }

  /// One description for all CPUs: results do not depend on the machine's cores.
  TargetDescription description() const final { return {}; }
  LoopTransform loop_transform() const final { return order_loops; }
  const LibraryClaims* claims() final { return library(); }
  std::unique_ptr<sdk::Executable> load(LoweredModule lowered, const sdk::Host& host) final;
};

}  // namespace kiln::codegen
