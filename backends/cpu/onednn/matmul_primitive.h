// Creates oneDNN's matmul primitive for dense operands and runs it on any thread.
#pragma once

#include "backends/cpu/onednn/layout.h"
#include "backends/cpu/onednn/runner.h"

#include <string>

namespace kiln::cpu {

/// Immutable: any number of threads may run one object.
class MatmulPrimitive {
 public:
  /// Throws LibraryFailure.
  MatmulPrimitive(const DenseMatmul& matmul, bool bias);

  std::size_t scratch_bytes() const noexcept { return runner_->scratch_bytes(); }
  const std::string& implementation() const noexcept { return implementation_; }
  /// Returns a dnnl_status_t.
  int run(const float* lhs, const float* rhs, const float* bias, float* result,
          void* scratch) const noexcept;

 private:
  bool bias_;
  std::string implementation_;
  std::unique_ptr<Runner> runner_;
};

}  // namespace kiln::cpu
