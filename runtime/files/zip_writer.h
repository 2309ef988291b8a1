// Writes ZIP archives (PKWARE, APPNOTE.TXT 6.3.10) of members that are not compressed. Not by
// minizip, which ends the process when memory is short.
#pragma once

#include "runtime/files/file_io.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kiln::runtime {

class ZipWriter {
 public:
  /// REQUIRES: the file is empty and outlives the object.
  explicit ZipWriter(OutputFile& file) : file_(file) {}

  /// Writes a member of these parts, dated 1 January 1980: the same members give the same bytes.
  /// IoError. REQUIRES: a UTF-8 name of less than 2^16 bytes.
  void add(const std::string& name, std::span<const std::span<const std::byte>> parts);
  /// Writes the directory, which ends the archive. IoError.
  void finish();

 private:
  struct Entry {
    std::string name;
    std::uint32_t checksum = 0;
    std::uint64_t bytes = 0, offset = 0;  // of its content; of its header in the file
  };
  void write(std::span<const std::byte> bytes);

  OutputFile& file_;
  std::uint64_t written_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace kiln::runtime
