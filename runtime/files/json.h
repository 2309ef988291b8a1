// RapidJSON, configured so that no input can abort the process: its assertions throw, allocation
// failures throw, parsing is iterative with a depth limit, and json_number converts numbers
// (RapidJSON's own conversion overflows its stack for long ones and reads 0e77 as 1e263). Include
// this header instead of RapidJSON's.
#pragma once

#include "runtime/files/json_number.h"

#include <cstdint>
#include <cstdlib>
#include <limits>
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
                                       rapidjson::kParseNumbersAsStringsFlag |
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

using JsonDocument =
    rapidjson::GenericDocument<rapidjson::UTF8<>, rapidjson::MemoryPoolAllocator<JsonAllocator>,
                               JsonAllocator>;
using JsonValue = JsonDocument::ValueType;
using JsonBuffer = rapidjson::GenericStringBuffer<rapidjson::UTF8<>, JsonAllocator>;
/// Rejects strings that are not UTF-8: Key and String return false.
using JsonWriter = rapidjson::Writer<JsonBuffer, rapidjson::UTF8<>, rapidjson::UTF8<>,
                                     JsonAllocator, rapidjson::kWriteValidateEncodingFlag>;

/// Parses a JSON text. IoError "<what> is malformed at line L, column C: <why>", also for text
/// after the value and for nesting deeper than kMaxJsonDepth.
JsonDocument parse_json(std::string_view text, const std::string& what);

/// Throws the IoError of parse_json; columns count bytes from 1.
[[noreturn]] void malformed_json(std::string_view text, std::size_t offset, const std::string& what,
                                 const std::string& why);

/// Names the kind of a value for messages: "an object", "a string".
const char* json_kind(const JsonValue& value);

/// Forwards parser events to a handler, with numbers converted by json_number.
template <class Handler>
class NumberEvents {
 public:
  using Size = rapidjson::SizeType;
  explicit NumberEvents(Handler& handler) : handler_(handler) {}

  /// Whether a number beyond the range of double ended the parsing.
  bool too_big() const { return too_big_; }

  bool RawNumber(const char* chars, Size length, bool) {
    const auto number = json_number({chars, length});
    too_big_ = !number;
    return number && std::visit([&](auto value) { return send(value); }, *number);
  }
  bool Null() { return handler_.Null(); }
  bool Bool(bool value) { return handler_.Bool(value); }
  bool Int(int value) { return handler_.Int(value); }
  bool Uint(unsigned value) { return handler_.Uint(value); }
  bool Int64(std::int64_t value) { return handler_.Int64(value); }
  bool Uint64(std::uint64_t value) { return handler_.Uint64(value); }
  bool Double(double value) { return handler_.Double(value); }
  bool String(const char* chars, Size length, bool copy) {
    return handler_.String(chars, length, copy);
  }
  bool StartObject() { return handler_.StartObject(); }
  bool Key(const char* chars, Size length, bool copy) { return handler_.Key(chars, length, copy); }
  bool EndObject(Size count) { return handler_.EndObject(count); }
  bool StartArray() { return handler_.StartArray(); }
  bool EndArray(Size count) { return handler_.EndArray(count); }

 private:
  bool send(double value) { return handler_.Double(value); }
  bool send(std::uint64_t value) {
    if (value > std::numeric_limits<unsigned>::max()) return handler_.Uint64(value);
    return handler_.Uint(static_cast<unsigned>(value));
  }
  bool send(std::int64_t value) {
    if (value < std::numeric_limits<int>::min()) return handler_.Int64(value);
    return handler_.Int(static_cast<int>(value));
  }

  Handler& handler_;
  bool too_big_ = false;
};

/// Parses into events for a handler that throws for unexpected ones. Stores nothing, so that memory
/// is bounded by the longest string. Otherwise as parse_json.
template <class Handler>
void parse_json_events(std::string_view text, const std::string& what, Handler& handler) {
  const std::size_t zero = text.find('\0');  // the parser would take it for the end
  if (zero != text.npos) malformed_json(text, zero, what, "a byte is zero");
  const std::string changed = without_exponents_of_zeros(text);
  const std::string_view parsed = changed.empty() ? text : changed;
  rapidjson::MemoryStream stream(parsed.data(), parsed.size());
  rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, JsonAllocator> reader;
  NumberEvents<Handler> events(handler);
  const rapidjson::ParseResult result = reader.template Parse<kJsonFlags>(stream, events);
  if (!result.IsError()) return;
  const auto code = events.too_big() ? rapidjson::kParseErrorNumberTooBig : result.Code();
  malformed_json(text, result.Offset(), what, rapidjson::GetParseError_En(code));
}

}  // namespace kiln::runtime
