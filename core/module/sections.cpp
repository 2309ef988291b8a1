// Decodes numbers and validates the directory: offsets, sizes and checksums.
#include "core/module/sections.h"

#include "core/types/text.h"

#include <kiln/error.h>

#include <bit>
#include <cstring>

namespace kiln::module {
namespace {

static_assert(std::endian::native == std::endian::little);

template <class Fixed>
Fixed fixed_at(std::span<const std::byte> bytes, std::size_t at) {
  Fixed value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

}  // namespace

[[noreturn]] void damaged(const std::string& message) {
  throw IoError("", "", text("the module is damaged: ", message));
}

std::uint64_t Cursor::number() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at_ == bytes_.size()) ends_early();
    const auto byte = static_cast<std::uint64_t>(bytes_[at_++]);
    if (shift == 63 && byte > 1) break;  // the tenth byte holds the last of 64 bits
    value |= (byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  damaged("a number is too long");
}

std::int64_t Cursor::integer() {
  const std::uint64_t bits = number();
  return static_cast<std::int64_t>((bits >> 1) ^ (~(bits & 1) + 1));
}

std::size_t Cursor::count(std::size_t limit) {
  const std::uint64_t value = number();
  if (value > bytes_.size() - at_ || value > limit) damaged(text("a count of ", value));
  return static_cast<std::size_t>(value);
}

std::span<const std::byte> Cursor::raw(std::size_t size) {
  if (size > bytes_.size() - at_) ends_early();
  const auto part = bytes_.subspan(at_, size);
  at_ += size;
  return part;
}

std::string Cursor::text_value() {
  const auto part = raw(count());
  return {reinterpret_cast<const char*>(part.data()), part.size()};
}

Cursor Cursor::part(std::string_view name, std::string_view op) {
  const std::uint64_t length = number();
  Cursor part;
  part.name_ = name;
  part.op_ = op;
  const std::size_t left = bytes_.size() - at_;
  if (length > left) {
    damaged(text("the length of ", part.name(), " is ", length, ", but ", left, " bytes follow"));
  }
  part.bytes_ = raw(static_cast<std::size_t>(length));
  return part;
}

void Cursor::require_end() const {
  if (at_ == bytes_.size()) return;
  damaged(text("of ", bytes_.size(), " bytes of ", name(), ", only ", at_, " are used"));
}

void Cursor::ends_early() const { damaged(name() + " ends early"); }

std::string Cursor::name() const {
  return op_.empty() ? std::string(name_) : text(name_, " of op ", op_);
}

std::map<Section, Cursor> sections_of(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderBytes || std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0) {
    damaged("it does not begin with the magic bytes");
  }
  const auto major = fixed_at<std::uint16_t>(bytes, 8);
  const auto minor = fixed_at<std::uint16_t>(bytes, 10);
  if (major != kFormatMajor || minor != kFormatMinor) {
    throw IoError("", "",
                  text("the module has format ", major, ".", minor, ", but ", kFormatMajor, ".",
                       kFormatMinor, " is read"));
  }
  const std::size_t count = fixed_at<std::uint32_t>(bytes, 12);
  if (bytes.size() < kHeaderBytes + count * kEntryBytes) damaged("its directory is truncated");
  std::map<Section, Cursor> sections;
  std::uint64_t end = kHeaderBytes + count * kEntryBytes;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = kHeaderBytes + i * kEntryBytes;
    const auto id = static_cast<Section>(fixed_at<std::uint32_t>(bytes, at));
    const auto offset = fixed_at<std::uint64_t>(bytes, at + 4);
    const auto size = fixed_at<std::uint64_t>(bytes, at + 12);
    if (offset != end || size > bytes.size() - end) damaged("a section is out of bounds");
    const auto part = bytes.subspan(offset, size);
    if (checksum(part) != fixed_at<std::uint64_t>(bytes, at + 20)) {
      damaged(text("the checksum of section ", static_cast<std::uint32_t>(id), " is wrong"));
    }
    if (id < Section::Names || id > Section::Constants) damaged("a section has an unknown kind");
    if (!sections.emplace(id, Cursor(part)).second) damaged("a section occurs twice");
    end += size;
  }
  if (end != bytes.size()) damaged("it has trailing bytes");
  return sections;
}

}  // namespace kiln::module
