// The constraint of a variable.
#pragma once

#include <kiln/tensor.h>

#include <functional>

namespace kiln {

/// A function that an optimiser of kiln/optimizers.h applies to a variable's new value when it
/// builds the update. Variables store it; updates that a program builds itself do not apply it.
using Constraint = std::function<Tensor(const Tensor&)>;

}  // namespace kiln
