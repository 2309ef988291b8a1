// ZIP archives, read by minizip from an InputFile. They are untrusted: sizes that a member declares
// are checked against the file before anything is allocated for them.
#pragma once

#include "runtime/files/file_io.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::runtime {

struct ZipMember {
  std::string name;  // UTF-8, distinct in the archive
  std::uint64_t bytes = 0;  // of its content
  std::uint64_t directory_offset = 0;  // of its entry in the archive's directory
  std::uint64_t index = 0;  // of that entry
};

/// An archive, opened for reading.
class ZipFile {
 public:
  /// Reads the directory. IoError "<path> ..." for a file that is no archive or is damaged, for a
  /// member that is encrypted or compressed by another method than deflate, and for sizes that the
  /// file cannot hold. REQUIRES: `file` outlives the object.
  explicit ZipFile(const InputFile& file);
  ~ZipFile();
  ZipFile(const ZipFile&) = delete;
  ZipFile& operator=(const ZipFile&) = delete;

  const std::vector<ZipMember>& members() const { return members_; }

 private:
  friend class ZipStream;
  struct Source;
  /// Reads the entry at which minizip is. `unclaimed_bytes`: of the file, that no member
  /// has so far.
  ZipMember read_entry(std::uint64_t& unclaimed_bytes);
  void require_distinct_names() const;
  /// Checks that the file ends with the archive's last record and its comment of that size.
  void require_whole_end(std::uint64_t comment) const;
  [[noreturn]] void reject(std::string_view subject, const std::string& message) const;

  const InputFile& file_;
  std::unique_ptr<Source> source_;
  std::vector<ZipMember> members_;
};

/// The content of a member, read from its beginning. One at a time in an archive.
class ZipStream {
 public:
  /// IoError as for ZipFile.
  ZipStream(const ZipFile& archive, const ZipMember& member);
  ~ZipStream();
  ZipStream(const ZipStream&) = delete;
  ZipStream& operator=(const ZipStream&) = delete;

  /// Reads the next to.size() bytes. IoError if fewer are left.
  void read(std::span<std::byte> to);
  /// IoError if the content has another checksum. REQUIRES: all of it has been read.
  void finish();

 private:
  const ZipFile& archive_;
  const ZipMember& member_;
  bool is_open_ = false;
};

}  // namespace kiln::runtime
