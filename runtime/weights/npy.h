// NumPy's files: .npy, one array, and .npz, a ZIP archive of them.
#pragma once

#include "runtime/files/file_io.h"
#include "runtime/files/zip_file.h"
#include "runtime/files/zip_writer.h"
#include "runtime/weights/array_file.h"
#include "runtime/weights/file_format.h"
#include "runtime/weights/npy_header.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::runtime {

/// A .npy file. Its tensor has the name of the file without folder and extension.
class NpyFile final : public ArrayFile {
 public:
  /// Reads the header. IoError "<path> ..." for a damaged file, which includes bytes after the
  /// array.
  explicit NpyFile(const std::string& path);

  std::string_view format() const override { return kNumpyArray.substr(2); }
  bool keeps_order() const override { return true; }
  const std::vector<TensorEntry>& tensors() const override { return tensors_; }
  Array read(const TensorEntry& tensor) const override;

 private:
  InputFile file_;
  NpyHeader header_;
  std::vector<TensorEntry> tensors_;
};

/// A .npz file. Tensors have the names of members without ".npy", in the archive's order.
class NpzFile final : public ArrayFile {
 public:
  /// Reads the headers of all members. IoError "<path> ..." for a damaged file, and for a member
  /// that is neither a folder nor a .npy file.
  explicit NpzFile(const std::string& path) : NpzFile(path, "") {}
  /// Only the members of a folder "weights/", by their names in it; others may be anything.
  NpzFile(const std::string& path, std::string_view folder);

  std::string_view format() const override { return kNumpyArchive.substr(2); }
  bool keeps_order() const override { return true; }
  const std::vector<TensorEntry>& tensors() const override { return tensors_; }
  Array read(const TensorEntry& tensor) const override;

 private:
  InputFile file_;
  ZipFile archive_;
  std::vector<const ZipMember*> members_;  // one per tensor
  std::vector<NpyHeader> headers_;
  std::vector<TensorEntry> tensors_;
};

/// Replaces the file atomically; the same array gives the same bytes. bfloat16 is written as NumPy
/// writes it with ml_dtypes, '<V2'. IoError. `mode`: as for OutputFile.
void write_npy(const std::string& path, const Array& array, std::optional<unsigned> mode = {});
/// The same for a .npz file, in the order of `arrays`. ValueError for a name that occurs twice, is
/// not UTF-8, or has a zero byte, which ends it in Python, or too many bytes: a member has a name
/// of at most 65535.
void write_npz(const std::string& path, std::span<const NamedArray> arrays,
               std::optional<unsigned> mode = {});
/// The same check of names whose members a folder "weights/" is going to hold.
void require_member_names(std::span<const std::string> names, std::string_view folder);
/// Adds a member NAME.npy to an archive. IoError. REQUIRES: a name that require_member_names()
/// accepts.
void add_npy_member(ZipWriter& archive, const std::string& name, const Array& array);

}  // namespace kiln::runtime
