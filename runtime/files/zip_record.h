// A record of a ZIP archive: some bytes of the file with little-endian numbers.
#pragma once

#include "runtime/files/file_io.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kiln::runtime {

class ZipRecord {
 public:
  /// Reads `bytes` bytes at that offset. IoError if the file has fewer.
  ZipRecord(const InputFile& file, std::uint64_t offset, std::size_t bytes) : bytes_(bytes, '\0') {
    file.read(offset, std::as_writable_bytes(std::span(bytes_)));
  }

  std::size_t size() const { return bytes_.size(); }
  std::string_view characters() const { return bytes_; }
  // REQUIRES: the number is within the record.
  std::uint64_t u16(std::size_t at) const { return number(at, 2); }
  std::uint64_t u32(std::size_t at) const { return number(at, 4); }
  std::uint64_t u64(std::size_t at) const { return number(at, 8); }

 private:
  std::uint64_t number(std::size_t at, std::size_t width) const {
    std::uint64_t value = 0;
    for (std::size_t i = width; i-- > 0;) {
      value = value << 8 | static_cast<unsigned char>(bytes_[at + i]);
    }
    return value;
  }

  std::string bytes_;
};

}  // namespace kiln::runtime
