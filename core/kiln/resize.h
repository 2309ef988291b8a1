// Images and volumes made larger by whole factors: part of group H of the K functions.
#pragma once

#include <kiln/tensor.h>

#include <string>

namespace kiln {

struct ResizeImagesOptions {
  std::string interpolation = "nearest";  ///< "nearest" or "bilinear"
};

/// Images (samples, rows, columns, channels), or (samples, channels, rows, columns) for
/// channels_first, with rows * height_factor rows and columns * width_factor columns.
/// "nearest" repeats each pixel; any dtype. "bilinear" mixes the two nearest pixels along each
/// axis: position i of the result lies at i / factor of x, and the last pixel continues beyond the
/// end (TensorFlow's resize_bilinear without half-pixel centres, which Keras 2.2.5 and 2.3.1
/// call); floating point alone, and the dtype is kept.
/// Errors: ValueError for another rank than 4, a factor below 1, another data_format or
/// interpolation; TypeError for "bilinear" of a dtype that is not floating point.
///     const auto x = K::reshape(K::constant({1., 2.}), {1, 1, 2, 1});
///     K::eval(K::flatten(K::resize_images(x, 1, 2, "channels_last")));  // [1. 1. 2. 2.]
KILN_API Tensor resize_images(const Operand& x, std::int64_t height_factor,
                              std::int64_t width_factor, const std::string& data_format,
                              const ResizeImagesOptions& options = {});

/// Volumes (samples, depth, rows, columns, channels), or with the channels after the samples for
/// channels_first; each element is repeated by the factor of each axis. Any dtype.
/// Errors: ValueError for another rank than 5, a factor below 1 or another data_format.
///     const auto x = K::zeros({1, 1, 2, 3, 4});
///     K::int_shape(K::resize_volumes(x, 3, 2, 1, "channels_last"));  // {1, 3, 4, 3, 4}
KILN_API Tensor resize_volumes(const Operand& x, std::int64_t depth_factor,
                               std::int64_t height_factor, std::int64_t width_factor,
                               const std::string& data_format);

}  // namespace kiln
