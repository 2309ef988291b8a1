// Makes bytes from outside (files, plugins, user-given names) safe to print in messages and logs.
#pragma once

#include <string>
#include <string_view>

namespace kiln {

/// The length in bytes of the UTF-8 sequence at the start of `bytes`; 0 if it is malformed.
/// REQUIRES: `bytes` is not empty.
std::size_t utf8_length(std::string_view bytes);
/// Whether all of `bytes` is valid UTF-8.
bool is_utf8(std::string_view bytes);

/// Returns one printable line of UTF-8: control characters (NUL and the C1 set included) and
/// invalid bytes become \n, \r, \t or \xNN. Backslashes are not escaped.
std::string escaped_text(std::string_view bytes);

/// Returns `bytes` if they are UTF-8, else escaped_text() of them.
std::string utf8_text(std::string_view bytes);

/// As escaped_text, but keeps newlines and tabs.
std::string escaped_lines(std::string_view bytes);

}  // namespace kiln
