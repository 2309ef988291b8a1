// Converts JSON number tokens exactly, without a limit on their length.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace kiln::runtime {

using JsonNumber = std::variant<std::uint64_t, std::int64_t, double>;

/// Converts a JSON number: to an integer if 64 bits hold it, else to the nearest double, 0 on
/// underflow. Returns nothing on overflow.
std::optional<JsonNumber> json_number(std::string_view token);

/// Replaces the exponents of zeros by spaces, as RapidJSON rejects 0e400 as too big; returns an
/// empty string if there are none.
std::string without_exponents_of_zeros(std::string_view text);

}  // namespace kiln::runtime
