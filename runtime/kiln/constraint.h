// The constraint of a variable.
#pragma once

#include <kiln/tensor.h>

#include <functional>

namespace kiln {

/// A function that an optimiser applies to a variable's new value when it builds the update. Kiln
/// stores it and never calls it.
using Constraint = std::function<Tensor(const Tensor&)>;

}  // namespace kiln
