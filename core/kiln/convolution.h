// Convolutions and locally connected layers. Windows along a spatial axis of n elements, for a
// filter of k elements with dilation d and stride s, where ke = (k - 1) d + 1, as in TensorFlow:
//   "valid"   floor((n - ke) / s) + 1 positions, without padding
//   "same"    ceil(n / s) positions; total = max((positions - 1) s + ke - n, 0) zeros, total / 2 of
//             them before the elements (rounded down), the others after them
//   "causal"  (conv1d) ke - 1 zeros before the elements, then as "valid"
// The argument `kernel` is the filter, as in Keras. Filters are not flipped (cross-correlation);
// their layout does not depend on data_format.
#pragma once

#include <kiln/steps.h>
#include <kiln/tensor.h>

#include <optional>
#include <string>

namespace kiln {

struct ConvOptions {
  Steps strides = 1;  ///< positive
  StringArgument padding = "valid";  ///< "valid", "same"; for conv1d also "causal"
  std::optional<StringArgument> data_format = {};  ///< unset: image_data_format()
  Steps dilation_rate = 1;  ///< positive
};

/// Returns the 1-D convolution y[b, i, f] = sum over k, c of x[b, i s + k d, c] kernel[k, c, f]. x:
/// (batch, steps, channels), or (batch, channels, steps) for channels_first; kernel: (k, channels,
/// filters). The result is (batch, positions, filters) in data_format, with the dtype of the
/// operands, which are numbers of one dtype. Strides and dilation may both exceed 1. An empty axis
/// has no positions with "same" and "causal". Unknown sizes are checked at the call.
/// Errors: ValueError for another rank, data_format or padding, "causal" with channels_first,
/// strides or dilations that are not positive or not one number (or one per spatial axis), channels
/// that differ, a kernel without elements along a spatial axis, or a kernel larger than the input
/// with "valid"; TypeError for different dtypes or bool.
///     const auto x = K::reshape(K::constant({1., 2., 3., 4.}), {1, 4, 1});
///     const auto kernel = K::reshape(K::constant({1., 10.}), {2, 1, 1});
///     K::eval(K::flatten(K::conv1d(x, kernel, {.padding = "same"})));  // [21. 32. 43. 4.]
KILN_API Tensor conv1d(const Operand& x, const Operand& kernel, const ConvOptions& options = {});

/// Returns the 2-D convolution of images. x: (batch, rows, columns, channels), or (batch, channels,
/// rows, columns) for channels_first; kernel: (rows, columns, channels, filters). Otherwise as
/// conv1d.
/// Errors: those of conv1d.
///     const auto x = K::reshape(K::constant({1., 2., 3., 4.}), {1, 2, 2, 1});
///     K::eval(K::flatten(K::conv2d(x, K::ones({2, 2, 1, 1}))));  // [10.]
KILN_API Tensor conv2d(const Operand& x, const Operand& kernel, const ConvOptions& options = {});

/// Returns the 3-D convolution of volumes. x: (batch, depth, rows, columns, channels), or with the
/// channels after the batch for channels_first; kernel: (depth, rows, columns, channels, filters).
/// Otherwise as conv1d.
/// Errors: those of conv1d.
///     const auto x = K::zeros({1, 5, 5, 5, 2}), kernel = K::zeros({3, 3, 3, 2, 4});
///     K::int_shape(K::conv3d(x, kernel, {.strides = 2}));  // {1, 2, 2, 2, 4}
KILN_API Tensor conv3d(const Operand& x, const Operand& kernel, const ConvOptions& options = {});

/// Returns the transposed 2-D convolution: the gradient, with respect to its input, of the conv2d
/// that maps output_shape to the shape of x. kernel: (rows, columns, filters, channels of x).
/// output_shape: the full shape in data_format, whose batch and channels may be None. It is an
/// argument because several input sizes have the same output size (with stride 2 and "same", 5 and
/// 6 give 3).
/// Errors: those of conv1d; ValueError if output_shape has another number of entries or its conv2d
/// does not have the shape of x.
///     const auto x = K::reshape(K::constant({1., 2.}), {1, 1, 2, 1});
///     const auto kernel = K::reshape(K::constant({1., 10., 100.}), {1, 3, 1, 1});
///     const auto y = K::conv2d_transpose(x, kernel, {1, 1, 5, 1}, {.strides = 2});
///     K::eval(K::flatten(y));  // [ 1. 10. 102. 20. 200.]
KILN_API Tensor conv2d_transpose(const Operand& x, const Operand& kernel, const Shape& output_shape,
                                 const ConvOptions& options = {});

struct Conv3dTransposeOptions {
  Steps strides = 1;  ///< positive
  StringArgument padding = "valid";  ///< "valid" or "same"
  std::optional<StringArgument> data_format = {};  ///< unset: image_data_format()
};
/// Returns the transposed 3-D convolution: conv2d_transpose for volumes, without dilation. kernel:
/// (depth, rows, columns, filters, channels of x).
/// Errors: those of conv2d_transpose.
///     const auto x = K::zeros({1, 2, 2, 2, 4}), kernel = K::zeros({3, 3, 3, 1, 4});
///     const auto y = K::conv3d_transpose(x, kernel, {1, 5, 5, 5, 1}, {.strides = 2});
///     K::int_shape(y);  // {1, 5, 5, 5, 1}
KILN_API Tensor conv3d_transpose(const Operand& x, const Operand& kernel, const Shape& output_shape,
                                 const Conv3dTransposeOptions& options = {});

/// Returns the depthwise 2-D convolution: each channel is convolved separately. x: as for conv2d;
/// depthwise_kernel: (rows, columns, channels, multiplier). Channel c * multiplier + m of the
/// result is channel c of x convolved with depthwise_kernel[.., c, m].
/// Errors: those of conv1d. Formula: Keras 2.3.1's NumPy backend.
///     const auto x = K::reshape(K::constant({2., 3.}), {1, 1, 1, 2});
///     const auto kernel = K::reshape(K::constant({1., 10., 2., 20.}), {1, 1, 2, 2});
///     K::eval(K::flatten(K::depthwise_conv2d(x, kernel)));  // [ 2. 20. 6. 60.]
KILN_API Tensor depthwise_conv2d(const Operand& x, const Operand& depthwise_kernel,
                                 const ConvOptions& options = {});

/// Returns the separable 2-D convolution: depthwise_conv2d, then a 1x1 convolution with
/// pointwise_kernel (1, 1, channels * multiplier, filters). Strides, padding and dilation apply to
/// the former.
/// Errors: those of conv1d; ValueError if pointwise_kernel is larger than 1x1.
///     const auto x = K::zeros({1, 4, 4, 2}), depthwise = K::zeros({3, 3, 2, 1});
///     K::int_shape(K::separable_conv2d(x, depthwise, K::zeros({1, 1, 2, 8})));  // {1, 2, 2, 8}
KILN_API Tensor separable_conv2d(const Operand& x, const Operand& depthwise_kernel,
                                 const Operand& pointwise_kernel, const ConvOptions& options = {});

/// Returns the separable 1-D convolution: separable_conv2d for sequences, with kernels (k,
/// channels, multiplier) and (1, channels * multiplier, filters).
/// Errors: those of separable_conv2d.
///     const auto x = K::zeros({1, 4, 2}), depthwise = K::zeros({3, 2, 1});
///     K::int_shape(K::separable_conv1d(x, depthwise, K::zeros({1, 2, 8})));  // {1, 2, 8}
KILN_API Tensor separable_conv1d(const Operand& x, const Operand& depthwise_kernel,
                                 const Operand& pointwise_kernel, const ConvOptions& options = {});

struct LocalConvOptions {
  std::optional<StringArgument> data_format = {};  ///< unset: image_data_format()
};

/// Returns a locally connected 1-D convolution, with a separate filter at each position. inputs:
/// (batch, steps, channels); kernel: (positions, k * channels, filters). The result is (batch,
/// positions, filters). The window of position i has the k steps from i * stride on, flattened as
/// (k, channels). data_format is validated but has no effect, as in Keras 2.3.1.
/// Errors: those of conv1d; ValueError if the sizes of kernel do not fit kernel_size.
///     const auto x = K::reshape(K::constant({1., 2., 3.}), {1, 3, 1});
///     const auto kernel = K::reshape(K::constant({1., 10., 2., 20.}), {2, 2, 1});
///     K::eval(K::flatten(K::local_conv1d(x, kernel, 2, 1)));  // [21. 64.]
KILN_API Tensor local_conv1d(const Operand& inputs, const Operand& kernel, const Steps& kernel_size,
                             const Steps& strides, const LocalConvOptions& options = {});

/// Returns a locally connected 2-D convolution: local_conv1d for images. inputs: as for conv2d;
/// kernel: (rows * columns of output_shape, k1 * k2 * channels, filters). The result is in
/// data_format. Windows are flattened as (k1, k2, channels), for channels_first as (channels, k1,
/// k2).
/// Errors: those of local_conv1d.
///     const auto x = K::zeros({1, 3, 3, 1}), kernel = K::zeros({4, 4, 8});
///     K::int_shape(K::local_conv2d(x, kernel, 2, 1, {2, 2}));  // {1, 2, 2, 8}
KILN_API Tensor local_conv2d(const Operand& inputs, const Operand& kernel, const Steps& kernel_size,
                             const Steps& strides, const Steps& output_shape,
                             const LocalConvOptions& options = {});

}  // namespace kiln
