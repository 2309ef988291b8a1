// Texts that plugins report.
#pragma once

#include "backends/abi/kiln_backend_structs.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace kiln::runtime {

/// The text as a plugin gave it. BrokenStruct where it is longer than `most`, at the address null,
/// or not UTF-8; `name` is the field's.
std::string_view reported_text(kiln_string given, const char* name,
                               std::uint64_t most = KILN_MAX_TEXT);

/// The same for people to read: one printable line, the rest escaped.
std::string shown_text(kiln_string given, const char* name, std::uint64_t most = KILN_MAX_TEXT);

}  // namespace kiln::runtime
