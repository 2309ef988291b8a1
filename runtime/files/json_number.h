// Conversion of JSON number tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace kiln::runtime {

using JsonNumber = std::variant<std::uint64_t, std::int64_t, double>;

/// The value of a JSON number: an integer where 64 bits hold it, else the nearest double, which is
/// zero for a number that is too small. Nothing when it is larger than every double.
std::optional<JsonNumber> json_number(std::string_view token);

/// The text with the exponents of zeros replaced by spaces, as RapidJSON calls 0e400 too big;
/// empty when there are none.
std::string without_exponents_of_zeros(std::string_view text);

}  // namespace kiln::runtime
