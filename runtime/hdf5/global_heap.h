// Reads texts of variable length, which are in collections of a file's global heap, without HDF5:
// up to version 1.10 at least, HDF5 allocates the size in the reference and copies the size in the
// heap.
#pragma once

#include "runtime/hdf5/file_bytes.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace kiln::hdf5 {

class GlobalHeap {
 public:
  /// REQUIRES: `file` outlives the object; its addresses and lengths have 8 bytes.
  explicit GlobalHeap(const FileBytes& file) : file_(file) {}

  /// The text of the next reference: a length, the address of a collection, a number in it.
  /// Rejection for a damaged collection, and for collections of more bytes than the file has.
  std::string text(Bytes& reference);

 private:
  /// The offset and size of an object in its collection.
  using ByteRange = std::pair<std::size_t, std::size_t>;
  struct Collection {
    std::string bytes;
    std::map<std::uint64_t, ByteRange> objects;  // by number
  };
  /// The collection at the address, which the first call reads.
  const Collection& collection(std::uint64_t address);

  const FileBytes& file_;
  std::uint64_t loaded_ = 0;  // bytes of the collections
  std::map<std::uint64_t, Collection> collections_;  // by address
};

}  // namespace kiln::hdf5
