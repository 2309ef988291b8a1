#include "runtime/safetensors.h"

#include "core/types/text.h"
#include "runtime/json.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <tuple>

namespace kiln::runtime {
namespace {

constexpr std::uint64_t kMaxHeader = 100u << 20;
constexpr std::size_t kPrefix = 8;

/// The format's names of the dtypes, indexed by DType.
constexpr std::array<std::string_view, kDTypeCount> kNames = {
    "BOOL", "I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64", "F16", "BF16", "F32", "F64"};

[[noreturn]] void refuse(const std::string& path, const std::string& fact) {
  throw IoError("", "", text(path, ": ", fact));
}

std::string read_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    refuse(path, text("cannot be opened: ", std::strerror(errno)));
  }
  if (S_ISDIR(status.st_mode)) refuse(path, "is a directory");
  std::ifstream file(path, std::ios::binary);
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  if (!file.read(bytes.data(), status.st_size)) refuse(path, "cannot be read");
  return bytes;
}

class Reader {
 public:
  Reader(const std::string& path, const std::string& bytes) : path_(path), bytes_(bytes) {}

  std::vector<NamedArray> read() {
    if (bytes_.size() < kPrefix) refuse(path_, text("has only ", bytes_.size(), " bytes"));
    std::uint64_t header = 0;
    std::memcpy(&header, bytes_.data(), kPrefix);
    if (header > kMaxHeader || header > bytes_.size() - kPrefix) {
      refuse(path_, text("says that its header has ", header, " bytes, but it has ",
                         bytes_.size() - kPrefix, " after the length"));
    }
    const auto document = parse_json({bytes_.data() + kPrefix, header}, path_);
    if (!document.IsObject()) refuse(path_, text("its header is ", json_kind(document)));
    data_ = {bytes_.data() + kPrefix + header, bytes_.size() - kPrefix - header};
    for (const auto& member : document.GetObject()) {
      const std::string name(member.name.GetString(), member.name.GetStringLength());
      if (name != "__metadata__") entry(name, member.value);
    }
    return checked();
  }

 private:
  struct Entry {
    std::string name;
    DType dtype;
    std::vector<std::int64_t> dims;
    std::uint64_t begin, end;
  };

  [[noreturn]] void refuse_entry(const std::string& name, const std::string& fact) const {
    refuse(path_, text("tensor '", name, "' ", fact));
  }

  const rapidjson::Value& field(const std::string& name, const rapidjson::Value& value,
                                const char* key) const {
    const auto member = value.FindMember(key);
    if (member == value.MemberEnd()) refuse_entry(name, text("has no ", key));
    return member->value;
  }

  std::uint64_t natural(const std::string& name, const rapidjson::Value& value,
                        const char* what) const {
    if (!value.IsUint64() || value.GetUint64() > INT64_MAX) {
      refuse_entry(name, text("has a ", what, " that is no size"));
    }
    return value.GetUint64();
  }

  void entry(const std::string& name, const rapidjson::Value& value) {
    if (!value.IsObject()) refuse_entry(name, text("is ", json_kind(value)));
    const rapidjson::Value& dtype = field(name, value, "dtype");
    if (!dtype.IsString()) refuse_entry(name, text("has a dtype that is ", json_kind(dtype)));
    const std::string_view dtype_name(dtype.GetString(), dtype.GetStringLength());
    const auto found = std::find(kNames.begin(), kNames.end(), dtype_name);
    if (found == kNames.end()) refuse_entry(name, text("has the unknown dtype ", dtype_name));
    Entry made{name, static_cast<DType>(found - kNames.begin()), {}, 0, 0};
    const rapidjson::Value& shape = field(name, value, "shape");
    if (!shape.IsArray()) refuse_entry(name, text("has a shape that is ", json_kind(shape)));
    for (const auto& size : shape.GetArray()) {
      made.dims.push_back(static_cast<std::int64_t>(natural(name, size, "shape")));
    }
    const rapidjson::Value& offsets = field(name, value, "data_offsets");
    if (!offsets.IsArray() || offsets.Size() != 2) refuse_entry(name, "has no two data_offsets");
    made.begin = natural(name, offsets[0], "data_offset");
    made.end = natural(name, offsets[1], "data_offset");
    if (made.begin > made.end || made.end > data_.size()) {
      refuse_entry(name, text("has data_offsets ", made.begin, " to ", made.end, " in ",
                              data_.size(), " bytes of data"));
    }
    require_size(made);
    entries_.push_back(std::move(made));
  }

