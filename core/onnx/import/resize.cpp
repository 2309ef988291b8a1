// Imports Resize and Upsample, one axis after the other.
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"
#include "core/onnx/import/resample.h"
#include "core/onnx/import/shape_input.h"
#include "core/ops/halves.h"
#include "core/types/at.h"

#include <algorithm>
#include <cmath>

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Value;
using Values = std::vector<Value>;
using Scales = std::vector<double>;

template <class Enum>
struct NamedMode {
  const char* name;
  Enum mode;
};

/// The mode that the attribute names.
template <class Enum, std::size_t count>
Enum mode_of(const NodeContext& node, const char* attribute, const char* otherwise,
             const NamedMode<Enum> (&modes)[count]) {
  const std::string given = node.string(attribute, otherwise);
  for (const auto& [name, mode] : modes) {
    if (given == name) return mode;
  }
  node.fail(text(attribute, " '", given, "' is unknown"));
}

constexpr NamedMode<ResampleMode> kResampleModes[] = {
    {"nearest", ResampleMode::Nearest},
    {"linear", ResampleMode::Linear},
    {"bilinear", ResampleMode::Linear},  // of Upsample 1
    {"cubic", ResampleMode::Cubic},
};
constexpr NamedMode<Coordinates> kCoordinates[] = {
    {"half_pixel", Coordinates::HalfPixel},
    {"half_pixel_symmetric", Coordinates::HalfPixelSymmetric},
    {"pytorch_half_pixel", Coordinates::PytorchHalfPixel},
    {"align_corners", Coordinates::AlignCorners},
    {"asymmetric", Coordinates::Asymmetric},
    {"tf_half_pixel_for_nn", Coordinates::TfHalfPixelForNn},
    {"tf_crop_and_resize", Coordinates::TfCropAndResize},
};
constexpr NamedMode<NearestMode> kNearestModes[] = {
    {"round_prefer_floor", NearestMode::RoundPreferFloor},
    {"round_prefer_ceil", NearestMode::RoundPreferCeil},
    {"floor", NearestMode::Floor},
    {"ceil", NearestMode::Ceil},
};

Interpolation interpolation_of(const NodeContext& node) {
  Interpolation result;
  result.mode = mode_of(node, "mode", "nearest", kResampleModes);
  if (node.opset() < 11) {
    result.coordinates = Coordinates::Asymmetric;
    result.nearest = NearestMode::Simple;
    return result;
  }
  result.coordinates = mode_of(node, "coordinate_transformation_mode", "half_pixel", kCoordinates);
  result.nearest = mode_of(node, "nearest_mode", "round_prefer_floor", kNearestModes);
  result.cubic_coefficient = node.number("cubic_coeff_a", -0.75);
  result.excludes_outside = node.integer("exclude_outside", 0) != 0;
  result.antialias = node.integer("antialias", 0) != 0;
  result.extrapolation = node.number("extrapolation_value", 0);
  return result;
}

/// floor(size * scale). A scale stands for the fraction of smallest terms that is rounded to it, a
/// convergent of its continued fraction: 7 / 10 for 0.7, which as a float32 is below it.
Dim scaled_size(const NodeContext& node, const Dim& size, double scale) {
  if (!(scale > 1e-6 && scale < 1e6)) node.fail(text("scale ", scale, " is out of range"));
  std::int64_t p = 1, q = 0, previous_p = 0, previous_q = 1;
  for (double rest = scale;; rest = 1 / (rest - std::floor(rest))) {
    const auto whole = static_cast<std::int64_t>(rest);
    previous_p = std::exchange(p, whole * p + previous_p);
    previous_q = std::exchange(q, whole * q + previous_q);
    const double quotient = static_cast<double>(p) / static_cast<double>(q);
    if (static_cast<float>(quotient) == static_cast<float>(scale)) break;
  }
  return floor_div(size * Dim(p), q);
}

void require_count(const NodeContext& node, const char* name, std::size_t count, const Ints& axes) {
  if (count == axes.size()) return;
  node.fail(text(name, " has ", count, " entries for ", axes.size(), " axes"));
}

std::vector<ResampledAxis> axes_by_scales(const NodeContext& node, const Value& x, const Ints& axes,
                                          const Scales& scales) {
  require_count(node, "scales", scales.size(), axes);
  std::vector<ResampledAxis> result;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Dim size = scaled_size(node, x.dims()[at(axes[i])], scales[i]);
    result.push_back({.axis = static_cast<int>(axes[i]), .size = size, .scale = scales[i]});
  }
  return result;
}

