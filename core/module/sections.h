// Splits the binary form into its sections and validates each before use. A Cursor reads one
// section and never leaves it. format.h has the layout; read.cpp builds the module.
#pragma once

#include "core/module/format.h"

#include <map>
#include <string>
#include <string_view>

namespace kiln::module {

/// Throws IoError "the module is damaged: MESSAGE".
[[noreturn]] void damaged(const std::string& message);

/// Decodes the bytes of a section, or of a part of one that begins with its length. Throws IoError
/// at their end and for malformed numbers.
class Cursor {
 public:
  Cursor() = default;
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::uint64_t number();
  std::int64_t integer();
  /// A count of items of at least one byte each, at most `limit`.
  std::size_t count(std::size_t limit = SIZE_MAX);
  std::span<const std::byte> raw(std::size_t size);
  std::string text_value();
  /// The bytes of a part, after the length that precedes them. Errors name it: "the attribute
  /// list of op dot ends early". REQUIRES: the texts outlive the result.
  Cursor part(std::string_view name, std::string_view op = {});
  /// Throws IoError unless all bytes are read.
  void require_end() const;

 private:
  [[noreturn]] void ends_early() const;
  std::string name() const;

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  std::string_view name_ = "a section", op_ = {};
};

/// Splits `bytes` by its directory. Throws IoError unless the header and checksums are right and
/// the sections are contiguous.
std::map<Section, Cursor> sections_of(std::span<const std::byte> bytes);

}  // namespace kiln::module
