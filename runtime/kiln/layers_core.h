// Layers: Dense, Activation, Dropout, Flatten, Embedding.
#pragma once

#include <kiln/layer.h>

namespace kiln::layers {

struct DenseOptions {
  ActivationArgument activation = None;
  Flag use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {}, bias_regularizer = {};
  Constraint kernel_constraint = {}, bias_constraint = {};
  DTypeArgument dtype = {};  ///< here and below: a floating-point dtype; unset: floatx()
  Flag trainable = true;  ///< here and below: false freezes the layer, see Layer::set_trainable
  StringArgument name = {};
};
/// activation(dot(inputs, kernel) + bias). Variables: kernel (inputs, units), bias (units,).
class KILN_API Dense : public Layer {
 public:
  /// Errors: ValueError unless units is positive.
  explicit Dense(WholeNumber units, const DenseOptions& options = {}, Where where = Where::here());
  /// Maps inputs (.., n) to (.., units). Errors: ValueError for a rank below 2, an n that is
  /// unknown or another one than at the first call; TypeError for another dtype.
  Tensor operator()(const Tensor& inputs, Where where = Where::here()) const;
};

struct LayerOptions {
  StringArgument name = {};
};
/// A layer that applies an activation.
class KILN_API Activation : public Layer {
 public:
  explicit Activation(ActivationArgument activation, const LayerOptions& options = {},
                      Where where = Where::here());
  Tensor operator()(const Tensor& inputs, Where where = Where::here()) const;
};

struct DropoutLayerOptions {
  Shape noise_shape = Shape::unset();  ///< as for K::dropout
  std::optional<Seed> seed = {};       ///< unset: drawn from the process-wide generator
  StringArgument name = {};
};
/// K::dropout in training, and the inputs as they are otherwise.
class KILN_API Dropout : public Layer {
 public:
  /// Errors: ValueError for a rate outside [0, 1).
  explicit Dropout(double rate, const DropoutLayerOptions& options = {},
                   Where where = Where::here());
  /// Errors: those of K::dropout.
  Tensor operator()(const Tensor& inputs, const TrainingOptions& options = {},
                    Where where = Where::here()) const;
};

struct FlattenOptions {
  std::optional<StringArgument> data_format = {};  ///< unset: image_data_format()
  StringArgument name = {};
};
/// Flattens all axes but the first, in the order of elements of channels_last.
class KILN_API Flatten : public Layer {
 public:
  Flatten() : Flatten({}, Where()) {}
  explicit Flatten(const FlattenOptions& options, Where where = Where::here());
  /// Maps (n, ..) to (n, product of the others), and (n,) to (n, 1). Errors: ValueError for a
  /// scalar.
  Tensor operator()(const Tensor& inputs, Where where = Where::here()) const;
};

struct EmbeddingOptions {
  Initializer embeddings_initializer = "uniform";
  Regularizer embeddings_regularizer = {};
  Constraint embeddings_constraint = {};
  Flag mask_zero = false;  ///< whether the index 0 is padding
  DTypeArgument dtype = {};
  Flag trainable = true;
  StringArgument name = {};
};
/// The rows of a table at indices. Variable: embeddings (input_dim, output_dim).
class KILN_API Embedding : public Layer {
 public:
  /// Errors: ValueError unless both are positive.
  Embedding(WholeNumber input_dim, WholeNumber output_dim, const EmbeddingOptions& options = {},
            Where where = Where::here());
  /// Maps integers (..) to (.., output_dim). Errors: TypeError for another dtype, and, at the call
  /// of the function, ValueError for an index out of range.
  Tensor operator()(const Tensor& inputs, Where where = Where::here()) const;
  /// The mask inputs != 0, to be passed to a recurrent or attention layer; an empty tensor, which
  /// these layers take as no mask, without mask_zero.
  Tensor compute_mask(const Tensor& inputs, Where where = Where::here()) const;
};

}  // namespace kiln::layers
