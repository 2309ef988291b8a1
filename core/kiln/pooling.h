// Pooling and biases: the other half of group M of the K functions. Windows lie as those of
// convolutions do: see convolution.h.
#pragma once

#include <kiln/convolution.h>

namespace kiln {

struct PoolOptions {
  Steps strides = 1;
  std::string padding = "valid";               ///< "valid" or "same"
  std::optional<std::string> data_format = {};  ///< unset: image_data_format()
  std::string pool_mode = "max";               ///< "max" or "avg"
};

/// The largest element or the mean of each window of images (batch, rows, columns, channels), or
/// (batch, channels, rows, columns) for channels_first. Padding never wins and is not counted in a
/// mean. A NaN in a window is its maximum; the gradient of equal maxima is divided equally among
/// them, as that of max is. "max": numbers, kept; "avg": floating point, kept, float16 and bfloat16
/// added up in float32. Sizes may be unknown: they are checked at the call.
/// Errors: ValueError for another rank, pool_mode, padding or data_format, sizes and strides that
/// are not positive or not one (or one number) for each spatial axis, and a window that does not
/// fit into the elements under "valid"; TypeError for another dtype.
///     const auto x = K::reshape(K::constant({1., 2., 3.}), {1, 1, 3, 1});
///     const auto y = K::pool2d(x, {1, 2}, {.padding = "same", .pool_mode = "avg"});
///     K::eval(K::flatten(y));  // [1.5 2.5 3. ]
KILN_API Tensor pool2d(const Operand& x, const Steps& pool_size, const PoolOptions& options = {});

/// The same for volumes (batch, depth, rows, columns, channels), or with the channels after the
/// batch for channels_first.
/// Errors: those of pool2d.
///     const auto x = K::zeros({1, 4, 4, 4, 2});
///     K::int_shape(K::pool3d(x, 2, {.strides = 2}));  // {1, 2, 2, 2, 2}
KILN_API Tensor pool3d(const Operand& x, const Steps& pool_size, const PoolOptions& options = {});

struct BiasAddOptions {
  std::optional<std::string> data_format = {};  ///< unset: image_data_format()
};

/// x plus a bias: of one axis, an element for each channel (the last axis of x, or axis 1 for
/// channels_first), or of all axes of x but the batch, as (spatial.., channels). For channels_first
/// the latter is reshaped, not transposed, to (1, channels, spatial..), as in Keras: (3, 2) with
/// elements 0 to 5 becomes the rows 0 1 2 and 3 4 5. Numbers of one dtype, kept.
/// Errors: ValueError when x has no channels, for another rank of the bias, sizes that do not fit
/// or another data_format; TypeError for different dtypes or bool.
///     const auto x = K::constant({{1., 2.}, {3., 4.}});
///     K::eval(K::bias_add(x, K::constant({10., 20.})));  // [[11. 22.] [13. 24.]]
KILN_API Tensor bias_add(const Operand& x, const Operand& bias, const BiasAddOptions& options = {});

}  // namespace kiln
