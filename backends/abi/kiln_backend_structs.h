// Reads and fills the structs of kiln_backend.h from C++ by its versioning rules: missing fields of
// a shorter struct read as zero; unknown fields of a longer request must be zero, those of a longer
// report or table are ignored; an unknown extension is skipped unless must_understand. Used by the
// host and, through kiln_backend_sdk.h, by plugins. All functions are reentrant.
#pragma once

#include "kiln_backend.h"

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace kiln::abi {

/// Thrown where the other side broke a rule of the boundary.
class BrokenStruct : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws BrokenStruct if `count` is more than `most`, or not 0 with a null address.
inline void require_range(const void* data, std::uint64_t count, std::uint64_t most,
                          const char* unit, const char* name) {
  if (count > most) {
    throw BrokenStruct(std::string(name) + " has " + std::to_string(count) + " " + unit +
                       ", more than " + std::to_string(most));
  }
  if (count != 0 && data == nullptr) {
    throw BrokenStruct(std::string(name) + " has " + std::to_string(count) + " " + unit +
                       " at the address null");
  }
}

inline kiln_string string_of(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view view_of(kiln_string text, const char* name = "a text",
                                std::uint64_t most = KILN_MAX_TEXT) {
  require_range(text.data, text.size, most, "bytes", name);
  return text.size == 0 ? std::string_view() : std::string_view(text.data, text.size);
}
inline std::span<const std::int64_t> view_of(kiln_dims dims, const char* name = "dims") {
  require_range(dims.data, dims.rank, KILN_MAX_RANK, "axes", name);
  return dims.rank == 0 ? std::span<const std::int64_t>() : std::span(dims.data, dims.rank);
}
inline std::span<const std::byte> view_of(kiln_bytes bytes, const char* name = "bytes") {
  require_range(bytes.data, bytes.size, KILN_MAX_BYTES, "bytes", name);
  if (bytes.size == 0) return {};
  return {static_cast<const std::byte*>(bytes.data), bytes.size};
}
inline kiln_dims dims_of(std::span<const std::int64_t> dims) { return {dims.data(), dims.size()}; }
inline kiln_bytes bytes_of(std::span<const std::byte> bytes) {
  return {bytes.data(), bytes.size()};
}

/// Bytes of an element type; 0 for an unknown one.
inline std::uint64_t dtype_size(std::uint32_t dtype) {
  constexpr std::uint8_t kBytes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
  return dtype < std::size(kBytes) ? kBytes[dtype] : 0;
}

/// Returns a struct of zeros with its struct_size.
template <class T>
T fresh() {
  T value{};
  value.struct_size = sizeof(T);
  return value;
}

/// Upper bound of struct_size; a larger value is an error, not a newer version.
inline constexpr std::uint64_t kMaxStructSize = std::uint64_t{1} << 16;

/// Returns the bytes of a tensor; nothing for an unknown element type, a negative dim, or 2^63
/// bytes or more.
inline std::optional<std::uint64_t> tensor_bytes(std::uint32_t dtype,
                                                 std::span<const std::int64_t> dims) {
  std::uint64_t bytes = dtype_size(dtype);
  bool is_empty = false, overflows = bytes == 0;
  for (const std::int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    is_empty = is_empty || dim == 0;
    if (dim != 0 && bytes > std::uint64_t{INT64_MAX} / static_cast<std::uint64_t>(dim)) {
      overflows = true;
    }
    if (!overflows && dim != 0) bytes *= static_cast<std::uint64_t>(dim);
  }
  if (dtype_size(dtype) == 0 || (overflows && !is_empty)) return std::nullopt;
  return is_empty ? 0 : bytes;
}

/// Throws BrokenStruct for an extension that must be understood: this version knows none.
inline void reject_required_extensions(const kiln_ext* ext) {
  constexpr int kMaxExtensions = 64;  // a chain may be a ring
  for (int count = 0; ext != nullptr; ext = ext->next) {
    if (++count > kMaxExtensions) throw BrokenStruct("a chain of extensions does not end");
    if (ext->struct_size < sizeof(kiln_ext)) throw BrokenStruct("extension without a size");
    if (ext->must_understand != 0) {
      throw BrokenStruct("unknown extension " + std::to_string(ext->type_id) +
                         " that must be understood");
    }
  }
}

/// How to treat bytes of a newer version after the fields that this side knows.
enum class Tail { MustBeZero, Ignored };

/// Copies a struct of the other side to this side's layout. Throws BrokenStruct.
template <class T>
T read(const T* given, const char* name, Tail tail) {
  static_assert(std::is_trivially_copyable_v<T>);
  constexpr std::uint64_t kPrefix = sizeof(std::uint64_t) + sizeof(const kiln_ext*);
  if (given == nullptr) throw BrokenStruct(std::string(name) + " is null");
  const std::uint64_t size = given->struct_size;
  if (size < kPrefix) {
    throw BrokenStruct(std::string(name) + " has struct_size " + std::to_string(size));
  }
  if (size > kMaxStructSize) {
    throw BrokenStruct(std::string(name) + " has struct_size " + std::to_string(size) +
                       ", more than " + std::to_string(kMaxStructSize));
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::uint64_t i = sizeof(T); tail == Tail::MustBeZero && i < size; ++i) {
    if (bytes[i] != 0) {
      throw BrokenStruct(std::string(name) + " sets a field at byte " + std::to_string(i) +
                         " that this version does not know");
    }
  }
  T value{};
  std::memcpy(&value, given, size < sizeof(T) ? size : sizeof(T));
  value.struct_size = sizeof(T);
  reject_required_extensions(value.next);
  return value;
}

template <class T>
T read_request(const T* given, const char* name) {
  return read(given, name, Tail::MustBeZero);
}
template <class T>
T read_report(const T* given, const char* name) {
  return read(given, name, Tail::Ignored);
}

/// Writes as much of `value` as `out`'s struct_size allows; keeps its struct_size and next. Throws
/// BrokenStruct.
template <class T>
void write(T* out, const T& value) {
  constexpr std::uint64_t kPrefix = sizeof(std::uint64_t) + sizeof(const kiln_ext*);
  if (out == nullptr || out->struct_size < kPrefix) throw BrokenStruct("no room for the result");
  const std::uint64_t size = out->struct_size < sizeof(T) ? out->struct_size : sizeof(T);
  std::memcpy(reinterpret_cast<unsigned char*>(out) + kPrefix,
              reinterpret_cast<const unsigned char*>(&value) + kPrefix, size - kPrefix);
}

template <class T>
kiln_array array_of(std::span<const T> elements) {
  return {elements.data(), elements.size(), sizeof(T)};
}

/// The elements of an array whose stride the other side chose. Throws BrokenStruct.
template <class T, Tail kTail>
class Elements {
 public:
  Elements(const kiln_array& array, const char* name) : array_(array), name_(name) {
    if (array.count == 0) return;
    require_range(array.data, array.count, KILN_MAX_COUNT, "elements", name);
    const std::uint64_t stride = array.element_stride;
    if (stride < 2 * sizeof(void*) || stride > kMaxStructSize || stride % alignof(T) != 0) {
      throw BrokenStruct(std::string("array of ") + name + " has stride " + std::to_string(stride));
    }
    if (reinterpret_cast<std::uintptr_t>(array.data) % alignof(T) != 0) {
      throw BrokenStruct(std::string("array of ") + name + " is not aligned");
    }
  }
  std::uint64_t size() const { return array_.count; }
  T operator[](std::uint64_t i) const {
    const auto* data = static_cast<const unsigned char*>(array_.data) + i * array_.element_stride;
    const auto* element = reinterpret_cast<const T*>(data);
    if (element->struct_size > array_.element_stride) {
      throw BrokenStruct(std::string(name_) + " has struct_size " +
                         std::to_string(element->struct_size) + " in an array with stride " +
                         std::to_string(array_.element_stride));
    }
    return read(element, name_, kTail);
  }

 private:
  kiln_array array_;
  const char* name_;
};

template <class T>
using RequestElements = Elements<T, Tail::MustBeZero>;
template <class T>
using ReportElements = Elements<T, Tail::Ignored>;

/// Returns the sanitizer that this object is compiled with, as a KILN_SANITIZER_ number.
constexpr std::uint32_t this_sanitizer() {
#if defined(__SANITIZE_ADDRESS__)
  return KILN_SANITIZER_ADDRESS;
#elif defined(__SANITIZE_THREAD__)
  return KILN_SANITIZER_THREAD;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
  return KILN_SANITIZER_ADDRESS;
#elif __has_feature(thread_sanitizer)
  return KILN_SANITIZER_THREAD;
#else
  return KILN_SANITIZER_NONE;
#endif
#else
  return KILN_SANITIZER_NONE;
#endif
}

}  // namespace kiln::abi
