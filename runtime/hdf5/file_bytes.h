// Parts of a file, read without HDF5, with every size checked.
#pragma once

#include "runtime/hdf5/handle.h"
#include "runtime/hdf5/hdf5_interface.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::hdf5 {

/// Some bytes of a file, read in their order: little-endian numbers.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::vector<unsigned char> bytes) : bytes_(std::move(bytes)) {}

  std::size_t size() const { return bytes_.size(); }
  std::size_t left() const { return bytes_.size() - at_; }
  std::size_t at() const { return at_; }
  /// Rejection if fewer are left.
  void skip(std::size_t count);
  std::uint64_t number(std::size_t width);
  std::string_view text(std::size_t count);
  /// The next `count` bytes, of which the rest of this object begins behind.
  Bytes part(std::size_t count);

 private:
  std::vector<unsigned char> bytes_;
  std::size_t at_ = 0;
};

class FileBytes {
 public:
  /// `base`: the offset of address 0. REQUIRES: the stream outlives the object.
  FileBytes(const kiln_hdf5_stream& stream, std::uint64_t base) : stream_(stream), base_(base) {}

  std::uint64_t size() const { return stream_.bytes; }
  /// Rejection if they are not in the file.
  Bytes read(std::uint64_t address, std::uint64_t count) const;

 private:
  const kiln_hdf5_stream& stream_;
  std::uint64_t base_;
};

}  // namespace kiln::hdf5
