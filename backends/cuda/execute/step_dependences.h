// Computes dependences between steps: through values (read after write), and through reused memory
// (write after read, write after write).
#pragma once

#include "backends/codegen/bind/arena.h"

#include <vector>

namespace kiln::cuda {

struct StepDependence {
  int from = 0, to = 0;  // steps of the plan; from < to
  /// The slot that `from` writes and `to` reads; -1: `to` writes to memory that `from` uses.
  int slot = -1;

  bool operator==(const StepDependence&) const = default;
};

/// Slots of a result and of the argument whose buffer it may reuse.
struct SharedSlots {
  int result = 0, argument = 0;
};

/// All dependences through values, and those through memory that the others do not imply. Ascending
/// by `to`. `arena`: of the bound plan; null: temporaries share no memory. Bodies have
/// dependences of their own.
std::vector<StepDependence> step_dependences(const codegen::Plan& plan,
                                             const std::vector<codegen::BuiltKernel>& kernels,
                                             const codegen::Arena* arena,
                                             const std::vector<SharedSlots>& in_place);

}  // namespace kiln::cuda
