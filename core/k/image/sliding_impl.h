// Sliding windows of convolutions and pooling: steps, padding, positions.
#pragma once

#include "core/k/image/data_format_impl.h"

#include <kiln/steps.h>

namespace kiln {

enum class Padding : std::uint8_t { Valid, Same, Causal };

/// Parses a padding; `causal`: whether "causal" is allowed. Throws ValueError, which names
/// `padding`.
Padding padding_of(const std::string& name, bool causal = false);

/// One positive number per spatial axis, of `count`. Throws ValueError, which names `argument`.
ir::Ints steps_of(const Steps& steps, std::size_t count, const char* argument);

/// Window positions and padding, per spatial axis.
struct Sliding {
  ir::Dims positions;  // how many
  ir::Dims low, high;  // zeros before and after the elements
  ir::Value input;     // guarded: symbolic sizes must fit the windows
};
/// For an input (batch, spatial.., channels). Throws ValueError, which names `argument`, if windows
/// do not fit.
Sliding sliding_of(const ir::Value& input, const ir::Dims& windows, const ir::Ints& strides,
                   const ir::Ints& dilations, Padding padding, const char* argument);

/// Permutes x to channels last, and back to `format`.
ir::Value channels_to_end(const ir::Value& x, DataFormat format);
ir::Value channels_from_end(const ir::Value& x, DataFormat format);

}  // namespace kiln
