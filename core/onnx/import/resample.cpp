// Interpolates along one axis: coordinates, then gathers, and weights made from the coordinates.
#include "core/onnx/import/resample.h"

#include "core/k/math/formulas_impl.h"
#include "core/types/at.h"

#include <cmath>

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Op;
using ir::Value;

// Coordinates are float32, as in onnxruntime: where they fall between two elements, the nearest one
// depends on their rounding.

/// The terms of the formulas of coordinates: float32 vectors of the new size.
struct CoordinateTerms {
  const ResampledAxis& axis;
  Dim old_size;
  Dims dims;

  Value index() const { return ir::iota({DType::Float32, dims}, 0); }
  Value size(const Dim& dim) const {
    if (dim.is_static()) return number(static_cast<double>(dim.value()));
    return ir::broadcast_to(ir::cast(ir::dim_size(dim), DType::Float32), dims);
  }
  Value number(double value) const { return ir::full(DType::Float32, dims, value); }
  /// In units of the old axis.
  Value unscaled(const Value& x) const {
    if (axis.scale) return x / *axis.scale;
    if (axis.size.is_static() && old_size.is_static()) {
      return x / (static_cast<double>(axis.size.value()) / static_cast<double>(old_size.value()));
    }
    return x / (size(axis.size) / size(old_size));
  }
  /// The new size, which is not whole if a scale that is given makes it so.
  Value exact_size() const { return axis.scale ? size(old_size) * *axis.scale : size(axis.size); }
  /// x / (the exact new size - 1); x for a new size of 1.
  Value over_steps(const Value& x) const {
    const Value steps = exact_size() - 1.0;
    return x / ir::select(ir::equal_to(steps, number(0)), number(1), steps);
  }
};

Value floor_of(const Value& x) { return ir::unary(Op::Floor, x); }
Value ceil_of(const Value& x) { return -floor_of(-x); }

/// The formulas of the attribute coordinate_transformation_mode.
Value coordinates_of(const CoordinateTerms& terms, Coordinates coordinates) {
  const Value index = terms.index();
  const auto half_pixel = [&] { return terms.unscaled(index + 0.5) - 0.5; };
  const auto last = [&] { return terms.size(terms.old_size - 1); };
  switch (coordinates) {
    case Coordinates::HalfPixel: return half_pixel();
    case Coordinates::HalfPixelSymmetric: {
      const Value adjustment = terms.size(terms.axis.size) / terms.exact_size();
      const Value offset = terms.size(terms.old_size) * 0.5 * (1.0 - adjustment);
      return offset + terms.unscaled(index + 0.5) - 0.5;
    }
    case Coordinates::PytorchHalfPixel: {
      const Value size = terms.size(terms.axis.size), one = terms.number(1);
      return ir::select(ir::less(one, size), half_pixel(), terms.number(0));
    }
    case Coordinates::AlignCorners: return terms.over_steps(index * last());
    case Coordinates::Asymmetric: return terms.unscaled(index);
    case Coordinates::TfHalfPixelForNn: return terms.unscaled(index + 0.5);
    case Coordinates::TfCropAndResize: break;
  }
  const Value begin = ir::broadcast_to(terms.axis.begin, terms.dims);
  const Value end = ir::broadcast_to(terms.axis.end, terms.dims);
  const Value is_one = ir::equal_to(terms.size(terms.axis.size), terms.number(1));
  return ir::select(is_one, (begin + end) * 0.5 * last(),
                    begin * last() + terms.over_steps(index * (end - begin) * last()));
}

Value rounded(const CoordinateTerms& terms, const Value& x, NearestMode mode) {
  switch (mode) {
    case NearestMode::RoundPreferFloor: return ceil_of(x - 0.5);
    case NearestMode::RoundPreferCeil: return floor_of(x + 0.5);
    case NearestMode::Floor: return floor_of(x);
    case NearestMode::Ceil: return ceil_of(x);
    case NearestMode::Simple: break;
  }
  const Value shrinks = ir::less(terms.size(terms.axis.size), terms.size(terms.old_size));
  return ir::select(shrinks, ceil_of(x), floor_of(x));
}

/// Float32 coordinates as indices of the old axis.
Value indices_of(const Value& x, const Dim& old_size) {
  const Value index = ir::cast(x, DType::Int64);
  const Value last = ir::broadcast_to(ir::dim_size(old_size - 1), index.dims());
  return clipped(index, ir::zeros_like(index), last);
}

/// Whether element i is element floor(i / factor) of the old axis, for a whole factor.
bool is_repetition(const Interpolation& interpolation) {
  const NearestMode nearest = interpolation.nearest;
  const bool rounds =
      nearest == NearestMode::RoundPreferFloor || nearest == NearestMode::RoundPreferCeil;
  switch (interpolation.coordinates) {
    case Coordinates::HalfPixel:
    case Coordinates::HalfPixelSymmetric:
    case Coordinates::PytorchHalfPixel: return rounds;
    case Coordinates::Asymmetric:
      return nearest == NearestMode::Floor || nearest == NearestMode::Simple;
    case Coordinates::TfHalfPixelForNn: return nearest == NearestMode::Floor;
    default: return false;
  }
}

/// The factor by which the axis grows, if that is a whole number.
std::optional<std::int64_t> whole_factor(const ResampledAxis& axis, const Dim& old_size) {
  double scale = 0;
  if (axis.scale) {
    scale = *axis.scale;
  } else if (axis.size.is_static() && old_size.is_static()) {
    scale = static_cast<double>(axis.size.value()) / static_cast<double>(old_size.value());
  }
  if (scale < 1 || scale > 65536 || scale != std::floor(scale)) return std::nullopt;
  return static_cast<std::int64_t>(scale);
}

