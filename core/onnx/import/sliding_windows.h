// Windows over the spatial axes of convolutions and pooling nodes: steps, padding, positions.
#pragma once

#include "core/onnx/import/node_context.h"

namespace kiln::onnx {

/// Windows over `input`, which is channels last and has guards that the windows fit.
struct SlidingWindows {
  ir::Value input;
  ir::Dims sizes;  // elements of a window, per spatial axis, as all that follow
  ir::Ints strides, dilations;
  ir::Dims low, high;  // padding
  ir::Dims counts;  // window positions
  ir::Dims overhang;  // elements beyond the padding that the last windows cover: ceil_mode
};

/// How auto_pad pads: by the attribute pads, not at all, or so that every stride has a position.
enum class AutoPad : std::uint8_t { NotSet, Valid, SameUpper, SameLower };

/// Throws ValueError for an unknown name.
AutoPad auto_pad_of(const NodeContext& node);
/// A list of one integer of at least `smallest` per spatial axis, which is `otherwise` by default.
ir::Ints spatial_integers(const NodeContext& node, const char* name, std::size_t count,
                          std::int64_t otherwise, std::int64_t smallest);
/// The attribute pads: before all axes, then after all axes; zeros by default.
struct SpatialPads {
  ir::Ints low, high;
};
SpatialPads spatial_pads(const NodeContext& node, std::size_t count);
/// The number of spatial axes of x, channels first. Throws ValueError if there is none.
std::size_t spatial_rank(const NodeContext& node, const ir::Value& x);

/// The windows of the node over x, channels first. `sizes`: of the windows.
SlidingWindows sliding_windows(const NodeContext& node, const ir::Value& x, const ir::Dims& sizes);

/// The windows as the last axes: (batch, counts.., channels, sizes..). `padding`: a scalar.
ir::Value windowed(const SlidingWindows& windows, const ir::Value& padding);
/// The coordinate in the input, negative in padding, of the first element of each window along
/// spatial axis i: an int64 vector.
ir::Value first_coordinates(const SlidingWindows& windows, std::size_t i);

}  // namespace kiln::onnx
