// Convolutions and locally connected sums: half of group M of the K functions. Sliding windows are
// TensorFlow's, along each spatial axis of n elements, a kernel of k elements that are d apart and
// s from place to place, with ke = (k - 1) d + 1:
//   "valid"   floor((n - ke) / s) + 1 places, all within the elements
//   "same"    ceil(n / s) places; total = max((places - 1) s + ke - n, 0) zeros, total / 2 of them
//             before the elements and the rest behind, where the odd one goes
//   "causal"  (conv1d) ke - 1 zeros before the elements, then as "valid"
// Kernels are not flipped (cross-correlation), and their layout does not depend on data_format.
#pragma once

#include <kiln/steps.h>
#include <kiln/tensor.h>

#include <optional>
#include <string>

namespace kiln {

struct ConvOptions {
  Steps strides = 1;
  std::string padding = "valid";               ///< "valid", "same"; for conv1d "causal", too
  std::optional<std::string> data_format = {};  ///< unset: image_data_format()
  Steps dilation_rate = 1;
};

/// Sequences (batch, steps, channels), or (batch, channels, steps) for channels_first, with a
/// kernel (k, channels, filters): y[b, i, f] = sum over k, c of x[b, i s + k d, c] kernel[k, c, f].
/// "causal" demands channels_last. The result is (batch, places, filters) in data_format. Numbers
/// of one dtype, kept; no places for an empty axis under "same" and "causal". Strides and dilation
/// may both be above 1. Sizes may be unknown: they are checked at the call.
/// Errors: ValueError for another rank, data_format or padding, steps that are not positive or not
/// one (or one number) for each spatial axis, sizes of channels that differ, a kernel without
/// elements along a spatial axis, and one that does not fit into the elements under "valid";
/// TypeError for different dtypes or bool.
///     const auto x = K::reshape(K::constant({1., 2., 3., 4.}), {1, 4, 1});
///     const auto kernel = K::reshape(K::constant({1., 10.}), {2, 1, 1});
///     K::eval(K::flatten(K::conv1d(x, kernel, {.padding = "same"})));  // [21. 32. 43. 4.]
KILN_API Tensor conv1d(const Operand& x, const Operand& kernel, const ConvOptions& options = {});

/// Images (batch, rows, columns, channels), or (batch, channels, rows, columns) for channels_first,
/// with a kernel (rows, columns, channels, filters): as conv1d along two axes.
/// Errors: those of conv1d.
///     const auto x = K::reshape(K::constant({1., 2., 3., 4.}), {1, 2, 2, 1});
///     K::eval(K::flatten(K::conv2d(x, K::ones({2, 2, 1, 1}))));  // [10.]
KILN_API Tensor conv2d(const Operand& x, const Operand& kernel, const ConvOptions& options = {});

/// Volumes (batch, depth, rows, columns, channels), or with the channels after the batch for
/// channels_first, with a kernel (depth, rows, columns, channels, filters): as conv1d along three
/// axes.
/// Errors: those of conv1d.
///     const auto x = K::zeros({1, 5, 5, 5, 2}), kernel = K::zeros({3, 3, 3, 2, 4});
///     K::int_shape(K::conv3d(x, kernel, {.strides = 2}));  // {1, 2, 2, 2, 4}
KILN_API Tensor conv3d(const Operand& x, const Operand& kernel, const ConvOptions& options = {});

/// The gradient of conv2d with respect to its input: what a conv2d from output_shape to x adds up
/// in its input. The kernel is (rows, columns, filters, channels of x); output_shape is the whole
/// shape in the given data_format, its batch and its channels may be None. Several sizes convolve
/// to one x (stride 2, "same": 5 and 6 to 3), hence the argument.
/// Errors: those of conv1d; ValueError when output_shape has another number of entries or does not
/// convolve to the shape of x.
///     const auto x = K::reshape(K::constant({1., 2.}), {1, 1, 2, 1});
///     const auto kernel = K::reshape(K::constant({1., 10., 100.}), {1, 3, 1, 1});
///     const auto y = K::conv2d_transpose(x, kernel, {1, 1, 5, 1}, {.strides = 2});
///     K::eval(K::flatten(y));  // [ 1. 10. 102. 20. 200.]
KILN_API Tensor conv2d_transpose(const Operand& x, const Operand& kernel,
                                 const Shape& output_shape, const ConvOptions& options = {});

struct Conv3dTransposeOptions {
  Steps strides = 1;
  std::string padding = "valid";               ///< "valid" or "same"
  std::optional<std::string> data_format = {};  ///< unset: image_data_format()
};
/// The same for volumes: a kernel (depth, rows, columns, filters, channels of x), no dilation.
/// Errors: those of conv2d_transpose.
///     const auto x = K::zeros({1, 2, 2, 2, 4}), kernel = K::zeros({3, 3, 3, 1, 4});
///     const auto y = K::conv3d_transpose(x, kernel, {1, 5, 5, 5, 1}, {.strides = 2});
///     K::int_shape(y);  // {1, 5, 5, 5, 1}
KILN_API Tensor conv3d_transpose(const Operand& x, const Operand& kernel,
                                 const Shape& output_shape,
                                 const Conv3dTransposeOptions& options = {});

/// Images as for conv2d, each channel convolved by itself: the kernel is (rows, columns, channels,
/// multiplier), and channel c * multiplier + m of the result is channel c under kernel[.., c, m].
/// Formula: Keras 2.3.1's NumPy engine.
/// Errors: those of conv1d.
///     const auto x = K::reshape(K::constant({2., 3.}), {1, 1, 1, 2});
///     const auto kernel = K::reshape(K::constant({1., 10., 2., 20.}), {1, 1, 2, 2});
///     K::eval(K::flatten(K::depthwise_conv2d(x, kernel)));  // [ 2. 20. 6. 60.]
KILN_API Tensor depthwise_conv2d(const Operand& x, const Operand& depthwise_kernel,
                                 const ConvOptions& options = {});

/// depthwise_conv2d, then products with a pointwise kernel (1, 1, channels * multiplier, filters);
/// strides, padding and dilation are those of the first.
/// Errors: those of conv1d; ValueError when the pointwise kernel is larger than one element.
///     const auto x = K::zeros({1, 4, 4, 2}), depthwise = K::zeros({3, 3, 2, 1});
///     K::int_shape(K::separable_conv2d(x, depthwise, K::zeros({1, 1, 2, 8})));  // {1, 2, 2, 8}
KILN_API Tensor separable_conv2d(const Operand& x, const Operand& depthwise_kernel,
                                 const Operand& pointwise_kernel,
                                 const ConvOptions& options = {});

/// The same for sequences: kernels (k, channels, multiplier) and (1, channels * multiplier,
/// filters).
/// Errors: those of separable_conv2d.
///     const auto x = K::zeros({1, 4, 2}), depthwise = K::zeros({3, 2, 1});
///     K::int_shape(K::separable_conv1d(x, depthwise, K::zeros({1, 2, 8})));  // {1, 2, 8}
KILN_API Tensor separable_conv1d(const Operand& x, const Operand& depthwise_kernel,
                                 const Operand& pointwise_kernel,
                                 const ConvOptions& options = {});

struct LocalConvOptions {
  std::optional<std::string> data_format = {};  ///< unset: image_data_format()
};

/// A convolution with a kernel of its own at each place: inputs (batch, steps, channels) and a
/// kernel (places, k * channels, filters) give (batch, places, filters). Place i sees the k steps
/// from i * stride on, flattened as (k, channels). data_format is checked and has no other meaning,
/// as in Keras 2.3.1.
/// Errors: those of conv1d; ValueError when the kernel's sizes do not belong to kernel_size.
///     const auto x = K::reshape(K::constant({1., 2., 3.}), {1, 3, 1});
///     const auto kernel = K::reshape(K::constant({1., 10., 2., 20.}), {2, 2, 1});
///     K::eval(K::flatten(K::local_conv1d(x, kernel, 2, 1)));  // [21. 64.]
KILN_API Tensor local_conv1d(const Operand& inputs, const Operand& kernel,
                             const Steps& kernel_size, const Steps& strides,
                             const LocalConvOptions& options = {});

/// The same for images: inputs as for conv2d, a kernel (rows * columns of output_shape, k1 * k2 *
/// channels, filters), the result in data_format. A window is flattened as (k1, k2, channels), for
/// channels_first as (channels, k1, k2).
/// Errors: those of local_conv1d.
///     const auto x = K::zeros({1, 3, 3, 1}), kernel = K::zeros({4, 4, 8});
///     K::int_shape(K::local_conv2d(x, kernel, 2, 1, {2, 2}));  // {1, 2, 2, 8}
KILN_API Tensor local_conv2d(const Operand& inputs, const Operand& kernel,
                             const Steps& kernel_size, const Steps& strides,
                             const Steps& output_shape, const LocalConvOptions& options = {});

}  // namespace kiln
