// The header of NumPy's .npy format: "\x93NUMPY", the version, the length of a text, and the text
// of a Python dict {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }. Files are
// untrusted. Not a library: Debian's readers of it allocate what a header declares and evaluate its
// text.
#pragma once

#include "runtime/files/file_io.h"
#include "runtime/weights/tensor_entry.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace kiln::runtime {

struct NpyHeader {
  TensorEntry entry;  // without its name
  bool fortran_order = false;  // the first axis varies fastest
  bool is_swapped = false;  // big-endian elements
  std::uint64_t bytes = 0;  // of the header; the elements follow
  std::uint64_t data_bytes = 0;  // of the elements, if Kiln has their dtype
};

/// The bytes of a file or of a member of an archive, in their order.
class NpySource {
 public:
  /// `subject`: begins messages after the path: "member 'x.npy' "; empty for a whole file.
  NpySource(const InputFile& file, std::string subject)
      : file_(file), subject_(std::move(subject)) {}
  virtual ~NpySource() = default;
  NpySource(const NpySource&) = delete;
  NpySource& operator=(const NpySource&) = delete;

  /// Reads the next bytes. IoError if fewer are left.
  virtual void read(std::span<std::byte> to) = 0;
  /// Throws IoError "<path> <subject><message>".
  [[noreturn]] void reject(const std::string& message) const { file_.reject(subject_ + message); }

 private:
  const InputFile& file_;
  const std::string subject_;
};

/// Reads a header of version 1 to 3. IoError for one that is no such header, has more than 64 KiB,
/// a rank above Array::kMaxRank, or elements of 2^63 bytes or more.
NpyHeader read_npy_header(NpySource& source);

/// The header of a C-ordered array, as NumPy writes it, of a multiple of 64 bytes.
std::string npy_header(DType dtype, std::span<const std::int64_t> dims);

}  // namespace kiln::runtime