/// With keep_aspect_ratio_policy, all axes get the smallest or largest of their scales, and sizes
/// that are rounded, halves up.
std::vector<ResampledAxis> axes_by_sizes(const NodeContext& node, const Value& x, const Ints& axes,
                                         const Dims& sizes) {
  require_count(node, "sizes", sizes.size(), axes);
  const std::string policy = node.string("keep_aspect_ratio_policy", "stretch");
  std::vector<ResampledAxis> result;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    result.push_back({.axis = static_cast<int>(axes[i]), .size = sizes[i]});
  }
  if (policy == "stretch") return result;
  if (policy != "not_larger" && policy != "not_smaller") {
    node.fail(text("keep_aspect_ratio_policy '", policy, "' is unknown"));
  }
  Scales scales;
  for (const ResampledAxis& axis : result) {
    const Dim& size = x.dims()[at(axis.axis)];
    if (!size.is_static() || !axis.size.is_static() || size.value() == 0) {
      node.fail(text("with keep_aspect_ratio_policy '", policy,
                     "', sizes must be known when the "
                     "model is imported, but axis ",
                     axis.axis, " of size ", size, " becomes ", axis.size));
    }
    scales.push_back(static_cast<double>(axis.size.value()) / static_cast<double>(size.value()));
  }
  const auto [smallest, largest] = std::minmax_element(scales.begin(), scales.end());
  const double scale = policy == "not_larger" ? *smallest : *largest;
  for (ResampledAxis& axis : result) {
    const auto size = static_cast<double>(x.dims()[at(axis.axis)].value());
    axis.scale = scale;
    axis.size = static_cast<std::int64_t>(std::floor(scale * size + 0.5));
  }
  return result;
}

/// Sets the ends of the axes from the input roi: all begins, then all ends.
void set_region(NodeContext& node, std::vector<ResampledAxis>& axes) {
  const auto known = node.elements(1);
  const auto is_number = [](const auto& element) { return element && element->number; };
  const bool is_known = known && std::all_of(known->begin(), known->end(), is_number);
  const Value roi = is_known ? Value() : ir::cast(node.input(1), DType::Float32);
  const Dim entries =
      is_known ? Dim(static_cast<std::int64_t>(known->size())) : product(roi.dims());
  const auto count = static_cast<std::int64_t>(axes.size());
  if (equal(entries, 2 * count) == ir::Ternary::No) {
    node.fail(text("roi has ", entries, " entries, not ", 2 * count));
  }
  const auto entry = [&](std::int64_t i) {
    if (is_known) return ir::scalar_constant(DType::Float32, *(*known)[at(i)]->number);
    return ir::reshape(ir::slice_axis(roi, 0, i, i + 1), {});
  };
  for (std::int64_t i = 0; i < count; ++i) {
    axes[at(i)].begin = entry(i);
    axes[at(i)].end = entry(count + i);
  }
}

/// Interpolates one axis after the other, in float32 or wider unless the mode is nearest.
Values resized(const NodeContext& node, const Value& x, const std::vector<ResampledAxis>& axes,
               const Interpolation& interpolation) {
  const bool is_nearest = interpolation.mode == ResampleMode::Nearest;
  const bool is_cropped = interpolation.coordinates == Coordinates::TfCropAndResize;
  Value y = x;
  if (!is_nearest) y = is_float(x.dtype()) ? ir::widened(x) : ir::cast(x, DType::Float32);
  for (const ResampledAxis& axis : axes) {
    const bool is_same = axis.scale ? *axis.scale == 1 : axis.size == x.dims()[at(axis.axis)];
    if (is_same && !is_cropped) continue;
    y = resampled(node, y, axis, interpolation);
  }
  return {ir::cast(y, x.dtype())};
}

Ints resized_axes(const NodeContext& node, const Value& x) {
  Ints axes = node.integers("axes").value_or(ir::all_axes(x));
  for (std::int64_t& axis : axes) axis = node.axis(axis, x.rank(), "axes");
  return axes;
}

Values import_resize(NodeContext& node) {
  const Value x = node.input(0);
  const Ints axes = resized_axes(node, x);
  const Interpolation interpolation = interpolation_of(node);
  if (node.opset() < 11) {
    const Scales scales = node.known_numbers(1, "scales");
    return resized(node, x, axes_by_scales(node, x, axes, scales), interpolation);
  }
  // One of scales and sizes is left out, or empty.
  const Scales scales = node.has(2) ? node.known_numbers(2, "scales") : Scales();
  if (scales.empty() && !node.has(3)) node.fail("neither scales nor sizes are given");
  std::vector<ResampledAxis> resampled_axes =
      scales.empty() ? axes_by_sizes(node, x, axes, shape_input(node, 3, "sizes"))
                     : axes_by_scales(node, x, axes, scales);
  if (interpolation.coordinates == Coordinates::TfCropAndResize) set_region(node, resampled_axes);
  return resized(node, x, resampled_axes, interpolation);
}

/// Scales are attributes of height and width before opset 7, a list until 9, then an input.
Values import_upsample(NodeContext& node) {
  const Value x = node.input(0);
  const Scales scales = [&]() -> Scales {
    if (node.opset() >= 9) return node.known_numbers(1, "scales");
    if (node.opset() < 7) {
      return {1, 1, node.number("height_scale", 1), node.number("width_scale", 1)};
    }
    const auto given = node.numbers("scales");
    return {given.begin(), given.end()};
  }();
  const auto axes = axes_by_scales(node, x, ir::all_axes(x), scales);
  Interpolation interpolation;
  interpolation.mode = mode_of(node, "mode", "nearest", kResampleModes);
  interpolation.coordinates = Coordinates::Asymmetric;
  interpolation.nearest = NearestMode::Simple;
  return resized(node, x, axes, interpolation);
}

constexpr OperatorRow kResizeRows[] = {
    {"Resize", {10, 11, 13, 18, 19}, import_resize},
    {"Upsample", {1, 7, 9, 10}, import_upsample},
};

}  // namespace

std::span<const OperatorRow> resize_operators() { return kResizeRows; }

}  // namespace kiln::onnx
