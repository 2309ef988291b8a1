// What convolutions and pooling share: steps, paddings, and where windows lie along an axis.
#pragma once

#include "core/k/image/data_format_impl.h"

#include <kiln/steps.h>

namespace kiln {

enum class Padding : std::uint8_t { Valid, Same, Causal };

/// ValueError naming `padding` for another name; "causal" is one where `causal` says so.
Padding padding_of(const std::string& name, bool causal = false);

/// One positive number for each of `count` spatial axes. ValueError naming `argument`.
ir::Ints steps_of(const Steps& steps, std::size_t count, const char* argument);

/// Where the windows of each spatial axis lie: how many, and the padding around the elements.
/// `input` is the input, with a guard where only the call can tell that windows fit.
struct Sliding {
  ir::Dims places, low, high;
  ir::Value input;
};
/// Of an input (batch, spatial.., channels). ValueError naming `argument` when windows do not fit.
Sliding sliding(const ir::Value& input, const ir::Dims& windows, const ir::Ints& strides,
                const ir::Ints& dilations, Padding padding, const char* argument);

/// The value with its channels last, and back.
ir::Value channels_to_end(const ir::Value& x, DataFormat format);
ir::Value channels_from_end(const ir::Value& x, DataFormat format);

}  // namespace kiln
