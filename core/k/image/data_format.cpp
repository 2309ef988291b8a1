// Parses data formats, and checks the rank of images and volumes.
#include "core/k/image/data_format_impl.h"

#include <kiln/context.h>

namespace kiln {

DataFormat data_format_of(const std::string& name) {
  if (name == "channels_last") return DataFormat::ChannelsLast;
  if (name == "channels_first") return DataFormat::ChannelsFirst;
  Call::value_error("data_format", text("data_format '", name,
                                        "' is neither 'channels_last' nor 'channels_first'"));
}

DataFormat data_format_of(const std::optional<StringArgument>& name) {
  return name ? data_format_of(*name) : data_format_of(image_data_format());
}

void require_rank(const ir::Value& x, int rank, const char* argument) {
  if (x.rank() == rank) return;
  Call::value_error(argument, text(argument, " has rank ", x.rank(), ", not ", rank, " (", argument,
                                   " ", x.type(), ")"));
}

}  // namespace kiln
