// A product through the library's matmul primitive.
#pragma once

#include "backends/cpu/onednn/layout.h"
#include "backends/cpu/onednn/runner.h"

#include <string>

namespace kiln::cpu {

class Matmul {
 public:
  Matmul(const LibraryProduct& product, bool bias);

  std::size_t scratch_bytes() const noexcept { return runner_->scratch_bytes(); }
  const std::string& implementation() const noexcept { return implementation_; }
  int run(const float* lhs, const float* rhs, const float* bias, float* result,
          void* scratch) const noexcept;

 private:
  bool bias_;
  std::string implementation_;
  std::unique_ptr<Runner> runner_;
};

}  // namespace kiln::cpu
