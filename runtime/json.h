// RapidJSON, set up so that no input can end the process: its assertion throws, and parsing is
// iterative under a limit on depth. Include this instead of RapidJSON's own headers.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#define RAPIDJSON_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : throw std::logic_error("json: " #condition))
#define RAPIDJSON_NOEXCEPT_ASSERT(condition) static_cast<void>(0)
#define RAPIDJSON_HAS_STDSTRING 1
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

namespace kiln::runtime {

inline constexpr int kMaxJsonDepth = 64;

/// Throws IoError "<what> is malformed at line L, column C: <why>"; also for text after the value
/// and for nesting deeper than kMaxJsonDepth.
rapidjson::Document parse_json(std::string_view text, const std::string& what);

/// "an object", "a string", ...: for messages about mistyped values.
const char* json_kind(const rapidjson::Value& value);

}  // namespace kiln::runtime
