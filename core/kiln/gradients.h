// Differentiation.
#pragma once

#include <kiln/results.h>
#include <kiln/tensor.h>

#include <vector>

namespace kiln {

/// Returns the gradients of `loss` with respect to `variables`, in their order, with their shapes
/// and dtypes. loss: floating point; it is summed unless it is a scalar, as in TensorFlow.
/// variables: variables, placeholders or intermediate tensors. Gradients can be differentiated
/// again; the documentation of a function defines its gradient at kinks. Without a differentiable
/// path from a variable to the loss its gradient is an empty Tensor. Using that throws ValueError,
/// which names the variable and the function that blocks the gradient.
/// Errors: TypeError unless loss is floating point; ValueError for an empty tensor;
/// NotImplementedError, which names it, for an op without a gradient rule.
///     const auto x = K::variable({1., 3.});
///     K::eval(K::gradients(K::sum(K::square(x)), {x})[0]);  // [2. 6.]
[[nodiscard]] KILN_API Results<Tensor> gradients(const Operand& loss,
                                                 const std::vector<Tensor>& variables);

/// Returns x as a tensor through which no gradient flows; of a list, one tensor for each. x: any
/// dtype.
/// Errors: ValueError for an empty tensor.
///     const auto x = K::variable({1., 3.});
///     K::eval(K::gradients(K::sum(x * K::stop_gradient(x)), {x})[0]);  // [1. 3.]
KILN_API Tensor stop_gradient(const Operand& x);
[[nodiscard]] KILN_API Results<Tensor> stop_gradient(const std::vector<Tensor>& variables,
                                                     Where where = Where::here());

}  // namespace kiln
