// Zeros around sequences, images and volumes: part of group H of the K functions.
#pragma once

#include <kiln/tensor.h>

#include <optional>
#include <string>

namespace kiln {

/// How many zeros go before and after the elements of an axis.
struct Sides {
  std::int64_t before = 1, after = 1;
};

struct TemporalPaddingOptions {
  Sides padding = {};
};
struct Spatial2dPaddingOptions {
  /// {{top, bottom}, {left, right}}
  struct Padding {
    Sides rows = {}, columns = {};
  } padding = {};
  std::optional<std::string> data_format = {};  ///< unset: image_data_format()
};
struct Spatial3dPaddingOptions {
  struct Padding {
    Sides depth = {}, rows = {}, columns = {};
  } padding = {};
  std::optional<std::string> data_format = {};  ///< unset: image_data_format()
};

/// x (samples, time, features) with zeros before and after along axis 1. Any dtype, kept; a bool's
/// zero is false.
/// Errors: ValueError when x has another rank than 3 or a number of zeros is negative.
///     const auto x = K::ones({1, 2, 1});
///     K::eval(K::temporal_padding(x, {.padding = {1, 0}}));  // [[[0.] [1.] [1.]]]
KILN_API Tensor temporal_padding(const Operand& x, const TemporalPaddingOptions& options = {});

/// Images with zeros around: (samples, rows, columns, channels), or (samples, channels, rows,
/// columns) for channels_first. Any dtype, kept.
/// Errors: ValueError for another rank than 4, a negative number of zeros or another data_format.
///     const auto x = K::zeros({1, 2, 2, 3});
///     K::int_shape(K::spatial_2d_padding(x, {.padding = {{1, 1}, {0, 2}}}));  // {1, 4, 4, 3}
KILN_API Tensor spatial_2d_padding(const Operand& x, const Spatial2dPaddingOptions& options = {});

/// Volumes with zeros around: (samples, depth, rows, columns, channels), or with the channels after
/// the samples for channels_first. Any dtype, kept.
/// Errors: ValueError for another rank than 5, a negative number of zeros or another data_format.
///     const auto x = K::zeros({1, 2, 2, 2, 3});
///     K::int_shape(K::spatial_3d_padding(x));  // {1, 4, 4, 4, 3}
KILN_API Tensor spatial_3d_padding(const Operand& x, const Spatial3dPaddingOptions& options = {});

}  // namespace kiln
