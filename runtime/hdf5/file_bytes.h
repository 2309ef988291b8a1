// Parts of a file, read without HDF5, with every size checked.
#pragma once

#include "runtime/hdf5/handle.h"
#include "runtime/hdf5/hdf5_interface.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::hdf5 {

/// Some bytes of a file, read from the first on. Each function rejects a read beyond the last.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::vector<unsigned char> bytes) : bytes_(std::move(bytes)) {}

  std::size_t size() const { return bytes_.size(); }
  std::size_t left() const { return bytes_.size() - at_; }
  std::size_t at() const { return at_; }
  void skip(std::size_t count);
  /// Reads a little-endian number of `width` bytes, at most 8.
  std::uint64_t number(std::size_t width);
  /// Reads `count` bytes: a view that is valid while this object exists.
  std::string_view text(std::size_t count);
  /// Reads a copy of `count` bytes.
  Bytes part(std::size_t count);

 private:
  std::vector<unsigned char> bytes_;
  std::size_t at_ = 0;
};

/// The bytes of a file by HDF5's addresses.
class FileBytes {
 public:
  /// `base`: the offset of address 0 in the file, behind the user block. REQUIRES: the stream
  /// outlives the object.
  FileBytes(const kiln_hdf5_stream& stream, std::uint64_t base) : stream_(stream), base_(base) {}

  std::uint64_t size() const { return stream_.bytes; }
  /// Reads `count` bytes from the address on. Rejection if they are not in the file.
  Bytes read(std::uint64_t address, std::uint64_t count) const;

 private:
  const kiln_hdf5_stream& stream_;
  std::uint64_t base_;
};

}  // namespace kiln::hdf5
