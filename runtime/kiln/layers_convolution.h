// Layers: Conv1D, Conv2D, DepthwiseConv2D, SeparableConv1D, SeparableConv2D, Conv2DTranspose.
// Windows, padding and errors of sizes: those of K's convolutions (kiln/convolution.h).
#pragma once

#include <kiln/layer.h>
#include <kiln/steps.h>

namespace kiln::layers {

struct ConvLayerOptions {
  Steps strides = 1;
  StringArgument padding = "valid";  ///< "valid", "same"; for Conv1D also "causal"
  std::optional<StringArgument> data_format = {};  ///< unset: image_data_format()
  Steps dilation_rate = 1;
  /// The channels and the filters are divided into groups, and filters see the channels of theirs.
  WholeNumber groups = 1;
  ActivationArgument activation = None;
  Flag use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {}, bias_regularizer = {};
  Constraint kernel_constraint = {}, bias_constraint = {};
  DTypeArgument dtype = {};  ///< a floating-point dtype; unset: floatx()
  Flag trainable = true;  ///< false: frozen, see Layer::set_trainable
  StringArgument name = {};
};

struct DepthwiseConvOptions {
  Steps strides = 1;
  StringArgument padding = "valid";
  WholeNumber depth_multiplier = 1;  ///< outputs per channel
  std::optional<StringArgument> data_format = {};
  Steps dilation_rate = 1;
  ActivationArgument activation = None;
  Flag use_bias = true;
  Initializer depthwise_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer depthwise_regularizer = {}, bias_regularizer = {};
  Constraint depthwise_constraint = {}, bias_constraint = {};
  DTypeArgument dtype = {};
  Flag trainable = true;
  StringArgument name = {};
};

struct SeparableConvOptions {
  Steps strides = 1;
  StringArgument padding = "valid";
  std::optional<StringArgument> data_format = {};
  Steps dilation_rate = 1;
  WholeNumber depth_multiplier = 1;  ///< outputs per channel of the depthwise convolution
  ActivationArgument activation = None;
  Flag use_bias = true;
  Initializer depthwise_initializer = "glorot_uniform", pointwise_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer depthwise_regularizer = {}, pointwise_regularizer = {}, bias_regularizer = {};
  Constraint depthwise_constraint = {}, pointwise_constraint = {}, bias_constraint = {};
  DTypeArgument dtype = {};
  Flag trainable = true;
  StringArgument name = {};
};

struct ConvTransposeOptions {
  Steps strides = 1;
  StringArgument padding = "valid";
  /// Rows and columns added to the smallest output that fits; less than the strides. Unset: outputs
  /// are inputs * strides for "same", (inputs - 1) * strides + max(size, strides) for "valid", with
  /// the size of the dilated window.
  std::optional<Steps> output_padding = {};
  std::optional<StringArgument> data_format = {};
  Steps dilation_rate = 1;
  ActivationArgument activation = None;
  Flag use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {}, bias_regularizer = {};
  Constraint kernel_constraint = {}, bias_constraint = {};
  DTypeArgument dtype = {};
  Flag trainable = true;
  StringArgument name = {};
};

/// The common part of the layers below.
class KILN_API Convolution : public Layer {
 public:
  /// Returns activation(convolution + bias) in data_format. Errors: ValueError for another rank, a
  /// number of channels that is unknown, another one than at the first call or not a multiple of
  /// groups, and those of K's convolution; TypeError for another dtype.
  Tensor operator()(const Tensor& inputs, Where where = Where::here()) const;

 protected:
  using Layer::Layer;
};

/// K::conv1d, a bias and an activation. Variables: kernel (size, channels / groups, filters), bias
/// (filters,).
class KILN_API Conv1D : public Convolution {
 public:
  /// Errors: ValueError unless the numbers are positive, `padding` and `data_format` are known, and
  /// filters are a multiple of groups.
  Conv1D(WholeNumber filters, const Steps& kernel_size, const ConvLayerOptions& options = {},
         Where where = Where::here());
};

/// K::conv2d, a bias and an activation. Variables: kernel (rows, columns, channels / groups,
/// filters), bias (filters,).
class KILN_API Conv2D : public Convolution {
 public:
  /// Errors: those of Conv1D.
  Conv2D(WholeNumber filters, const Steps& kernel_size, const ConvLayerOptions& options = {},
         Where where = Where::here());
};

/// K::depthwise_conv2d, a bias and an activation. Variables: kernel (rows, columns, channels,
/// depth_multiplier), bias (channels * depth_multiplier,).
class KILN_API DepthwiseConv2D : public Convolution {
 public:
  /// Errors: those of Conv1D.
  explicit DepthwiseConv2D(const Steps& kernel_size, const DepthwiseConvOptions& options = {},
                           Where where = Where::here());
};

/// The common part of SeparableConv1D and SeparableConv2D.
class KILN_API SeparableConvolution : public Layer {
 public:
  /// Errors: those of Convolution.
  Tensor operator()(const Tensor& inputs, Where where = Where::here()) const;

 protected:
  /// kind, prefix: static storage.
  SeparableConvolution(const char* kind, const char* prefix, std::size_t axes, WholeNumber filters,
                       const Steps& kernel_size, const SeparableConvOptions& options, Where where);
};

/// K::separable_conv1d, a bias and an activation. Variables: depthwise_kernel (size, channels,
/// depth_multiplier), pointwise_kernel (1, channels * depth_multiplier, filters), bias (filters,).
class KILN_API SeparableConv1D : public SeparableConvolution {
 public:
  /// Errors: those of Conv1D.
  SeparableConv1D(WholeNumber filters, const Steps& kernel_size,
                  const SeparableConvOptions& options = {}, Where where = Where::here())
      : SeparableConvolution("SeparableConv1D", "separable_conv1d", 1, filters, kernel_size,
                             options, where) {}
};

/// K::separable_conv2d, a bias and an activation. Variables: those of SeparableConv1D, with rows
/// and columns.
class KILN_API SeparableConv2D : public SeparableConvolution {
 public:
  /// Errors: those of Conv1D.
  SeparableConv2D(WholeNumber filters, const Steps& kernel_size,
                  const SeparableConvOptions& options = {}, Where where = Where::here())
      : SeparableConvolution("SeparableConv2D", "separable_conv2d", 2, filters, kernel_size,
                             options, where) {}
};

/// K::conv2d_transpose, a bias and an activation: enlarges images by the strides. Variables: kernel
/// (rows, columns, filters, channels), bias (filters,).
class KILN_API Conv2DTranspose : public Layer {
 public:
  /// Errors: those of Conv2D; ValueError for an output_padding that is negative or not less than
  /// the strides.
  Conv2DTranspose(WholeNumber filters, const Steps& kernel_size,
                  const ConvTransposeOptions& options = {}, Where where = Where::here());
  /// Errors: those of Convolution.
  Tensor operator()(const Tensor& inputs, Where where = Where::here()) const;
};

}  // namespace kiln::layers
