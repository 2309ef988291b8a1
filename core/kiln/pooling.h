// Pooling and biases. Windows and padding are those of convolutions (convolution.h).
#pragma once

#include <kiln/convolution.h>

namespace kiln {

struct PoolOptions {
  Steps strides = 1;                               ///< positive
  StringArgument padding = "valid";                ///< "valid" or "same"
  std::optional<StringArgument> data_format = {};  ///< unset: image_data_format()
  StringArgument pool_mode = "max";                ///< "max" or "avg"
};

/// Returns the maximum or the mean of each window of images. x: (batch, rows, columns, channels),
/// or (batch, channels, rows, columns) for channels_first; numbers for "max", floating point for
/// "avg"; the dtype is kept. Padding does not count. A NaN in a window is its maximum; equal maxima
/// share the gradient equally. float16 and bfloat16 are summed in float32. Unknown sizes are
/// checked at the call.
/// Errors: ValueError for another rank, pool_mode, padding or data_format, sizes or strides that
/// are not positive or not one number (or one per spatial axis), or a window larger than the input
/// with "valid"; TypeError for another dtype.
///     const auto x = K::reshape(K::constant({1., 2., 3.}), {1, 1, 3, 1});
///     const auto y = K::pool2d(x, {1, 2}, {.padding = "same", .pool_mode = "avg"});
///     K::eval(K::flatten(y));  // [1.5 2.5 3. ]
KILN_API Tensor pool2d(const Operand& x, const Steps& pool_size, const PoolOptions& options = {});

/// Returns the maximum or the mean of each window of volumes, as pool2d does of images. x: (batch,
/// depth, rows, columns, channels), or with the channels after the batch for channels_first.
/// Errors: those of pool2d.
///     const auto x = K::zeros({1, 4, 4, 4, 2});
///     K::int_shape(K::pool3d(x, 2, {.strides = 2}));  // {1, 2, 2, 2, 2}
KILN_API Tensor pool3d(const Operand& x, const Steps& pool_size, const PoolOptions& options = {});

struct BiasAddOptions {
  std::optional<StringArgument> data_format = {};  ///< unset: image_data_format()
};

/// Returns x plus a bias, one per channel or one per position and channel. bias: a vector with one
/// element per channel (the last axis of x, or axis 1 for channels_first), or (spatial..,
/// channels), with all axes of x but the batch. For channels_first the latter is reshaped, not
/// transposed, to (1, channels, spatial..), as in Keras: (3, 2) with elements 0 to 5 becomes rows 0
/// 1 2 and 3 4 5. x and bias: numbers of one dtype, kept.
/// Errors: ValueError if x has a rank below 2, for another rank of bias, sizes that do not fit, or
/// an unknown data_format; TypeError for different dtypes or bool.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::bias_add(x, K::constant({10., 20.})));  // [[11. 22.] [13. 24.]]
KILN_API Tensor bias_add(const Operand& x, const Operand& bias, const BiasAddOptions& options = {});

}  // namespace kiln
