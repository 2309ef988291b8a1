// The effects of a step: the slots that it reads and writes, and whether it can fail.
#pragma once

#include "backends/codegen/plan/plan.h"

namespace kiln::codegen {

struct StepEffects {
  std::vector<SlotId> read, written;  // a slot may be in both
};
StepEffects effects_of(const Step& step, const BuiltKernels& kernels);

/// Whether a kernel may report an index out of range, or an ArgMax over an empty axis.
bool can_fail(const KernelStep& step, const BuiltKernels& kernels);
/// False for copies and for kernels that cannot fail; true for all other steps.
bool can_fail(const Step& step, const BuiltKernels& kernels);

}  // namespace kiln::codegen
