// The activation of a layer.
#pragma once

#include <kiln/tensor.h>

#include <functional>

namespace kiln {

/// A function of a layer's output: a name of Keras 3.5, a function, or None for the identity.
/// Names: "elu", "exponential", "gelu" (of erf), "hard_sigmoid" (x / 6 + 0.5 in [0, 1], not
/// K::hard_sigmoid), "hard_silu" or "hard_swish", "leaky_relu" (slope 0.2), "linear",
/// "log_softmax", "mish", "relu", "relu6", "selu", "sigmoid", "silu" or "swish", "softmax",
/// "softplus", "softsign", "tanh": all of Keras.
class KILN_API ActivationArgument {
 public:
  using Apply = std::function<Tensor(const Tensor&)>;

  ActivationArgument(NoneType) {}  // NOLINT: implicit on purpose
  template <class Function,
            std::enable_if_t<std::is_constructible_v<Apply, Function> &&
                                 !std::is_same_v<std::decay_t<Function>, ActivationArgument>,
                             int> = 0>
  ActivationArgument(Function apply) : apply_(std::move(apply)) {}  // NOLINT
  /// ValueError for an unknown name, with the nearest one.
  ActivationArgument(const char* name, Where where = Where::here());  // NOLINT
  ActivationArgument(const std::string& name, Where where = Where::here());  // NOLINT
  ActivationArgument(std::nullptr_t) = delete;  // NOLINT

  /// Returns the activation of x, x itself for None and an empty function.
  Tensor operator()(const Tensor& x) const { return apply_ ? apply_(x) : x; }

 private:
  Apply apply_;
};

}  // namespace kiln