  void require_size(const Entry& entry) const {
    std::int64_t bytes = static_cast<std::int64_t>(dtype_bytes(entry.dtype));
    bool fits = true;
    for (std::int64_t size : entry.dims) {
      fits = fits && !__builtin_mul_overflow(bytes, size, &bytes);
    }
    if (fits && static_cast<std::uint64_t>(bytes) == entry.end - entry.begin) return;
    refuse_entry(entry.name, text("has ", entry.end - entry.begin, " bytes for ", entry.dtype, "[",
                                  join_text(entry.dims, ","), "]"));
  }

  std::vector<NamedArray> checked() {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
    });
    std::uint64_t end = 0;
    std::vector<NamedArray> arrays;
    for (const Entry& entry : entries_) {
      for (const NamedArray& other : arrays) {
        if (other.name == entry.name) refuse_entry(entry.name, "occurs twice");
      }
      if (entry.begin != end) {
        refuse_entry(entry.name, text("begins at ", entry.begin, ", not at ", end));
      }
      end = entry.end;
      arrays.push_back({entry.name, Array::copy_of(data_.data() + entry.begin, entry.dims,
                                                   entry.dtype)});
    }
    if (end != data_.size()) {
      refuse(path_, text("has ", data_.size() - end, " bytes after the last tensor"));
    }
    return arrays;
  }

  const std::string& path_;
  const std::string& bytes_;
  std::string_view data_;
  std::vector<Entry> entries_;
};

std::string header_of(std::span<const NamedArray> arrays) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  std::uint64_t offset = 0;
  writer.StartObject();
  for (const NamedArray& array : arrays) {
    writer.Key(array.name.data(), static_cast<rapidjson::SizeType>(array.name.size()));
    writer.StartObject();
    writer.Key("dtype");
    const std::string_view dtype = kNames[static_cast<std::size_t>(array.value.dtype())];
    writer.String(dtype.data(), static_cast<rapidjson::SizeType>(dtype.size()));
    writer.Key("shape");
    writer.StartArray();
    for (std::int64_t size : array.value.dims()) writer.Int64(size);
    writer.EndArray();
    writer.Key("data_offsets");
    writer.StartArray();
    writer.Uint64(offset);
    writer.Uint64(offset += array.value.bytes());
    writer.EndArray();
    writer.EndObject();
  }
  writer.EndObject();
  std::string header(buffer.GetString(), buffer.GetSize());
  header.resize((header.size() + 7) / 8 * 8, ' ');  // the data begins aligned
  return header;
}

/// A file that is removed again unless it was renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& path) : target_(path), path_(path + ".XXXXXX") {
    descriptor_ = ::mkstemp(path_.data());
    if (descriptor_ < 0) fail("cannot be written");
  }
  ~TemporaryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!renamed_) ::unlink(path_.c_str());
  }
  void write(const void* data, std::size_t size) {
    const char* from = static_cast<const char*>(data);
    while (size != 0) {
      const ssize_t written = ::write(descriptor_, from, size);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("cannot be written");
      from += written;
      size -= static_cast<std::size_t>(written);
    }
  }
  void commit() {
    ::fchmod(descriptor_, 0644);
    if (::fsync(descriptor_) != 0) fail("cannot be written");
    if (::rename(path_.c_str(), target_.c_str()) != 0) fail("cannot be replaced");
    renamed_ = true;
  }

 private:
  [[noreturn]] void fail(const char* what) {
    const std::string reason = std::strerror(errno);
    refuse(target_, text(what, ": ", reason));
  }
  std::string target_, path_;
  int descriptor_ = -1;
  bool renamed_ = false;
};

}  // namespace

std::vector<NamedArray> read_safetensors(const std::string& path) {
  const std::string bytes = read_file(path);
  return Reader(path, bytes).read();
}

void write_safetensors(const std::string& path, std::span<const NamedArray> arrays) {
  const std::string header = header_of(arrays);
  const std::uint64_t length = header.size();
  TemporaryFile file(path);
  file.write(&length, sizeof(length));
  file.write(header.data(), header.size());
  for (const NamedArray& array : arrays) file.write(array.value.data(), array.value.bytes());
  file.commit();
}

}  // namespace kiln::runtime
