// Resizing of images to any size, and of images and volumes by integer factors.
#pragma once

#include <kiln/tensor.h>

#include <optional>
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

struct ResizeImagesToOptions {
  StringArgument interpolation = "bilinear";  ///< "nearest" or "bilinear"
  std::optional<StringArgument> data_format = {};  ///< unset: image_data_format()
};

/// Resizes images to `height` rows and `width` columns, with half-pixel centres: element i of an
/// axis is at (i + 0.5) size / new_size - 0.5 of x. "bilinear" interpolates between the two nearest
/// pixels and repeats the first and last pixel beyond the ends, without antialiasing; an infinite
/// pixel gives NaN; floating point only. "nearest" takes pixel floor((i + 0.5) size / new_size);
/// any dtype. x: (samples, rows, columns, channels), or (samples, channels, rows, columns) for
/// channels_first; the dtype is kept, float16 and bfloat16 are computed in float32. Formula:
/// Keras 3.5's ops.image.resize with TensorFlow; "bilinear" is OpenCV's INTER_LINEAR, too. Errors:
/// ValueError unless x has rank 4 and at least one row and column (at the call if their number is
/// unknown); for a height or width below 1, an unknown data_format or interpolation; TypeError for
/// "bilinear" and a dtype that is not floating point.
///     const auto x = K::reshape(K::constant({1., 2.}), {1, 1, 2, 1});
///     K::eval(K::flatten(K::resize_images_to(x, 1, 4)));  // [1. 1.25 1.75 2. ]
KILN_API Tensor resize_images_to(const Operand& x, WholeNumber height, WholeNumber width,
                                 const ResizeImagesToOptions& options = {});

/// Enlarges volumes by repeating each element by the factor of each axis. x: (samples, depth, rows,
/// columns, channels), or with the channels after the samples for channels_first; any dtype, kept.
/// Errors: ValueError unless x has rank 5; for a factor below 1 or an unknown data_format.
///     const auto x = K::zeros({1, 1, 2, 3, 4});
///     K::int_shape(K::resize_volumes(x, 3, 2, 1, "channels_last"));  // {1, 3, 4, 3, 4}
KILN_API Tensor resize_volumes(const Operand& x, WholeNumber depth_factor,
                               WholeNumber height_factor, WholeNumber width_factor,
                               const StringArgument& data_format);

}  // namespace kiln
