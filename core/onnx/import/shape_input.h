// Sizes and positions that are operands of ONNX nodes.
#pragma once

#include "core/onnx/import/node_context.h"

namespace kiln::onnx {

/// Exporters write "to the end" as the largest or smallest integer of 32 or 64 bits, which
/// arithmetic of dims must not meet: numbers from here on are ends.
inline constexpr std::int64_t kFarEnd = std::int64_t{1} << 31;

/// The integers of input i as dims: static or symbolic where they follow from constants and sizes,
/// else data-dependent. Throws ValueError, which calls the input `name`, for a vector of unknown
/// length.
ir::Dims shape_input(NodeContext& node, std::size_t i, const char* name);

/// A position along an axis of `size` elements, counted from the end if it is known to be negative.
/// A position of unknown sign counts from the start.
ir::Dim position_of(const ir::Dim& given, const ir::Dim& size);
/// max(min(position, high), low), which large known numbers do not exceed.
ir::Dim clamped(const ir::Dim& position, const ir::Dim& low, const ir::Dim& high);

}  // namespace kiln::onnx
