// Array: memory, conversions and checks. A header before the elements counts the Arrays that share
// them. Elements are written only while that count is one, and after a mutable address was returned
// it stays one. Printing is in array_text.cpp.
#include <kiln/array.h>

#include "core/k/base/tensor_impl.h"
#include "core/ops/convert.h"
#include "core/types/text.h"
#include "runtime/array/array_memory.h"
#include "runtime/array/array_text.h"
#include "runtime/array/element_memory.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <ostream>
#include <utility>

namespace kiln {
namespace {

/// Returns 0 if a dim is 0. Throws ValueError for a negative dim, else for a product of 2^63 or
/// more. REQUIRES: one of the three.
std::int64_t count_unusual(std::span<const std::int64_t> dims) {
  bool empty = false;
  for (std::int64_t dim : dims) {
    if (dim < 0) {
      throw ValueError("Array", "dims",
                       text("dims [", join_text(dims, ","), "] have a negative size"));
    }
    empty = empty || dim == 0;
  }
  if (empty) return 0;
  throw ValueError("Array", "dims",
                   text("dims [", join_text(dims, ","), "] hold 2^63 elements or more"));
}

std::int64_t count_elements(std::span<const std::int64_t> dims) {
  if (dims.size() > Array::kMaxRank) {
    throw ValueError("Array", "dims", text("rank ", dims.size(), " exceeds ", Array::kMaxRank));
  }
  std::int64_t count = 1;
  for (std::int64_t dim : dims) {
    if (dim <= 0 || __builtin_mul_overflow(count, dim, &count)) return count_unusual(dims);
  }
  return count;
}

void require_known(DType dtype) {
  if (is_dtype(dtype)) return;
  throw TypeError("Array", "dtype", text("dtype ", dtype, " is not known"));
}

/// Throws OutOfMemory naming the running K function, or Array if there is none.
[[noreturn]] void throw_no_memory(const std::string& request) {
  const std::string function = Call::function();
  throw OutOfMemory(function.empty() ? "Array" : function, "", "no memory for " + request,
                    Call::where());
}

std::string type_text(DType dtype, std::span<const std::int64_t> dims) {
  return text(dtype, "[", join_text(dims, ","), "]");
}

[[noreturn]] void throw_no_memory_for(std::size_t bytes, DType dtype,
                                      std::span<const std::int64_t> dims) {
  throw_no_memory(text(bytes, " bytes of ", type_text(dtype, dims)));
}

/// REQUIRES: `dims` hold `size` elements.
void require_bytes(std::int64_t size, DType dtype, std::span<const std::int64_t> dims) {
  std::int64_t bytes = 0;
  if (!__builtin_mul_overflow(size, static_cast<std::int64_t>(dtype_bytes(dtype)), &bytes)) return;
  throw_no_memory(text(type_text(dtype, dims), ", which is more than 2^63 bytes"));
}

void require_address(const void* elements, std::int64_t size, DType dtype) {
  if (size == 0) return;
  if (!elements) throw ValueError("Array", "elements", "elements is null");
  if (reinterpret_cast<std::uintptr_t>(elements) % dtype_bytes(dtype) == 0) return;
  throw ValueError(
      "Array", "elements",
      text("elements of ", dtype, " are not at a multiple of ", dtype_bytes(dtype), " bytes"));
}

}  // namespace

alignas(64) const std::byte Array::kZero[64] = {};

struct Array::Elements {
  void* memory = nullptr;  // the allocation with this header and the elements
  std::size_t bytes = 0;  // of the elements
  std::atomic<std::int64_t> owners{1};
  /// A mutable address was returned: copies are deep and the owner stays sole. Only the sole owner
  /// writes the flag, so that no other thread reads it concurrently.
  bool is_exposed = false;
};

inline void Array::allocate(std::size_t payload, bool* is_zeroed) {
  void* memory = runtime::acquire_memory(payload, is_zeroed);
  if (!memory) throw_no_memory_for(payload, dtype_, dims_);
  auto* data = static_cast<std::byte*>(runtime::elements_in(memory));
  static_assert(sizeof(Elements) <= runtime::kHeaderBytes);
  elements_ = ::new (data - sizeof(Elements)) Elements{memory, payload};
  data_ = data;
}

Array::Array(DType dtype, std::span<const std::int64_t> dims)
    : dims_(dims), dtype_(dtype), size_(count_elements(dims)) {
  require_known(dtype_);
  require_bytes(size_, dtype_, dims_);
}

Array::Array(const runtime::UninitialisedArray& type)
    : dims_(type.dims), dtype_(type.dtype), size_(type.size) {
  allocate(type.bytes);
}

Array::Array(const Array& other) try
    : dims_(other.dims_),
      dtype_(other.dtype_),
      size_(other.size_),
      data_(other.data_),
      elements_(other.elements_) {
  if (!elements_) return;
  if (!elements_->is_exposed) {
    elements_->owners.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const void* from = data_;
  elements_ = nullptr;
  allocate(bytes());
  copy_elements(from);
} catch (const std::bad_alloc&) {
  Call::out_of_memory("Array", {});
}

Array& Array::operator=(const Array& other) {
  if (this == &other) return *this;  // addresses returned before stay valid
  Array copy(other);
  swap(copy);
  return *this;
}

Array& Array::operator=(Array&& other) noexcept {
  Array source(std::move(other));
  swap(source);
  return *this;
}

void Array::swap(Array& other) noexcept {
  std::swap(dims_, other.dims_);
  std::swap(dtype_, other.dtype_);
  std::swap(size_, other.size_);
  std::swap(data_, other.data_);
  std::swap(elements_, other.elements_);
}

void Array::release() noexcept {
  // A sole owner stays sole: only copying an owner adds another.
  const bool is_sole = elements_->owners.load(std::memory_order_acquire) == 1;
  if (!is_sole && elements_->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  void* memory = elements_->memory;
  const std::size_t payload = elements_->bytes;
  elements_->~Elements();
  runtime::release_memory(memory, payload);
}

/// Returns the elements, copied first if they are shared or a view.
void* Array::own_data() {
  return translate_exceptions("Array", {}, [&] {
    // Acquire: former owners have finished reading.
    const bool own = elements_ && elements_->owners.load(std::memory_order_acquire) == 1;
    if (own) return data_;
    Array copy(dtype_, dims_);
    copy.allocate(copy.bytes());
    copy.copy_elements(data_);
    std::swap(data_, copy.data_);  // not dims_, so that spans of them stay valid
    std::swap(elements_, copy.elements_);
    return data_;
  });
}

void* Array::data() & {
  void* address = own_data();
  elements_->is_exposed = true;
  return address;
}

void* runtime::fill_address(Array& array) { return array.own_data(); }

bool runtime::is_sole_owner(const Array& array) {
  return array.elements_ && array.elements_->owners.load(std::memory_order_acquire) == 1;
}

/// Copies all elements. REQUIRES: the memory is allocated.
void Array::copy_elements(const void* from) {
  if (size_ != 0) std::memcpy(data_, from, bytes());
  if (dtype_ == DType::Bool) make_bools_canonical();
}

void Array::make_bools_canonical() {
  runtime::normalise_bools(static_cast<std::byte*>(data_), bytes());
}

void runtime::copy_bools(const std::byte* from, std::byte* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = std::byte{from[i] != std::byte{0}};
}

void runtime::normalise_bools(std::byte* bytes, std::size_t count) {
  if (!are_bools(bytes, count)) copy_bools(bytes, bytes, count);
}

bool runtime::are_bools(const std::byte* bytes, std::size_t count) {
  constexpr std::size_t kBlock = 4096;  // exits early between blocks, vectorises inside
  for (std::size_t start = 0; start < count; start += kBlock) {
    const std::size_t end = std::min(count, start + kBlock);
    std::byte all{0};
    for (std::size_t i = start; i < end; ++i) all |= bytes[i];
    if ((all & ~std::byte{1}) != std::byte{0}) return false;
  }
  return true;
}

Array Array::uninitialised(std::vector<std::int64_t> dims, DType dtype) {
  return translate_exceptions("Array", {}, [&] {
    Array array(dtype, dims);
    array.allocate(array.bytes());
    return array;
  });
}

Array runtime::uninitialised_array(std::vector<std::int64_t> dims, DType dtype) {
  return Array::uninitialised(std::move(dims), dtype);
}

void runtime::repeat_element(const std::byte* element, std::size_t bytes, std::byte* to,
                             std::int64_t count) {
  std::byte block[512];  // a multiple of each element size, copied by vector instructions
  for (std::size_t i = 0; i < sizeof block; i += bytes) std::memcpy(block + i, element, bytes);
  const std::size_t all = static_cast<std::size_t>(count) * bytes;
  std::size_t done = 0;
  for (; all - done >= sizeof block; done += sizeof block) std::memcpy(to + done, block, 512);
  if (done != all) std::memcpy(to + done, block, all - done);
}

Array Array::zeros(std::vector<std::int64_t> dims, DType dtype) {
  return translate_exceptions("Array", {}, [&] {
    Array array(dtype, dims);
    bool is_zeroed = false;
    array.allocate(array.bytes(), &is_zeroed);
    if (!is_zeroed) std::memset(array.data_, 0, array.bytes());
    return array;
  });
}

Array Array::full(std::vector<std::int64_t> dims, double value, DType dtype) {
  return translate_exceptions("Array", {}, [&] {
    require_known(dtype);
    const std::vector<std::byte> element = ir::scalar_bytes(dtype, value);
    const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };
    if (std::all_of(element.begin(), element.end(), is_zero)) return zeros(std::move(dims), dtype);
    Array array(dtype, dims);
    array.allocate(array.bytes());
    runtime::repeat_element(element.data(), element.size(), static_cast<std::byte*>(array.data_),
                            array.size_);
    return array;
  });
}

Array Array::copy_of(const void* elements, std::vector<std::int64_t> dims, DType dtype) {
  return translate_exceptions("Array", {}, [&] {
    Array array(dtype, dims);
    if (array.size_ != 0 && !elements) throw ValueError("Array", "elements", "elements is null");
    array.allocate(array.bytes());
    array.copy_elements(elements);
    return array;
  });
}

Array Array::view(const void* elements, std::vector<std::int64_t> dims, DType dtype) {
  return translate_exceptions("Array", {}, [&] {
    Array array(dtype, dims);
    require_address(elements, array.size_, dtype);
    array.data_ = elements ? const_cast<void*>(elements) : const_cast<std::byte*>(kZero);
    return array;
  });
}

Array Array::astype(DType dtype) const {
  return translate_exceptions("Array", {}, [&] {
    if (dtype == dtype_) return elements_ ? *this : copy_of(data_, dims_, dtype_);
    Array array(dtype, dims_);
    array.allocate(array.bytes());
    ir::convert_elements(dtype_, static_cast<const std::byte*>(data_), dtype,
                         static_cast<std::byte*>(array.data_), size_);
    return array;
  });
}

Array Array::reshape(std::vector<std::int64_t> dims) const {
  return translate_exceptions("Array", {}, [&] {
    if (count_elements(dims) != size_) {
      throw ValueError("reshape", "dims",
                       text("dims [", join_text(dims, ","), "] do not hold the ", size_,
                            " elements of [", join_text(dims_, ","), "]"));
    }
    Array array = *this;
    array.dims_ = DimVector(dims);
    return array;
  });
}

bool Array::operator==(const Array& other) const {
  if (dtype_ != other.dtype_ || dims_ != other.dims_) return false;
  return size_ == 0 || std::memcmp(data_, other.data_, bytes()) == 0;
}

std::vector<std::int64_t> Array::dims_of(std::initializer_list<std::size_t> sizes) {
  return translate_exceptions("Array", {}, [&] {
    std::vector<std::int64_t> dims;
    for (std::size_t size : sizes) dims.push_back(static_cast<std::int64_t>(size));
    return dims;
  });
}

void Array::require_count(std::size_t given, std::span<const std::int64_t> dims) {
  translate_exceptions("Array", {}, [&] {
    const std::int64_t count = count_elements(dims);
    if (static_cast<std::int64_t>(given) == count) return;
    throw ValueError("Array", "dims",
                     text("dims [", join_text(dims, ","), "] hold ", count, " elements but ", given,
                          " were given"));
  });
}

void Array::require_equal(const char* what, std::size_t first, std::size_t other) {
  translate_exceptions("Array", {}, [&] {
    if (first == other) return;
    const char* parts = std::string_view(what) == "rows" ? "elements" : "rows";
    throw ValueError("Array", what, text(what, " of ", first, " and of ", other, " ", parts));
  });
}

void Array::require_dtype(DType dtype) const {
  translate_exceptions("Array", {}, [&] {
    if (dtype == dtype_) return;
    throw TypeError("Array", "T", text("elements of dtype ", dtype_, " are read as ", dtype));
  });
}

void Array::require_one() const {
  translate_exceptions("Array", {}, [&] {
    if (size_ == 1) return;
    throw ValueError("item", "", text("an array of ", size_, " elements has no single item"));
  });
}

std::size_t Array::offset(std::initializer_list<std::int64_t> index) const {
  return translate_exceptions("Array", {}, [&] {
    std::int64_t offset = 0;
    std::size_t axis = 0;
    bool inside = index.size() == dims_.size();
    for (std::int64_t i : index) {
      if (!inside) break;
      inside = i >= 0 && i < dims_[axis];
      offset = offset * dims_[axis++] + i;
    }
    if (inside) return static_cast<std::size_t>(offset);
    throw ValueError("at", "index",
                     text("index [", join_text(index, ","), "] is out of range for shape [",
                          join_text(dims_, ","), "]"));
  });
}

std::ostream& operator<<(std::ostream& out, const Array& array) {
  return translate_exceptions("operator<<", {}, [&]() -> std::ostream& {
    return out << runtime::array_text(
               {array.dtype(), array.dims(), const_cast<void*>(array.data())});
  });
}

}  // namespace kiln
