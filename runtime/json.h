// RapidJSON, set up so that no input can end the process: its assertion throws, its memory throws
// when there is none, and parsing is iterative under a limit on depth. Include this instead of
// RapidJSON's own headers.
#pragma once

#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#define RAPIDJSON_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : throw std::logic_error("json: " #condition))
#define RAPIDJSON_NOEXCEPT_ASSERT(condition) static_cast<void>(0)
#define RAPIDJSON_HAS_STDSTRING 1
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

namespace kiln::runtime {

inline constexpr int kMaxJsonDepth = 64;
inline constexpr unsigned kJsonFlags = rapidjson::kParseIterativeFlag |
                                       rapidjson::kParseFullPrecisionFlag |
                                       rapidjson::kParseValidateEncodingFlag;

/// Allocates with malloc and throws std::bad_alloc. RapidJSON uses the result of an allocator
/// unchecked, and its default allocators return null: each of its types is instantiated with this.
class JsonAllocator {
 public:
  static constexpr bool kNeedFree = true;
  void* Malloc(std::size_t size) { return size == 0 ? nullptr : checked(std::malloc(size)); }
  void* Realloc(void* old, std::size_t, std::size_t size) {
    if (size != 0) return checked(std::realloc(old, size));
    std::free(old);
    return nullptr;
  }
  static void Free(void* memory) { std::free(memory); }

 private:
  static void* checked(void* memory) { return memory ? memory : throw std::bad_alloc(); }
};

using JsonDocument = rapidjson::GenericDocument<
    rapidjson::UTF8<>, rapidjson::MemoryPoolAllocator<JsonAllocator>, JsonAllocator>;
using JsonValue = JsonDocument::ValueType;
using JsonBuffer = rapidjson::GenericStringBuffer<rapidjson::UTF8<>, JsonAllocator>;
/// Rejects strings that are not UTF-8: Key and String return false.
using JsonWriter = rapidjson::Writer<JsonBuffer, rapidjson::UTF8<>, rapidjson::UTF8<>,
                                     JsonAllocator, rapidjson::kWriteValidateEncodingFlag>;

/// Throws IoError "<what> is malformed at line L, column C: <why>"; also for text after the value
/// and for nesting deeper than kMaxJsonDepth.
JsonDocument parse_json(std::string_view text, const std::string& what);

/// The error that parse_json throws; columns count bytes from 1.
[[noreturn]] void malformed_json(std::string_view text, std::size_t offset, const std::string& what,
                                 const std::string& why);

/// "an object", "a string", ...: for messages about mistyped values.
const char* json_kind(const JsonValue& value);

/// Parses into events for a handler that refuses what it does not expect by throwing: nothing is
/// stored, so memory is bounded by the longest string. Otherwise as parse_json.
template <class Handler>
void parse_json_events(std::string_view text, const std::string& what, Handler& handler) {
  const std::size_t zero = text.find('\0');  // the parser would take it for the end
  if (zero != text.npos) malformed_json(text, zero, what, "a byte is zero");
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, JsonAllocator> reader;
  const rapidjson::ParseResult result = reader.template Parse<kJsonFlags>(stream, handler);
  if (result.IsError()) {
    malformed_json(text, result.Offset(), what, rapidjson::GetParseError_En(result.Code()));
  }
}

}  // namespace kiln::runtime
