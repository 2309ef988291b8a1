// A compiled backend: everything between the plugin's boundary and a target. A target brings a
// compiler of kernels and, if it likes, a library of products; this brings the rest.
#pragma once

#include "backends/abi/kiln_backend_sdk.h"
#include "backends/codegen/host/dump_stages.h"

namespace kiln::codegen {

/// What a target is to this folder.
class Target {
 public:
  virtual ~Target() = default;
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
};

/// REQUIRES: `target` outlives the executable.
std::unique_ptr<sdk::Executable> compile_module(const sdk::CompileRequest& request, Target& target,
                                                const sdk::Host& host);

/// An instance of a backend that compiles with `target`.
class CompiledInstance : public sdk::Instance {
 public:
  CompiledInstance(std::unique_ptr<Target> target, const sdk::Host& host)
      : target_(std::move(target)), host_(host) {}

  std::vector<sdk::OpSupport> op_table() const override;
  std::vector<sdk::Unsupported> check(sdk::Bytes module) const override;
  std::unique_ptr<sdk::Executable> compile(const sdk::CompileRequest& request) override;
  std::vector<std::string_view> optional_passes() const override;

 private:
  std::unique_ptr<Target> target_;
  sdk::Host host_;
};

}  // namespace kiln::codegen
