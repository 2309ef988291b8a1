// The constraint of a variable.
#pragma once

#include <kiln/tensor.h>

#include <functional>

namespace kiln {

/// A function of a new value that an optimiser applies when it builds an update; only stored.
using Constraint = std::function<Tensor(const Tensor&)>;

}  // namespace kiln
