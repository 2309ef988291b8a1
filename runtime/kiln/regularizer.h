// The regularizer of a variable.
#pragma once

#include <kiln/tensor.h>

#include <functional>

namespace kiln {

/// A function of a variable that returns a scalar to add to the loss.
using Regularizer = std::function<Tensor(const Tensor&)>;

}  // namespace kiln
