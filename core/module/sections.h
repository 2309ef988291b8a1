// Splits the binary form into its sections and validates each before use. A Cursor reads one
// section and never leaves it. format.h has the layout; read.cpp builds the module.
#pragma once

#include "core/module/format.h"

#include <map>
#include <string>

namespace kiln::module {

/// Throws IoError "the module is damaged: MESSAGE".
[[noreturn]] void damaged(const std::string& message);

/// Decodes the bytes of one section. Throws IoError at its end and for malformed numbers.
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
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

/// Splits `bytes` by its directory. Throws IoError unless the header and checksums are right and
/// the sections are contiguous.
std::map<Section, Cursor> sections_of(std::span<const std::byte> bytes);

}  // namespace kiln::module
