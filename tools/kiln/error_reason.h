// The reason of an error, for reports that name no K function.
#pragma once

#include <kiln/error.h>

#include <string>

namespace kiln::tool {

/// Returns "KILN_DUMP has ..." for the message "function: KILN_DUMP has ...".
inline std::string reason_of(const Error& error) {
  const std::string prefix = error.function() + ": ";
  const bool is_prefixed = !error.function().empty() && error.message().starts_with(prefix);
  return is_prefixed ? error.message().substr(prefix.size()) : error.message();
}

}  // namespace kiln::tool
