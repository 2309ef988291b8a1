// Bytes of others (files, plugins, the user's names) made fit for messages and log lines.
#pragma once

#include <string>
#include <string_view>

namespace kiln {

/// Bytes of the UTF-8 sequence that `bytes` begins with; 0 where there is none. REQUIRES: not
/// empty.
std::size_t utf8_length(std::string_view bytes);
bool is_utf8(std::string_view bytes);

/// One printable line of UTF-8: control characters (zeros and the C1 set included) and bytes that
/// are not UTF-8 become \n, \r, \t or \xNN; a backslash stays.
std::string escaped_text(std::string_view bytes);

/// The same, keeping line ends and tabs.
std::string escaped_lines(std::string_view bytes);

}  // namespace kiln
