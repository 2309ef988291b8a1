// NotTrained: marks variables of layers that gradients do not change.
#pragma once

#include <kiln/variable.h>

namespace kiln {

/// The constraint of a moving average. Its value is never applied: optimisers reject the variable.
struct [[gnu::visibility("hidden")]] NotTrained {
  Tensor operator()(const Tensor& x) const { return x; }
};

/// Whether the variable is one of them.
inline bool is_marked_not_trained(const Variable& variable) {
  return variable.constraint().target<NotTrained>() != nullptr;
}

}  // namespace kiln
