// Validates texts that plugins report.
#pragma once

#include "backends/abi/kiln_backend_structs.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace kiln::runtime {

/// Returns the text of a plugin's field `name`. BrokenStruct if it is longer than `max_bytes`, has
/// a null address with a size, or is not UTF-8.
std::string_view reported_text(kiln_string given, const char* name,
                               std::uint64_t max_bytes = KILN_MAX_TEXT);

/// As reported_text, escaped to one printable line.
std::string shown_text(kiln_string given, const char* name,
                       std::uint64_t max_bytes = KILN_MAX_TEXT);

}  // namespace kiln::runtime
