// The loaded kernels of attention, which the programs of an instance share.
#pragma once

#include "backends/codegen/dumps.h"
#include "backends/cuda/attention/attention_text.h"
#include "backends/cuda/execute/kernel_library.h"

#include <map>
#include <mutex>
#include <vector>

namespace kiln::cuda {

struct LoadedAttentionFunction {
  AttentionFunction function = {};
  api::FunctionHandle handle = nullptr;
};

/// The first use of each form compiles it, and blocks other threads meanwhile. Thread-safe.
class AttentionKernels {
 public:
  AttentionKernels(std::shared_ptr<const Device> device,
                   std::shared_ptr<const api::Compiler> compiler)
      : device_(std::move(device)), compiler_(std::move(compiler)) {}

  using Functions = std::vector<LoadedAttentionFunction>;
  /// The loaded attention_functions(). The object outlives the result. Throws sdk::Failure.
  /// REQUIRES: a ScopedContext of the thread, which captures no stream.
  const Functions& of(const AttentionForm& form) const;

 private:
  struct Loaded {
    std::unique_ptr<const LoadedCode> code;
    Functions functions;
  };

  std::shared_ptr<const Device> device_;
  std::shared_ptr<const api::Compiler> compiler_;
  mutable std::mutex mutex_;
  mutable std::map<AttentionForm, Loaded> loaded_;
};

/// The forms of the attention steps of a plan and its bodies, each once.
std::vector<AttentionForm> attention_forms(const codegen::Plan& plan);

/// Hands over the texts of these forms, and their PTX and machine code if they are wanted, which
/// compiles the texts. Throws sdk::Failure.
void dump_attention(const codegen::Plan& plan, const api::Compiler& compiler, int architecture,
                    const codegen::Dumps& dumps, const sdk::Host& host);

}  // namespace kiln::cuda
