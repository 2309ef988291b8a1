// The groups and datasets of an HDF5 file.
#pragma once

#include "runtime/hdf5/hdf5_interface.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::runtime {

/// The bytes of an HDF5 file.
class Hdf5Bytes {
 public:
  Hdf5Bytes() = default;
  virtual ~Hdf5Bytes() = default;
  Hdf5Bytes(const Hdf5Bytes&) = delete;
  Hdf5Bytes& operator=(const Hdf5Bytes&) = delete;

  virtual std::uint64_t size() const = 0;
  /// IoError. REQUIRES: the bytes are in the file.
  virtual void read(std::uint64_t offset, std::span<std::byte> to) const = 0;
};

struct Hdf5Object {
  std::string path;  // "layers/dense/vars/0"; of the root: ""
  bool is_dataset = false;
  std::string dtype;        // of a dataset, as NumPy's: "<f4"
  std::string other_dtype;  // instead of `dtype`: a description of another type
  std::vector<std::int64_t> dims;
};

/// A file, opened for reading.
class Hdf5Reader {
 public:
  /// IoError "<path> ..." for a damaged file and for what is not read: see runtime/hdf5/reader.h.
  Hdf5Reader(std::string path, std::unique_ptr<Hdf5Bytes> bytes);
  ~Hdf5Reader();
  Hdf5Reader(const Hdf5Reader&) = delete;
  Hdf5Reader& operator=(const Hdf5Reader&) = delete;

  /// The root is the first; those of a group follow it, sorted by their names.
  const std::vector<Hdf5Object>& objects() const { return objects_; }
  /// The texts of an attribute of objects()[object]; none if it lacks it. IoError if it has others.
  std::vector<std::string> texts(std::size_t object, const char* attribute) const;
  /// Reads the elements of a dataset. IoError. REQUIRES: it has a `dtype`; `to` has their size.
  void read(std::size_t object, std::span<std::byte> to) const;
  /// Throws IoError "<path> <message>".
  [[noreturn]] void reject(const std::string& message) const;

 private:
  static bool read_bytes(void* context, std::uint64_t offset, void* to, std::size_t bytes);
  void add_objects();

  const std::string path_;
  const std::unique_ptr<Hdf5Bytes> bytes_;
  const kiln_hdf5_api& library_;
  const kiln_hdf5_stream stream_;
  mutable std::exception_ptr thrown_;  // by read_bytes() in the call of the library
  kiln_hdf5_file* file_ = nullptr;
  std::vector<Hdf5Object> objects_;
};

}  // namespace kiln::runtime
