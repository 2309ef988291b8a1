// Padding of sequences, images and volumes with zeros.
#pragma once

#include <kiln/tensor.h>

#include <optional>
#include <string>

namespace kiln {

/// The numbers of zeros before and after the elements of an axis.
struct Sides {
  constexpr Sides() = default;
  constexpr Sides(WholeNumber before, WholeNumber after) : before(before), after(after) {}

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
  std::optional<StringArgument> data_format = {};  ///< unset: image_data_format()
};
struct Spatial3dPaddingOptions {
  struct Padding {
    Sides depth = {}, rows = {}, columns = {};
  } padding = {};
  std::optional<StringArgument> data_format = {};  ///< unset: image_data_format()
};

/// Pads sequences with zeros along the time axis. x: (samples, time, features), any dtype, kept;
/// bool is padded with false.
/// Errors: ValueError unless x has rank 3; for a negative number of zeros.
///     const auto x = K::ones({1, 2, 1});
///     K::eval(K::temporal_padding(x, {.padding = {1, 0}}));  // [[[0.] [1.] [1.]]]
KILN_API Tensor temporal_padding(const Operand& x, const TemporalPaddingOptions& options = {});

/// Pads images with zeros. x: (samples, rows, columns, channels), or (samples, channels, rows,
/// columns) for channels_first; any dtype, kept.
/// Errors: ValueError unless x has rank 4; for a negative number of zeros or an unknown
/// data_format.
///     const auto x = K::zeros({1, 2, 2, 3});
///     K::int_shape(K::spatial_2d_padding(x, {.padding = {{1, 1}, {0, 2}}}));  // {1, 4, 4, 3}
KILN_API Tensor spatial_2d_padding(const Operand& x, const Spatial2dPaddingOptions& options = {});

/// Pads volumes with zeros. x: (samples, depth, rows, columns, channels), or with the channels
/// after the samples for channels_first; any dtype, kept.
/// Errors: ValueError unless x has rank 5; for a negative number of zeros or an unknown
/// data_format.
///     const auto x = K::zeros({1, 2, 2, 2, 3});
///     K::int_shape(K::spatial_3d_padding(x));  // {1, 4, 4, 4, 3}
KILN_API Tensor spatial_3d_padding(const Operand& x, const Spatial3dPaddingOptions& options = {});

}  // namespace kiln
