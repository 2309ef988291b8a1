// Resizing of images and volumes by integer factors.
#pragma once

#include <kiln/tensor.h>

#include <string>

namespace kiln {

struct ResizeImagesOptions {
  StringArgument interpolation = "nearest";  ///< "nearest" or "bilinear"
};

/// Enlarges images to rows * height_factor rows and columns * width_factor columns. x: (samples,
/// rows, columns, channels), or (samples, channels, rows, columns) for channels_first; the dtype is
/// kept. "nearest" repeats each pixel; any dtype. "bilinear" interpolates: position i of the result
/// is at i / factor of x, and the last pixel is repeated beyond the end (TensorFlow's
/// resize_bilinear without half-pixel centres, as Keras 2.2.5 and 2.3.1 call it); floating point
/// only.
/// Errors: ValueError unless x has rank 4; for a factor below 1, an unknown data_format or
/// interpolation; TypeError for "bilinear" and a dtype that is not floating point.
///     const auto x = K::reshape(K::constant({1., 2.}), {1, 1, 2, 1});
///     K::eval(K::flatten(K::resize_images(x, 1, 2, "channels_last")));  // [1. 1. 2. 2.]
KILN_API Tensor resize_images(const Operand& x, WholeNumber height_factor, WholeNumber width_factor,
                              const StringArgument& data_format,
                              const ResizeImagesOptions& options = {});

/// Enlarges volumes by repeating each element by the factor of each axis. x: (samples, depth, rows,
/// columns, channels), or with the channels after the samples for channels_first; any dtype, kept.
/// Errors: ValueError unless x has rank 5; for a factor below 1 or an unknown data_format.
///     const auto x = K::zeros({1, 1, 2, 3, 4});
///     K::int_shape(K::resize_volumes(x, 3, 2, 1, "channels_last"));  // {1, 3, 4, 3, 4}
KILN_API Tensor resize_volumes(const Operand& x, WholeNumber depth_factor,
                               WholeNumber height_factor, WholeNumber width_factor,
                               const StringArgument& data_format);

}  // namespace kiln
