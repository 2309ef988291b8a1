// The contents of members of ZIP archives.
#pragma once

#include "runtime/files/zip_file.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace kiln::runtime {

/// The content of a member, read from its beginning.
class ZipStream {
 public:
  /// IoError as for ZipFile. REQUIRES: the archive and the member outlive the object.
  ZipStream(const ZipFile& archive, const ZipMember& member);
  ~ZipStream();
  ZipStream(const ZipStream&) = delete;
  ZipStream& operator=(const ZipStream&) = delete;

  /// Reads the next to.size() bytes. IoError if fewer are left.
  void read(std::span<std::byte> to);
  /// IoError if the content has another checksum. REQUIRES: all of it has been read.
  void finish() const;

 private:
  struct Inflater;
  void read_deflated(std::span<std::byte> to);

  const ZipFile& archive_;
  const ZipMember& member_;
  std::uint64_t at_ = 0, stored_left_ = 0;  // the bytes of the file that are not read yet
  std::uint32_t checksum_ = 0;
  std::unique_ptr<Inflater> inflater_;  // of a deflated member
};

}  // namespace kiln::runtime
