// Parses the Python literals that a header may have: strings, booleans, and tuples of integers.
// Nothing is evaluated.
#include "runtime/weights/npy_header.h"

#include "core/types/text.h"
#include "runtime/files/quoted_name.h"
#include "runtime/weights/numpy_dtype.h"

#include <kiln/array.h>

#include <algorithm>
#include <charconv>
#include <cctype>
#include <optional>
#include <system_error>
#include <utility>

namespace kiln::runtime {
namespace {

constexpr std::size_t kMaxNpyHeader = std::size_t{64} << 10;
constexpr std::size_t kAlignment = 64;
constexpr std::string_view kMagic = "\x93NUMPY";

/// Sets the dtype of a description such as "<f4".
void set_dtype(std::string_view description, NpyHeader& header) {
  const std::optional<NumpyDType> found = numpy_dtype(description);
  if (!found) {
    header.entry.other_dtype = description;
    return;
  }
  header.entry.dtype = found->dtype;
  header.is_swapped = found->is_swapped;
}

class HeaderParser {
 public:
  HeaderParser(std::string_view text, const NpySource& source) : rest_(text), source_(source) {}

  void parse(NpyHeader& header) {
    expect('{');
    while (!take('}')) {
      const std::string key = string();
      expect(':');
      parse_value(key, header);
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (!rest_.empty()) fail("text after its dict");
    for (const Member& member : members_) {
      if (!member.is_set) fail(text("no ", member.name));
    }
  }

 private:
  struct Member {
    std::string_view name;
    bool is_set = false;
  };

  [[noreturn]] void fail(const std::string& problem) const {
    source_.reject(text("is damaged: its header has ", problem));
  }

  void skip_space() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }

  bool take(char c) {
    skip_space();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!take(c)) fail(text("no '", c, "' where one belongs"));
  }

  void parse_value(const std::string& key, NpyHeader& header) {
    auto* const member = std::find_if(std::begin(members_), std::end(members_),
                                      [&](const Member& one) { return one.name == key; });
    if (member == std::end(members_)) fail(text("the unknown key ", quoted_name(key)));
    if (std::exchange(member->is_set, true)) fail(text(key, " twice"));
    if (key == "fortran_order") {
      header.fortran_order = boolean();
    } else if (key == "shape") {
      header.entry.dims = integers();
    } else if (take('[')) {
      skip_structure();
      header.entry.other_dtype = "a structure";
    } else {
      const std::string description = string();
      if (description.empty()) fail("an empty descr");
      set_dtype(description, header);
    }
  }

  std::string string() {
    skip_space();
    const char quote = rest_.empty() ? '\0' : rest_[0];
    const std::size_t end = quote == '\'' || quote == '"' ? rest_.find(quote, 1) : rest_.npos;
    if (end == rest_.npos) fail("no string where one belongs");
    const std::string value(rest_.substr(1, end - 1));
    if (value.find('\\') != value.npos) fail("a string with a backslash");
    rest_.remove_prefix(end + 1);
    return value;
  }

  bool boolean() {
    skip_space();
    for (const auto& [word, value] : {std::pair{"True", true}, std::pair{"False", false}}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(std::string_view(word).size());
      return value;
    }
    fail("a fortran_order that is not a boolean");
  }

  std::vector<std::int64_t> integers() {
    std::vector<std::int64_t> values;
    expect('(');
    while (!take(')')) {
      skip_space();
      std::int64_t value = -1;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
      if (error != std::errc() || value < 0) fail("a size that is no integer from 0 to 2^63 - 1");
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      if (rest_.starts_with('L')) rest_.remove_prefix(1);  // of Python 2
      values.push_back(value);
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }

  /// Skips the rest of a list of fields, which is not read.
  void skip_structure() {
    for (int depth = 1; depth > 0; rest_.remove_prefix(1)) {
      if (rest_.empty()) fail("a list without an end");
      const char c = rest_[0];
      if (c == '[') ++depth;
      if (c == ']') --depth;
      if (c != '\'' && c != '"') continue;
      const std::size_t end = rest_.find(c, 1);
      if (end == rest_.npos) fail("a string without an end");
      rest_.remove_prefix(end);
    }
  }

  std::string_view rest_;
  const NpySource& source_;
  Member members_[3] = {{"descr"}, {"fortran_order"}, {"shape"}};
};

/// Reads the length of the text, little-endian in that many bytes.
std::size_t read_length(NpySource& source, std::size_t bytes) {
  std::byte digits[4] = {};
  source.read({digits, bytes});
  std::size_t length = 0;
  for (std::size_t i = bytes; i-- > 0;)
    length = length * 256 + std::to_integer<std::size_t>(digits[i]);
  return length;
}

/// The bytes of the elements; none from 2^63 on.
std::optional<std::uint64_t> bytes_of(const TensorEntry& entry) {
  std::int64_t bytes = static_cast<std::int64_t>(dtype_bytes(entry.dtype));
  for (const std::int64_t dim : entry.dims) {
    if (dim == 0) return 0;
  }
  for (const std::int64_t dim : entry.dims) {
    if (__builtin_mul_overflow(bytes, dim, &bytes)) return std::nullopt;
  }
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace

NpyHeader read_npy_header(NpySource& source) {
  char magic[kMagic.size() + 2] = {};
  source.read(std::as_writable_bytes(std::span(magic)));
  if (!std::string_view(magic, sizeof magic).starts_with(kMagic))
    source.reject("is no NumPy array (.npy)");
  const int version = static_cast<unsigned char>(magic[kMagic.size()]);
  if (version < 1 || version > 3) {
    source.reject(text("has version ", version, " of the .npy format; versions 1 to 3 are read"));
  }
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t length = read_length(source, length_bytes);
  if (length > kMaxNpyHeader) {
    source.reject(text("has a header of ", length, " bytes; at most ", kMaxNpyHeader, " are read"));
  }
  std::string header_text(length, '\0');
  source.read(std::as_writable_bytes(std::span(header_text)));
  NpyHeader header;
  HeaderParser(header_text, source).parse(header);
  if (header.entry.dims.size() > static_cast<std::size_t>(Array::kMaxRank)) {
    source.reject(
        text("has rank ", header.entry.dims.size(), "; at most ", Array::kMaxRank, " is read"));
  }
  header.bytes = sizeof magic + length_bytes + length;
  if (!header.entry.other_dtype.empty()) return header;
  const std::optional<std::uint64_t> bytes = bytes_of(header.entry);
  if (!bytes) source.reject("is damaged: its header declares 2^63 bytes or more");
  header.data_bytes = bytes.value_or(0);
  return header;
}

std::string npy_header(DType dtype, std::span<const std::int64_t> dims) {
  std::string shape = join_text(dims, ", ");
  if (dims.size() == 1) shape += ",";
  std::string dict = text("{'descr': '", numpy_description(dtype),
                          "', 'fortran_order': False, 'shape': (", shape, "), }");
  const std::size_t before = kMagic.size() + 4;
  const std::size_t used = before + dict.size() + 1;
  dict.append((kAlignment - used % kAlignment) % kAlignment, ' ').push_back('\n');
  std::string header(kMagic);
  header +=
      {'\1', '\0', static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};
  return header + dict;
}

}  // namespace kiln::runtime
