// The layout of images: the argument data_format, or image_data_format() if it is unset.
#pragma once

#include "core/k/base/tensor_impl.h"

#include <optional>
#include <string>

namespace kiln {

enum class DataFormat : std::uint8_t { ChannelsLast, ChannelsFirst };

/// Parses a data format. Throws ValueError, which names `data_format`, for an unknown one.
DataFormat data_format_of(const std::string& name);
DataFormat data_format_of(const std::optional<StringArgument>& name);

/// The first spatial axis: 1, or 2 for channels_first.
inline int first_spatial_axis(DataFormat format) {
  return format == DataFormat::ChannelsFirst ? 2 : 1;
}

/// Throws ValueError, which names `argument`, unless x has that rank.
void require_rank(const ir::Value& x, int rank, const char* argument = "x");

}  // namespace kiln
