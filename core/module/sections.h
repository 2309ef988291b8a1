// The binary form cut into its sections, each checked before a byte of it is believed. A Cursor
// reads one section and never leaves it. read.cpp makes a module of them; format.h has the layout.
#pragma once

#include "core/module/format.h"

#include <map>
#include <string>

namespace kiln::module {

/// IoError: the bytes are no module.
[[noreturn]] void damaged(const std::string& fact);

class Cursor {
 public:
  Cursor() = default;
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::uint64_t number();
  std::int64_t integer();
  /// A count of things that take at least one byte each.
  std::size_t count(std::size_t limit = SIZE_MAX);
  std::span<const std::byte> raw(std::size_t size);
  std::string text_value();
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

/// Whether this version knows what such a section holds; others come from newer writers.
inline bool is_known(Section id) { return id >= Section::Names && id <= Section::Constants; }

/// The minor version of the format. REQUIRES: sections_of(bytes) has not thrown.
std::uint16_t minor_of(std::span<const std::byte> bytes);
/// Header, directory and checksums are right, and the sections lie side by side. Throws IoError.
std::map<Section, Cursor> sections_of(std::span<const std::byte> bytes);

}  // namespace kiln::module
