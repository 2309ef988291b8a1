// Elements are read as they are in the file; those of another byte order are swapped.
#include "runtime/weights/hdf5_file.h"

#include "core/types/text.h"
#include "runtime/array/array_memory.h"
#include "runtime/files/quoted_name.h"
#include "runtime/files/zip_file.h"
#include "runtime/files/zip_stream.h"
#include "runtime/weights/file_format.h"
#include "runtime/weights/numpy_dtype.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace kiln::runtime {
namespace {

class FileBytes final : public Hdf5Bytes {
 public:
  explicit FileBytes(const std::string& path) : file_(path) {}
  std::uint64_t size() const override { return file_.size(); }
  void read(std::uint64_t offset, std::span<std::byte> to) const override {
    file_.read(offset, to);
  }

 private:
  InputFile file_;
};

class MemoryBytes final : public Hdf5Bytes {
 public:
  explicit MemoryBytes(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  void read(std::uint64_t offset, std::span<std::byte> to) const override {
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
  }

 private:
  std::vector<std::byte> bytes_;
};

TensorEntry entry_of(const KerasWeight& weight, const Hdf5Object& object) {
  const auto dtype = numpy_dtype(object.dtype);
  return {.name = weight.name,
          .dtype = dtype ? dtype->dtype : DType::Float32,
          .other_dtype = dtype ? "" : object.other_dtype,
          .dims = object.dims,
          .other_names = weight.other_names};
}

std::vector<std::byte> content_of(const ZipFile& archive, const ZipMember& member) {
  std::vector<std::byte> bytes(member.bytes);
  ZipStream stream(archive, member);
  stream.read(bytes);
  stream.finish();
  return bytes;
}

}  // namespace

Hdf5File::Hdf5File(const std::string& path, std::unique_ptr<Hdf5Bytes> bytes,
                   const std::optional<KerasConfig>& config)
    : reader_(path, std::move(bytes)),
      layout_(keras_layout(reader_, config.value_or(KerasConfig{}))) {
  if (config) layout_.format = "Keras archive (.keras)";
  for (const KerasWeight& weight : layout_.weights) {
    tensors_.push_back(entry_of(weight, reader_.objects()[weight.object]));
  }
}

Array Hdf5File::read(const TensorEntry& tensor) const {
  const KerasWeight& weight = layout_.weights[static_cast<std::size_t>(&tensor - tensors_.data())];
  Array array = uninitialised_array(tensor.dims, tensor.dtype);
  const std::span<std::byte> bytes{static_cast<std::byte*>(fill_address(array)), array.bytes()};
  reader_.read(weight.object, bytes);
  if (numpy_dtype(reader_.objects()[weight.object].dtype)->is_swapped) {
    swap_bytes(bytes, dtype_bytes(tensor.dtype));
  }
  if (tensor.dtype == DType::Bool && !are_bools(bytes.data(), bytes.size())) {
    reader_.reject(text("is damaged: dataset ", quoted_name(tensor.name),
                        " of bools holds a byte other than 0 and 1"));
  }
  return array;
}

bool is_hdf5(const InputFile& file) {
  std::string start(8, '\0');
  for (std::uint64_t at = 0; at + start.size() <= file.size(); at = at == 0 ? 512 : 2 * at) {
    file.read(at, std::as_writable_bytes(std::span(start)));
    if (known_format(start) == kHdf5) return true;
  }
  return false;
}

std::unique_ptr<ArrayFile> open_hdf5(const std::string& path) {
  return std::make_unique<Hdf5File>(path, std::make_unique<FileBytes>(path));
}

std::unique_ptr<ArrayFile> open_keras_archive(const std::string& path) {
  const InputFile file(path);
  const ZipFile archive(file);
  const auto member = [&](std::string_view name) {
    return std::find_if(archive.members().begin(), archive.members().end(),
                        [&](const ZipMember& one) { return one.name == name; });
  };
  const auto weights = member("model.weights.h5");
  if (weights == archive.members().end()) {
    const bool has_pickles = member("model.weights.npz") != archive.members().end();
    file.reject(has_pickles ? "has its weights in model.weights.npz, as Python objects, which are "
                              "not read; save the model with h5py installed"
                            : "is a Keras model without model.weights.h5");
  }
  KerasConfig config;
  if (const auto json = member("config.json"); json != archive.members().end()) {
    // A small file can unpack to a thousand times its size.
    constexpr std::uint64_t kMaxConfig = std::uint64_t{1} << 26;
    if (json->bytes > kMaxConfig) {
      file.reject(text("has ", json->bytes, " bytes in its member config.json; at most ",
                       kMaxConfig, " are read"));
    }
    const std::vector<std::byte> bytes = content_of(archive, *json);
    config = read_keras_config({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  return std::make_unique<Hdf5File>(
      path, std::make_unique<MemoryBytes>(content_of(archive, *weights)), config);
}

}  // namespace kiln::runtime
