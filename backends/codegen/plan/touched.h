// The slots that a step reads and writes, and whether it can fail.
#pragma once

#include "backends/codegen/plan/plan.h"

namespace kiln::codegen {

struct Touched {
  std::vector<int> read, written;
};
Touched touched(const Step& step, const std::vector<BuiltKernel>& kernels);

/// A kernel fails by an index out of range, or by an axis without elements to choose from.
bool can_fail(const KernelStep& step, const std::vector<BuiltKernel>& kernels);
/// Copies and such kernels as cannot fail never do; other steps may.
bool can_fail(const Step& step, const std::vector<BuiltKernel>& kernels);

}  // namespace kiln::codegen
