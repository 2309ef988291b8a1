// Interpolation along one axis, as Resize defines it.
#pragma once

#include "core/onnx/import/node_context.h"

#include <cstdint>
#include <optional>

namespace kiln::onnx {

enum class ResampleMode : std::uint8_t { Nearest, Linear, Cubic };

/// Where element i of the new axis is in the old one.
enum class Coordinates : std::uint8_t {
  HalfPixel,
  HalfPixelSymmetric,
  PytorchHalfPixel,
  AlignCorners,
  Asymmetric,
  TfHalfPixelForNn,
  TfCropAndResize,
};

/// How a coordinate becomes that of the nearest element. Simple: down, but up where the axis
/// shrinks, as onnxruntime does in opsets before 11, which do not define it.
enum class NearestMode : std::uint8_t { RoundPreferFloor, RoundPreferCeil, Floor, Ceil, Simple };

struct Interpolation {
  ResampleMode mode = ResampleMode::Nearest;
  Coordinates coordinates = Coordinates::HalfPixel;
  NearestMode nearest = NearestMode::RoundPreferFloor;
  double cubic_coefficient = -0.75;  // a of Keys 1981, equation 4
  bool excludes_outside = false;  // elements outside have no weight; else those at the ends have it
  bool antialias = false;  // stretches the filter where the axis shrinks
  double extrapolation = 0;  // the value of elements outside, with TfCropAndResize
};

struct ResampledAxis {
  int axis = 0;
  ir::Dim size;  // of the result
  std::optional<double> scale = {};  // result / operand; empty: the quotient of the sizes
  ir::Value begin = {}, end = {};  // float32 scalars: of TfCropAndResize, in units of the axis
};

/// x with one axis interpolated. `x` is floating-point, of at least 32 bits, unless the mode is
/// Nearest. Throws ValueError for antialias with a scale that is not known.
ir::Value resampled(const NodeContext& node, const ir::Value& x, const ResampledAxis& axis,
                    const Interpolation& interpolation);

}  // namespace kiln::onnx
