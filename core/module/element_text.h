// Elements of constants as text: shortest decimals that give back the same bits; -0, inf, and nan
// with its bits in hexadecimal unless they are the usual ones.
#pragma once

#include <kiln/dtype.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace kiln::module {

void append_element(std::string& out, DType dtype, const std::byte* element);
/// False when `token` is no value of the dtype.
bool read_element(std::string_view token, DType dtype, std::byte* element);

void append_hex(std::string& out, const std::byte* bytes, std::size_t count);
/// The value of a hexadecimal digit, or -1.
int hex_digit(char digit);

/// In double quotes, with escapes for quotes, backslashes and control characters.
void append_quoted(std::string& out, std::string_view text);

}  // namespace kiln::module
