// Layers: BatchNormalization, LayerNormalization, GroupNormalization.
#pragma once

#include <kiln/layer.h>

namespace kiln::layers {

struct BatchNormalizationLayerOptions {
  WholeNumber axis = -1;  ///< the axis of channels: 1 for images with channels_first
  double momentum = 0.99;
  double epsilon = 0.001;
  Flag center = true, scale = true;  ///< whether there is a beta, and a gamma
  Initializer beta_initializer = "zeros", gamma_initializer = "ones";
  Initializer moving_mean_initializer = "zeros", moving_variance_initializer = "ones";
  Regularizer beta_regularizer = {}, gamma_regularizer = {};
  Constraint beta_constraint = {}, gamma_constraint = {};
  DTypeArgument dtype = {};  ///< a floating-point dtype; unset: floatx()
  Flag trainable = true;  ///< false: frozen, see Layer::set_trainable
  /// Whether mean and variance are those of the batches of all ranks together, which may have
  /// different numbers of rows (kiln/distributed.h, whose init() comes first).
  Flag synchronized = false;
  StringArgument name = {};
};
/// Normalizes each channel: in training with mean and variance of the batch, else with their moving
/// averages. Variables, each (channels,): gamma, beta, moving_mean, moving_variance.
///
/// The averages move when a function executes updates(): pass layers::updates({all layers}) and the
/// optimiser's updates to the function that trains, which also gets learning_phase() as an input.
/// Each call of the layer adds its batch to these updates, one call after the other; a function fed
/// with the phase 0 leaves the averages as they are. A call with {.training = false}, as for a
/// second graph that only evaluates, adds nothing; nor does one of a frozen layer, which uses the
/// moving averages in training, too.
class KILN_API BatchNormalization : public Layer {
 public:
  BatchNormalization() : BatchNormalization({}, Where()) {}
  /// Errors: ValueError for a momentum outside [0, 1], or an epsilon that is negative or not
  /// finite.
  explicit BatchNormalization(const BatchNormalizationLayerOptions& options,
                              Where where = Where::here());
  /// Errors: ValueError for an axis out of range, or a number of channels that is unknown or
  /// another one than at the first call; TypeError for another dtype.
  Tensor operator()(const Tensor& inputs, const TrainingOptions& options = {},
                    Where where = Where::here()) const;
};

struct LayerNormalizationOptions {
  Axes axis = -1;  ///< the axes normalized together
  double epsilon = 0.001;
  Flag center = true, scale = true;
  Flag rms_scaling = false;  ///< only divides, without subtracting the mean; there is no beta
  Initializer beta_initializer = "zeros", gamma_initializer = "ones";
  Regularizer beta_regularizer = {}, gamma_regularizer = {};
  Constraint beta_constraint = {}, gamma_constraint = {};
  DTypeArgument dtype = {};
  Flag trainable = true;
  StringArgument name = {};
};
/// (inputs - mean) / sqrt(variance + epsilon) * gamma + beta, with mean and variance over `axis`;
/// with rms_scaling inputs / sqrt(variance + epsilon) * gamma, whatever `center` and `scale` are:
/// by the variance, as Keras 3.5, not by the mean square. float16 and bfloat16 are computed in
/// float32. Variables, of the sizes of `axis` in ascending order: gamma, beta.
class KILN_API LayerNormalization : public Layer {
 public:
  LayerNormalization() : LayerNormalization({}, Where()) {}
  /// Errors: ValueError for None or no axis, or an epsilon that is negative or not finite.
  explicit LayerNormalization(const LayerNormalizationOptions& options,
                              Where where = Where::here());
  /// Errors: ValueError for an axis out of range or repeated, or a size of one that is unknown or
  /// another one than at the first call; TypeError for another dtype.
  Tensor operator()(const Tensor& inputs, Where where = Where::here()) const;
};

struct GroupNormalizationOptions {
  WholeNumber groups = 32;  ///< -1: one for each channel
  WholeNumber axis = -1;  ///< the axis of channels: 1 for images with channels_first
  double epsilon = 0.001;
  Flag center = true, scale = true;
  Initializer beta_initializer = "zeros", gamma_initializer = "ones";
  Regularizer beta_regularizer = {}, gamma_regularizer = {};
  Constraint beta_constraint = {}, gamma_constraint = {};
  DTypeArgument dtype = {};
  Flag trainable = true;
  StringArgument name = {};
};
/// (inputs - mean) / sqrt(variance + epsilon) * gamma + beta, with mean and variance of each sample
/// over all axes, for groups of neighbouring channels. float16 and bfloat16 are computed in
/// float32. Variables, each (channels,): gamma, beta. Wu and He, "Group normalization", 2018.
class KILN_API GroupNormalization : public Layer {
 public:
  GroupNormalization() : GroupNormalization({}, Where()) {}
  /// Errors: ValueError for groups that are neither positive nor -1, axis 0, or an epsilon that is
  /// negative or not finite.
  explicit GroupNormalization(const GroupNormalizationOptions& options,
                              Where where = Where::here());
  /// Errors: ValueError for an axis that is out of range or that of samples, and a number of
  /// channels that is unknown, not a multiple of groups or another one than at the first call;
  /// TypeError for another dtype.
  Tensor operator()(const Tensor& inputs, Where where = Where::here()) const;
};

}  // namespace kiln::layers
