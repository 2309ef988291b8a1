// Layer: PReLU. The other activations of Keras have no variables: they are names of
// ActivationArgument and functions of K.
#pragma once

#include <kiln/layer.h>

namespace kiln::layers {

struct PReLUOptions {
  Initializer alpha_initializer = "zeros";
  Regularizer alpha_regularizer = {};
  Constraint alpha_constraint = {};
  Axes shared_axes = None;  ///< those with one slope, as {1, 2} for images; None: no axis
  DTypeArgument dtype = {};  ///< a floating-point dtype; unset: floatx()
  Flag trainable = true;  ///< false: frozen, see Layer::set_trainable
  StringArgument name = {};
};
/// max(inputs, 0) + alpha * min(inputs, 0). Variable: alpha, of the sizes of all axes but the
/// first, 1 for shared ones. He et al., "Delving deep into rectifiers", 2015.
class KILN_API PReLU : public Layer {
 public:
  PReLU() : PReLU({}, Where()) {}
  explicit PReLU(const PReLUOptions& options, Where where = Where::here());
  /// Errors: ValueError for a scalar, a shared axis that is out of range or that of samples, and a
  /// size of another one that is unknown or another one than at the first call; TypeError for
  /// another dtype.
  Tensor operator()(const Tensor& inputs, Where where = Where::here()) const;
};

}  // namespace kiln::layers
