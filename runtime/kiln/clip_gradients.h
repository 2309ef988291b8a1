// Clipping of gradients, before they are given to an optimiser. The functions are the project's
// own: Keras has options of optimisers for them. Empty gradients are errors.
#pragma once

#include <kiln/results.h>
#include <kiln/tensor.h>

#include <vector>

namespace kiln::optimizers {

/// Returns each gradient times norm / max(norm of the gradient, norm): one with a larger norm is
/// scaled down to it. Formula: `clipnorm` of Keras 3.5. Errors: ValueError unless norm is finite
/// and positive.
///     const auto g = K::constant({3., 4.});
///     K::eval(K::optimizers::clip_by_norm({g}, 1)[0]);  // [0.6 0.8]
[[nodiscard]] KILN_API Results<Tensor> clip_by_norm(const std::vector<Tensor>& gradients,
                                                    double norm, Where where = Where::here());
/// Returns all gradients times min(norm / global_norm(gradients), 1); NaN if the global norm is not
/// finite. Formula: `global_clipnorm` of Keras 3.5. Errors: as for clip_by_norm.
///     const auto g = K::constant({3.}), h = K::constant({4.});
///     K::eval(K::optimizers::clip_by_global_norm({g, h}, 1)[1]);  // [0.8]
[[nodiscard]] KILN_API Results<Tensor> clip_by_global_norm(const std::vector<Tensor>& gradients,
                                                           double norm,
                                                           Where where = Where::here());
/// Returns each gradient clipped to [-value, value]. Errors: ValueError unless value is finite and
/// positive.
///     const auto g = K::constant({3., -0.5});
///     K::eval(K::optimizers::clip_by_value({g}, 1)[0]);  // [ 1. -0.5]
[[nodiscard]] KILN_API Results<Tensor> clip_by_value(const std::vector<Tensor>& gradients,
                                                     double value, Where where = Where::here());
/// Returns the root of the sum of the squares of all elements, a scalar: float64 if a gradient is,
/// else float32. Errors: ValueError for no gradient.
///     const auto g = K::constant({3.}), h = K::constant({4.});
///     K::eval(K::optimizers::global_norm({g, h}));  // 5.0
KILN_API Tensor global_norm(const std::vector<Tensor>& gradients, Where where = Where::here());

}  // namespace kiln::optimizers
