// Where the axes of images lie: the argument data_format, or image_data_format() when it is unset.
#pragma once

#include "core/k/frame/tensor_impl.h"

#include <optional>
#include <string>

namespace kiln {

enum class DataFormat : std::uint8_t { ChannelsLast, ChannelsFirst };

/// ValueError naming `data_format` for another name.
DataFormat data_format_of(const std::string& name);
DataFormat data_format_of(const std::optional<std::string>& name);

/// The first spatial axis: 1, or 2 after the channels.
inline int first_spatial_axis(DataFormat format) {
  return format == DataFormat::ChannelsFirst ? 2 : 1;
}

/// ValueError naming `argument` unless x has that rank.
void require_rank(const ir::Value& x, int rank, const char* argument = "x");

}  // namespace kiln
