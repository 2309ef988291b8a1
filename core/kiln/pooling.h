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
/// them. "max": numbers, kept; "avg": floating point, kept.
/// Errors: ValueError for another rank, pool_mode, padding or data_format, sizes and strides that
/// are not positive or not one (or one number) for each spatial axis, and a window that does not
/// fit into the elements under "valid"; TypeError for another dtype.
KILN_API Tensor pool2d(const Operand& x, const Steps& pool_size, const PoolOptions& options = {});

/// The same for volumes (batch, depth, rows, columns, channels), or with the channels after the
/// batch for channels_first.
/// Errors: those of pool2d.
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
KILN_API Tensor bias_add(const Operand& x, const Operand& bias, const BiasAddOptions& options = {});

}  // namespace kiln
