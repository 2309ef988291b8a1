// Converts elements of constants to text and back: the shortest decimal that round-trips, -0, inf,
// and nan, with its bits in hexadecimal unless it is the default quiet NaN.
#pragma once

#include <kiln/dtype.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace kiln::module {

/// Appends the text of one element.
void append_element(std::string& out, DType dtype, const std::byte* element);
/// Parses one element; false if `token` is not a value of the dtype.
bool read_element(std::string_view token, DType dtype, std::byte* element);

/// Appends two lower-case digits per byte.
void append_hex(std::string& out, const std::byte* bytes, std::size_t count);
/// The value of a hexadecimal digit, or -1.
int hex_digit(char digit);

/// Appends `text` in double quotes, with escapes for quotes, backslashes and control characters.
void append_quoted(std::string& out, std::string_view text);

}  // namespace kiln::module
