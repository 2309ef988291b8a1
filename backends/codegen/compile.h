// The entry of compiled backends: from the bytes of a module to an executable.
#pragma once

#include "backends/codegen/target.h"

namespace kiln::codegen {

/// Runs the pipeline on `lowered.module`, skipping the passes `lowered.disabled`, and fills in the
/// other fields.
void lower(LoweredModule& lowered, Target& target, const Dumps& dumps);

/// Lowers the module once more if the dump stage `lowering` is wanted: the texts of all passes
/// are large, so they are not kept from the first time.
void dump_lowering(const LoweredModule& lowered, Target& target, const Dumps& dumps);

/// Reads, lowers and loads a module. REQUIRES: `target` outlives the executable. Throws
/// sdk::Failure.
std::unique_ptr<sdk::Executable> compile_module(const sdk::CompileRequest& request, Target& target,
                                                const sdk::Host& host);

/// A backend instance that compiles for `target`.
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
