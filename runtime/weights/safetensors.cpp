// Reads and writes safetensors files. The reader checks sizes against the file before it allocates,
// and that the tensors cover the data exactly once.
#include "runtime/weights/safetensors.h"

#include "core/k/base/call.h"
#include "core/types/counted.h"
#include "core/types/text.h"
#include "runtime/array/array_memory.h"
#include "runtime/files/json.h"
#include "runtime/files/quoted_name.h"
#include "runtime/weights/file_format.h"
#include "runtime/weights/safetensors_header.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>

namespace kiln::runtime {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are stored little-endian");

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeader = std::uint64_t{100} << 20;
constexpr std::size_t kHeaderAlignment = 8;

// ---- Reading ----

/// Rejects a file that begins like one of another format.
void reject_other_formats(const InputFile& file) {
  const std::string_view format = known_format(first_bytes(file));
  if (!format.empty()) file.reject(text("is ", format, ", not a safetensors file"));
}

std::string read_header(const InputFile& file) {
  if (file.size() == 0) file.reject("is empty");
  if (file.size() < kLengthBytes) {
    file.reject(text("is truncated: it has ", file.size(), " bytes but starts with a length of 8"));
  }
  std::uint64_t length = 0;
  file.read(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > kMaxHeader || length > file.size() - kLengthBytes) reject_other_formats(file);
  if (length > kMaxHeader) {
    file.reject(text("is not a safetensors file: by its first 8 bytes its header would have ",
                     length, " bytes; at most ", kMaxHeader, " are read"));
  }
  if (length > file.size() - kLengthBytes) {
    file.reject(text("is truncated: its header has ", length, " bytes but ",
                     file.size() - kLengthBytes, " are left"));
  }
  std::string header(length, '\0');
  file.read(kLengthBytes, std::as_writable_bytes(std::span(header)));
  return header;
}

/// Sorts by offset; checks that every byte after the header belongs to exactly one tensor.
void require_cover(std::vector<TensorEntry>& entries, std::uint64_t bytes, const InputFile& file) {
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  std::uint64_t covered = 0;
  for (const TensorEntry& entry : entries) {
    const std::string name = quoted_name(entry.name);
    if (entry.end > bytes) {
      file.reject(text("is truncated: tensor ", name, " ends at offset ", entry.end,
                       " but there are ", bytes, " bytes of data"));
    }
    if (entry.begin < covered) {
      file.reject(text("is damaged: tensor ", name, " begins at offset ", entry.begin,
                       ", inside another that ends at ", covered));
    }
    if (entry.begin > covered) {
      file.reject(text("is damaged: no tensor holds the bytes from offset ", covered, " to ",
                       entry.begin, ", before tensor ", name));
    }
    covered = entry.end;
  }
  if (covered == bytes) return;
  file.reject(text("is damaged: ", counted(bytes - covered, "more byte"),
                   bytes - covered == 1 ? " follows" : " follow", " the last tensor"));
}

/// Rejects bytes other than 0 and 1, which are undefined behaviour as a bool.
void require_bools(const Array& array, const std::string& name, const InputFile& file) {
  const auto* bytes = static_cast<const unsigned char*>(array.data());
  const auto* const end = bytes + array.bytes();
  const auto* const bad = std::find_if(bytes, end, [](unsigned char byte) { return byte > 1; });
  if (bad == end) return;
  file.reject(text("is damaged: tensor ", quoted_name(name), " of bools holds the byte ",
                   static_cast<int>(*bad)));
}

// ---- Writing ----

void reject_name(const std::string& name, const char* message) {
  Call::value_error("name", text("name ", quoted_name(name), " ", message));
}

/// Sorts by descending element size, so that each tensor is aligned if the file is mapped.
std::vector<const NamedArray*> in_file_order(std::span<const NamedArray> tensors) {
  std::vector<const NamedArray*> order;
  for (const NamedArray& tensor : tensors) order.push_back(&tensor);
  const auto key = [](const NamedArray* tensor) {
    return std::tuple(-static_cast<int>(dtype_bytes(tensor->value.dtype())),
                      std::string_view(tensor->name));
  };
  std::sort(order.begin(), order.end(),
            [&](const NamedArray* a, const NamedArray* b) { return key(a) < key(b); });
  return order;
}

void require_names(std::span<const NamedArray> tensors) {
  std::vector<std::string_view> names;
  for (const NamedArray& tensor : tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) reject_name(std::string(*twice), "occurs twice");
  if (std::binary_search(names.begin(), names.end(), "__metadata__")) {
    reject_name("__metadata__", "is reserved by the file format");
  }
}

void write_integers(JsonWriter& writer, const char* key, std::span<const std::int64_t> values) {
  writer.Key(key);
  writer.StartArray();
  for (const std::int64_t value : values) writer.Int64(value);
  writer.EndArray();
}

void write_metadata(JsonWriter& writer, const std::map<std::string, std::string>& metadata) {
  if (metadata.empty()) return;
  writer.Key("__metadata__");
  writer.StartObject();
  for (const auto& [key, value] : metadata) {
    if (writer.Key(key.data(), static_cast<rapidjson::SizeType>(key.size())) &&
        writer.String(value.data(), static_cast<rapidjson::SizeType>(value.size()))) {
      continue;
    }
    Call::value_error("metadata",
                      text("the key or the text of metadata ", quoted_name(key), " is not UTF-8"));
  }
  writer.EndObject();
}

std::string header_of(const std::vector<const NamedArray*>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  JsonBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartObject();
  write_metadata(writer, metadata);
  std::int64_t offset = 0;
  for (const NamedArray* tensor : tensors) {
    const Array& value = tensor->value;
    const std::string& name = tensor->name;
    if (!writer.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()))) {
      reject_name(name, "is not UTF-8");
    }
    const std::string_view dtype = safetensors_dtype(value.dtype());
    writer.StartObject();
    writer.Key("dtype");
    writer.String(dtype.data(), static_cast<rapidjson::SizeType>(dtype.size()));
    write_integers(writer, "shape", value.dims());
    const std::int64_t end = offset + static_cast<std::int64_t>(value.bytes());
    write_integers(writer, "data_offsets", std::initializer_list<std::int64_t>{offset, end});
    writer.EndObject();
    offset = end;
  }
  writer.EndObject();
  std::string header(buffer.GetString(), buffer.GetSize());
  const std::size_t over = header.size() % kHeaderAlignment;
  return header.append(over == 0 ? 0 : kHeaderAlignment - over, ' ');
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path,
                                 std::map<std::string, std::string>* metadata)
    : file_(path) {
  try {
    const std::string header = read_header(file_);
    data_ = kLengthBytes + header.size();
    tensors_ = parse_safetensors_header(header, path, metadata);
    require_cover(tensors_, file_.size() - data_, file_);
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(Call::function(), "path", text("no memory for the header of ", path));
  }
}

Array SafetensorsFile::read(const TensorEntry& tensor) const {
  Array value = uninitialised_array(tensor.dims, tensor.dtype);
  file_.read(data_ + tensor.begin, {static_cast<std::byte*>(fill_address(value)), value.bytes()});
  if (tensor.dtype == DType::Bool) require_bools(value, tensor.name, file_);
  return value;
}

void write_safetensors(const std::string& path, std::span<const NamedArray> tensors,
                       const std::map<std::string, std::string>& metadata,
                       std::optional<unsigned> mode) {
  require_names(tensors);
  const std::vector<const NamedArray*> order = in_file_order(tensors);
  const std::string header = header_of(order, metadata);
  const std::uint64_t length = header.size();
  OutputFile file(path, mode);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(std::as_bytes(std::span(header)));
  for (const NamedArray* tensor : order) {
    file.write({static_cast<const std::byte*>(tensor->value.data()), tensor->value.bytes()});
  }
  file.commit();
}

}  // namespace kiln::runtime