/// The filter at a distance from its centre.
Value filter_weight(const Value& distance, const Interpolation& interpolation) {
  const Value x = ir::unary(Op::Abs, distance), one = ir::like(x, 1), zero = ir::zeros_like(x);
  if (interpolation.mode == ResampleMode::Linear) {
    return ir::binary(Op::Maximum, 1.0 - x, zero);
  }
  const double a = interpolation.cubic_coefficient;  // Keys 1981, equation 4
  const Value near = ((a + 2) * x - (a + 3)) * x * x + 1.0;
  const Value far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return ir::select(ir::less_equal_to(x, one), near,
                    ir::select(ir::less(x, ir::like(x, 2)), far, zero));
}

/// Sums over the window of the filter, which starts at floor(x) + start.
Value filtered(const Value& x, const Value& coordinates, int axis,
               const Interpolation& interpolation, double filter_scale) {
  const double reach = interpolation.mode == ResampleMode::Linear ? 1 : 2;
  const auto start = static_cast<std::int64_t>(std::floor(-reach / filter_scale)) + 1;
  const Dim old_size = x.dims()[at(axis)];
  const Dims dims{coordinates.dims()[0], 2 - 2 * start};
  const auto wide = [&](const Value& vector) { return ir::broadcast(vector, dims, {0}); };
  const Value position = wide(floor_of(coordinates)) + ir::iota({DType::Float32, dims}, 1) +
                         static_cast<double>(start);
  Value weights = filter_weight((position - wide(coordinates)) * filter_scale, interpolation);
  if (interpolation.excludes_outside) {
    const Value last = ir::cast(ir::dim_size(old_size - 1), DType::Float32);
    const Value inside = ir::binary(Op::And, ir::less_equal_to(ir::zeros_like(position), position),
                                    ir::less_equal_to(position, ir::broadcast_to(last, dims)));
    weights = ir::select(inside, weights, ir::zeros_like(weights));
  }
  if (interpolation.excludes_outside || filter_scale != 1) {
    const Value sum = ir::reduce_sum(weights, {1});
    const Value is_zero = ir::equal_to(sum, ir::zeros_like(sum));
    weights = weights / wide(ir::select(is_zero, ir::like(sum, 1), sum));
  }
  const Value elements = ir::gather(x, indices_of(position, old_size), axis);
  const Value factors =
      ir::broadcast(ir::cast(weights, x.dtype()), elements.dims(), {axis, axis + 1});
  return ir::reduce_sum(elements * factors, {axis + 1});
}

/// Between the elements on both sides.
Value between(const Value& x, const Value& coordinates, int axis) {
  const Dim old_size = x.dims()[at(axis)];
  const Value last =
      ir::broadcast_to(ir::cast(ir::dim_size(old_size - 1), DType::Float32), coordinates.dims());
  const Value inside = clipped(coordinates, ir::zeros_like(last), last);
  const Value left = floor_of(inside);
  const Value low = ir::gather(x, indices_of(left, old_size), axis);
  const Value high = ir::gather(x, indices_of(left + 1.0, old_size), axis);
  const Value weight = ir::cast(inside - left, x.dtype());
  return low + (high - low) * ir::broadcast(weight, low.dims(), {axis});
}

/// min(scale, 1): distances are multiplied by it, which stretches the filter where the axis
/// shrinks.
double filter_scale_of(const NodeContext& node, const ResampledAxis& axis, const Dim& old_size,
                       const Interpolation& interpolation) {
  if (!interpolation.antialias) return 1;
  if (axis.scale) return std::min(*axis.scale, 1.0);
  if (axis.size.is_static() && old_size.is_static()) {
    const double scale =
        static_cast<double>(axis.size.value()) / static_cast<double>(old_size.value());
    return std::min(scale, 1.0);
  }
  node.fail(text("with antialias, the scale of axis ", axis.axis, " of size ", old_size,
                 ", which becomes ", axis.size, ", must be known when the model is imported"));
}

}  // namespace

Value resampled(const NodeContext& node, const Value& given, const ResampledAxis& axis,
                const Interpolation& interpolation) {
  Dims smallest(given.dims().size(), 0);
  smallest[at(axis.axis)] = 1;
  const Value x = ir::fits(given, smallest);
  const Dim old_size = x.dims()[at(axis.axis)];
  const bool is_nearest = interpolation.mode == ResampleMode::Nearest;
  if (is_nearest && is_repetition(interpolation)) {
    if (const auto factor = whole_factor(axis, old_size)) {
      return repeated_along(x, axis.axis, *factor);
    }
  }
  const CoordinateTerms terms{axis, old_size, {axis.size}};
  const Value coordinates = coordinates_of(terms, interpolation.coordinates);
  const double filter_scale = filter_scale_of(node, axis, old_size, interpolation);
  const Value y = [&] {
    if (is_nearest) {
      const Value nearest = rounded(terms, coordinates, interpolation.nearest);
      return ir::gather(x, indices_of(nearest, old_size), axis.axis);
    }
    const bool is_plain = interpolation.mode == ResampleMode::Linear && filter_scale == 1;
    return is_plain ? between(x, coordinates, axis.axis)
                    : filtered(x, coordinates, axis.axis, interpolation, filter_scale);
  }();
  if (interpolation.coordinates != Coordinates::TfCropAndResize) return y;
  const Value outside = ir::binary(Op::Or, ir::less(coordinates, terms.number(0)),
                                   ir::less(terms.size(old_size - 1), coordinates));
  return ir::select(ir::broadcast(outside, y.dims(), {axis.axis}),
                    ir::like(y, interpolation.extrapolation), y);
}

}  // namespace kiln::onnx
