// Formats by their first bytes and by their extensions.
#include "runtime/weights/array_formats.h"

#include "core/k/base/call.h"
#include "core/types/counted.h"
#include "core/types/text.h"
#include "runtime/array/array_memory.h"
#include "runtime/files/quoted_name.h"
#include "runtime/weights/file_format.h"
#include "runtime/weights/hdf5_file.h"
#include "runtime/weights/npy.h"
#include "runtime/weights/safetensors.h"
#include "runtime/weights/user_file.h"

#include <kiln/files.h>

#include <algorithm>
#include <filesystem>

namespace kiln {
namespace runtime {
namespace {

/// The format of a file. HDF5's signature may follow bytes of another format.
std::string_view format_of(const InputFile& file) {
  const std::string_view format = known_format(first_bytes(file));
  const bool may_be_hdf5 = format.empty() || format == kText;
  return may_be_hdf5 && is_hdf5(file) ? kHdf5 : format;
}

bool is_numpy_format(std::string_view format) {
  return format == kNumpyArray || format == kNumpyArchive || format == kEmptyArchive ||
         format == kOtherArchive || format == kModel;
}

/// Returns the array; of bools with 1 for bytes other than 0 and 1, which a view may have.
Array with_valid_bools(const Array& array) {
  const auto* const bytes = static_cast<const std::byte*>(array.data());
  if (array.dtype() != DType::Bool || are_bools(bytes, array.bytes())) return array;
  return Array::copy_of(bytes, {array.dims().begin(), array.dims().end()}, DType::Bool);
}

std::string extension_of(const std::string& path) {
  return std::filesystem::path(path).extension().string();
}

/// Whether the bytes are those of a length and a header.
bool is_safetensors(std::string_view start) {
  constexpr std::size_t kLengthBytes = 8;
  return start.size() > kLengthBytes && start[kLengthBytes] == '{';
}

bool is_hdf5_extension(std::string_view extension) {
  return extension == ".h5" || extension == ".hdf5";
}

/// Rejects a file of no known format whose name is that of an HDF5 file.
void reject_hdf5_name(const std::string& path, std::string_view format) {
  const InputFile file(path);
  if (!is_hdf5_extension(extension_of(path)) || is_safetensors(first_bytes(file))) return;
  if (file.size() == 0) file.reject("is empty");
  file.reject(format.empty() ? "is not an HDF5 file: it has no signature of one"
                             : text("is ", format, ", not an HDF5 file"));
}

}  // namespace

bool is_hdf5_file(const std::string& path) {
  const std::string_view format = format_of(InputFile(path));
  return format == kHdf5 || format == kKerasArchive;
}

bool is_array_file(const std::string& path) {
  const InputFile file(path);
  const std::string_view format = format_of(file);
  return is_numpy_format(format) || is_safetensors(first_bytes(file)) || format == kHdf5 ||
         format == kKerasArchive || is_hdf5_extension(extension_of(path));
}

std::unique_ptr<ArrayFile> open_array_file(const std::string& path,
                                           std::map<std::string, std::string>* metadata) {
  try {
    const std::string_view format = format_of(InputFile(path));
    if (format == kHdf5) return open_hdf5(path);
    if (format == kKerasArchive) return open_keras_archive(path);
    if (format == kNumpyArray) return std::make_unique<NpyFile>(path);
    if (format == kModel) return std::make_unique<NpzFile>(path, kModelWeights);
    if (is_numpy_format(format)) return std::make_unique<NpzFile>(path);
    reject_hdf5_name(path, format);
    return std::make_unique<SafetensorsFile>(path, metadata);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(Call::function(), "path", text("no memory for the header of ", path));
  }
}

std::string type_text(const TensorEntry& tensor) {
  const std::string_view dtype =
      tensor.other_dtype.empty() ? dtype_name(tensor.dtype) : tensor.other_dtype;
  return text(dtype, "[", join_text(tensor.dims, ","), "]");
}

std::string other_dtype_text(const TensorEntry& tensor, const std::string& path) {
  return text("array ", quoted_name(tensor.name), " of ", path, " is of dtype ",
              quoted_name(tensor.other_dtype), ", which Kiln does not have");
}

std::string keras3_rejection(const std::string& path) {
  for (const char* extension : {".weights.h5", ".keras"}) {
    if (!path.ends_with(extension)) continue;
    return text(path, " ends in '", extension, "', where Keras 3 expects a layout of its own; .h5 ",
                "is written in that of Keras 2, which Keras 3 reads, too");
  }
  return "";
}

std::string unknown_extension_text(const std::string& path) {
  if (const std::string reason = keras3_rejection(path); !reason.empty()) return reason;
  const std::string extension = extension_of(path);
  const char* const written = "; .npz, .npy, .h5 and .safetensors are written";
  if (extension.empty()) return text(path, " has no extension", written);
  for (const char* known : {".npy", ".npz", ".safetensors", ".h5", ".hdf5"}) {
    if (extension == known) return "";
  }
  return text(path, " ends in '", extension, "'", written);
}

void write_array_file(const std::string& path, std::span<const NamedArray> arrays,
                      const std::map<std::string, std::string>& metadata,
                      std::optional<unsigned> mode) {
  if (const std::string reason = keras3_rejection(path); !reason.empty()) {
    Call::value_error("path", reason);
  }
  const std::string extension = extension_of(path);
  if (extension != ".npy" && extension != ".npz" && !is_hdf5_extension(extension)) {
    return write_safetensors(path, arrays, metadata, mode);
  }
  if (!metadata.empty()) {
    Call::value_error("metadata",
                      text("a ", extension, " file has no metadata; .safetensors does"));
  }
  if (extension == ".npz") return write_npz(path, arrays, mode);
  if (is_hdf5_extension(extension)) return write_hdf5(path, arrays, mode);
  if (arrays.size() != 1) {
    Call::value_error("path", text(path, ": a .npy file holds one array, not ", arrays.size(),
                                   "; .npz holds several"));
  }
  write_npy(path, arrays[0].value, mode);
}

}  // namespace runtime

std::map<std::string, Array> load_arrays(const StringArgument& path, Where where) {
  return api_call("load_arrays", where, [&] {
    return runtime::with_file(where, [&] {
      const std::unique_ptr<runtime::ArrayFile> file = runtime::open_array_file(path);
      std::map<std::string, Array> arrays;
      for (const runtime::TensorEntry& tensor : file->tensors()) {
        if (!tensor.other_dtype.empty()) {
          throw IoError("", "path", runtime::other_dtype_text(tensor, path));
        }
        arrays.emplace(tensor.name, file->read(tensor));
      }
      return arrays;
    });
  });
}

void save_arrays(const StringArgument& path, const std::map<std::string, Array>& arrays,
                 Where where) {
  api_call("save_arrays", where, [&] {
    const std::string unknown = runtime::unknown_extension_text(path);
    if (!unknown.empty()) Call::value_error("path", unknown);
    std::vector<runtime::NamedArray> named;
    for (const auto& [name, array] : arrays)
      named.push_back({name, runtime::with_valid_bools(array)});
    runtime::with_file(where, [&] { runtime::write_array_file(path, named); });
  });
}

}  // namespace kiln
