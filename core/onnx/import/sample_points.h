// Interpolation at points: one float coordinate per spatial axis, in units of elements.
#pragma once

#include "core/ir/node.h"
#include "core/onnx/import/resample.h"

#include <vector>

namespace kiln::onnx {

/// The elements outside: zeros, those at the ends, or those mirrored at the ends: at the first and
/// last element, or half an element beyond them.
enum class PointPadding : std::uint8_t { Zeros, Border, Reflection };

struct PointSampling {
  ResampleMode mode = ResampleMode::Linear;
  PointPadding padding = PointPadding::Zeros;
  bool mirrors_at_elements = true;
};

/// (batch, channels, spatial..) as rows (batch, spatial..), of channels.
struct PixelTable {
  ir::Value rows;
  ir::Dims sizes;  // of the spatial axes
};
PixelTable pixel_table(const ir::Value& x);

/// The channels at each point: the dims of the points, then channels. `batch`: the int64 index of
/// the example of each point. `points`: coordinates, per spatial axis, with the dims of `batch`.
ir::Value sampled(const PixelTable& table, const ir::Value& batch,
                  const std::vector<ir::Value>& points, const PointSampling& sampling);

}  // namespace kiln::onnx
