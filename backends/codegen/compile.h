// From the bytes of a module to an executable: the pipeline, then the target.
#pragma once

#include "backends/codegen/target.h"

namespace kiln::codegen {

/// Runs the pipeline for `lowered.module` without `lowered.disabled`, and fills in the rest.
void lower(LoweredModule& lowered, Target& target, const Dumps& dumps);

/// Lowers the module once more where its stage `lowering` is wanted: the texts of the pipeline's
/// steps are large, and are not kept for the few who ask.
void dump_lowering(const LoweredModule& lowered, Target& target, const Dumps& dumps);

/// REQUIRES: `target` outlives the executable. Throws sdk::Failure.
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
