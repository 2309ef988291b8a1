// Elements are read straight into their Array; those of another byte order are swapped there, and
// those of Fortran order are those of the reversed axes.
#include "runtime/weights/npy.h"

#include "core/k/base/call.h"
#include "core/types/counted.h"
#include "core/types/escaped_text.h"
#include "core/types/text.h"
#include "runtime/array/array_memory.h"
#include "runtime/array/transposed.h"
#include "runtime/files/quoted_name.h"
#include "runtime/files/zip_stream.h"
#include "runtime/weights/numpy_dtype.h"

#include <kiln/error.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <numeric>
#include <unordered_set>

namespace kiln::runtime {
namespace {

constexpr std::string_view kExtension = ".npy";
constexpr std::size_t kMaxMemberBytes = 65535;  // of the name of a member

class FileSource final : public NpySource {
 public:
  explicit FileSource(const InputFile& file, std::uint64_t offset = 0)
      : NpySource(file, ""), file_(file), offset_(offset) {}
  void read(std::span<std::byte> to) override {
    if (to.size() > file_.size() - std::min(offset_, file_.size())) {
      reject(text("is truncated: it has ", counted(file_.size(), "byte")));
    }
    file_.read(offset_, to);
    offset_ += to.size();
  }

 private:
  const InputFile& file_;
  std::uint64_t offset_;
};

class MemberSource final : public NpySource {
 public:
  MemberSource(const InputFile& file, const ZipFile& archive, const ZipMember& member)
      : NpySource(file, text("member ", quoted_name(member.name), " ")), stream_(archive, member) {}
  void read(std::span<std::byte> to) override { stream_.read(to); }
  void finish() { stream_.finish(); }

 private:
  ZipStream stream_;
};

/// Rejects a file or member of `bytes` bytes that has others than its header says.
void require_bytes(const NpyHeader& header, std::uint64_t bytes, const NpySource& source) {
  if (!header.entry.other_dtype.empty()) return;
  const std::uint64_t held = bytes - std::min(header.bytes, bytes);
  if (held == header.data_bytes) return;
  source.reject(text(held < header.data_bytes ? "is truncated" : "is damaged", ": it has ", held,
                     " bytes of elements but its header declares ", header.data_bytes));
}

/// Reads the elements that follow the header.
Array read_elements(const NpyHeader& header, NpySource& source) {
  std::vector<std::int64_t> dims = header.entry.dims;
  if (header.fortran_order) std::reverse(dims.begin(), dims.end());
  Array array = uninitialised_array(std::move(dims), header.entry.dtype);
  const std::span<std::byte> bytes{static_cast<std::byte*>(fill_address(array)), array.bytes()};
  source.read(bytes);
  if (header.is_swapped) swap_bytes(bytes, dtype_bytes(header.entry.dtype));
  if (header.entry.dtype == DType::Bool && !are_bools(bytes.data(), bytes.size())) {
    source.reject("is damaged: an array of bools holds a byte other than 0 and 1");
  }
  if (!header.fortran_order) return array;
  std::vector<std::int64_t> axes(header.entry.dims.size());
  std::iota(axes.rbegin(), axes.rend(), 0);
  return transposed_array(array, axes);
}

std::string name_of(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return name.ends_with(kExtension) ? name.substr(0, name.size() - kExtension.size()) : name;
}

std::vector<std::byte> header_bytes(const Array& array) {
  const std::string header = npy_header(array.dtype(), array.dims());
  const auto bytes = std::as_bytes(std::span(header));
  return {bytes.begin(), bytes.end()};
}

std::span<const std::byte> elements_of(const Array& array) {
  return {static_cast<const std::byte*>(array.data()), array.bytes()};
}

}  // namespace

NpyFile::NpyFile(const std::string& path) : file_(path) {
  FileSource source(file_);
  header_ = read_npy_header(source);
  require_bytes(header_, file_.size(), source);
  header_.entry.name = name_of(path);
  tensors_.push_back(header_.entry);
}

Array NpyFile::read(const TensorEntry&) const {
  FileSource source(file_, header_.bytes);
  return read_elements(header_, source);
}

NpzFile::NpzFile(const std::string& path, std::string_view folder) : file_(path), archive_(file_) {
  for (const ZipMember& member : archive_.members()) {
    const bool is_folder = member.name.ends_with('/') && member.bytes == 0;
    if (is_folder || !member.name.starts_with(folder)) continue;
    if (!member.name.ends_with(kExtension)) {
      file_.reject(text("has member ", quoted_name(member.name), ", which is no .npy file"));
    }
    MemberSource source(file_, archive_, member);
    members_.push_back(&member);
    headers_.push_back(read_npy_header(source));
    require_bytes(headers_.back(), member.bytes, source);
    tensors_.push_back(headers_.back().entry);
    tensors_.back().name =
        member.name.substr(folder.size(), member.name.size() - kExtension.size() - folder.size());
  }
}

Array NpzFile::read(const TensorEntry& tensor) const {
  const auto number = static_cast<std::size_t>(&tensor - tensors_.data());
  MemberSource source(file_, archive_, *members_[number]);
  std::vector<std::byte> header(headers_[number].bytes);
  source.read(header);
  Array array = read_elements(headers_[number], source);
  source.finish();
  return array;
}

void require_member_names(std::span<const std::string> names, std::string_view folder) {
  const std::size_t max_bytes = kMaxMemberBytes - folder.size() - kExtension.size();
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : names) {
    const std::string problem =
        name.size() > max_bytes
            ? text("has ", name.size(), " bytes; at most ", max_bytes, " are written")
        : !is_utf8(name)               ? "is not UTF-8"
        : name.find('\0') != name.npos ? "has a zero byte"
        : !seen.insert(name).second    ? "occurs twice"
                                       : "";
    if (problem.empty()) continue;
    Call::value_error("name", text("name ", quoted_name(name), " ", problem));
  }
}

void write_npy(const std::string& path, const Array& array, std::optional<unsigned> mode) {
  OutputFile file(path, mode);
  file.write(header_bytes(array));
  file.write(elements_of(array));
  file.commit();
}

void add_npy_member(ZipWriter& archive, const std::string& name, const Array& array) {
  const std::vector<std::byte> header = header_bytes(array);
  const std::span<const std::byte> parts[] = {header, elements_of(array)};
  archive.add(name + std::string(kExtension), parts);
}

void write_npz(const std::string& path, std::span<const NamedArray> arrays,
               std::optional<unsigned> mode) {
  std::vector<std::string> names;
  for (const NamedArray& array : arrays) names.push_back(array.name);
  require_member_names(names, "");
  OutputFile file(path, mode);
  ZipWriter archive(file);
  for (const NamedArray& array : arrays) add_npy_member(archive, array.name, array.value);
  archive.finish();
  file.commit();
}

}  // namespace kiln::runtime
