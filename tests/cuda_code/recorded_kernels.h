// Kernels that test programs compile for a GPU, recorded by the fake NVRTC.
#pragma once

#include "tests/codegen/parse_kernel.h"
#include "tests/scratch.h"

namespace kiln::testing {

/// Runs test programs on `cuda` and the fakes, and collects each distinct kernel that they compile.
class RecordedKernels {
 public:
  /// `command`: a program of build/bin with its arguments, quoted for sh; `settings`: assignments
  /// of variables before it. Checks that it succeeds.
  void run(const std::string& command, const std::string& settings = "") const;

  /// Named k0, k1, ..., in an order that depends on the kernels alone. Every `step`-th of them.
  std::vector<test::ParsedKernel> read(std::size_t step = 1) const;

 private:
  Scratch folder_;
};

}  // namespace kiln::testing
