// Differentiation: group J of the K functions without `function`.
#pragma once

#include <kiln/tensor.h>

#include <vector>

namespace kiln {

/// The gradients of `loss` with respect to `variables`, in their order and of their types.
/// `loss` is a floating point tensor; one that is not a scalar is summed (as TensorFlow does).
/// `variables` may be variables, placeholders or intermediate tensors. Where no differentiable
/// path leads from one to the loss, its gradient is an empty Tensor; using that is a ValueError
/// naming the variable, and the function on the way that has no gradient. The result can be
/// differentiated again. At kinks: the functions' own headers.
/// Errors: TypeError when loss is not floating point; ValueError for an empty tensor;
/// NotImplementedError naming an op without a gradient rule.
///     const auto x = K::variable({1., 3.});
///     K::eval(K::gradients(K::sum(K::square(x)), {x})[0]);  // [2. 6.]
KILN_API std::vector<Tensor> gradients(const Operand& loss, const std::vector<Tensor>& variables);

/// The same value, of any dtype, through which no gradient flows; of a list, one for each. Errors:
/// ValueError for an empty tensor.
///     const auto x = K::variable({1., 3.});
///     K::eval(K::gradients(K::sum(x * K::stop_gradient(x)), {x})[0]);  // [1. 3.]
KILN_API Tensor stop_gradient(const Operand& x);
KILN_API std::vector<Tensor> stop_gradient(const std::vector<Tensor>& variables,
                                           Where where = Where::here());

}  // namespace kiln
