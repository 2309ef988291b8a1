// The directories of ZIP archives. They are untrusted: sizes that a member declares are checked
// against the file before anything is allocated for them. Not by minizip, which on 64-bit machines
// ignores ZIP64's sizes and offsets of members, and takes an archive without members for damaged.
#pragma once

#include "runtime/files/file_io.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::runtime {

struct ZipMember {
  std::string name;  // UTF-8, distinct in the archive
  std::uint64_t bytes = 0;  // of its content
  std::uint64_t stored_bytes = 0;  // of its content in the file
  std::uint64_t header = 0;  // offset of its local header
  std::uint32_t checksum = 0;
  bool is_deflated = false;
};

/// An archive, opened for reading.
class ZipFile {
 public:
  /// Reads the directory. IoError "<path> ..." for a file that is no archive or is damaged, for a
  /// member that is encrypted or compressed by another method than deflate, and for sizes that the
  /// file cannot hold. REQUIRES: `file` outlives the object.
  explicit ZipFile(const InputFile& file);

  const InputFile& file() const { return file_; }
  const std::vector<ZipMember>& members() const { return members_; }
  /// Throws IoError "<path> is damaged: member 'x.npy' <message>".
  [[noreturn]] void reject(std::string_view member, const std::string& message) const;

 private:
  /// A part of the file, and the number of entries that it declares.
  struct Directory {
    std::uint64_t begin = 0, end = 0, count = 0;
  };
  Directory find_directory() const;
  /// Reads the record at the end of the archive; false if `at` is not the offset of one.
  bool read_end(std::uint64_t at, Directory& directory) const;
  /// The same for ZIP64, whose record the locator at that offset gives.
  bool read_end64(std::uint64_t locator, Directory& directory) const;
  /// Reads the entry at `at`, which it sets to the next one.
  ZipMember read_entry(std::uint64_t& at, const Directory& directory) const;
  void require_supported(const ZipMember& member, std::uint64_t flags, std::uint64_t method) const;
  void require_distinct_names() const;

  const InputFile& file_;
  std::vector<ZipMember> members_;
};

}  // namespace kiln::runtime
