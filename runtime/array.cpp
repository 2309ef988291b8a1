#include <kiln/array.h>

#include "core/ops/convert.h"
#include "core/types/text.h"
#include "runtime/host_functions.h"

#include <cstring>
#include <new>
#include <ostream>

namespace kiln {
namespace {

constexpr std::size_t kAlignment = 64;

std::int64_t count_elements(const std::vector<std::int64_t>& dims) {
  std::int64_t count = 1;
  for (std::int64_t dim : dims) {
    if (dim < 0) {
      throw ValueError("Array", "dims", text("dims [", join_text(dims, ","), "] are negative"));
    }
  }
  for (std::int64_t dim : dims) {
    if (dim == 0) return 0;
  }
  for (std::int64_t dim : dims) {
    if (__builtin_mul_overflow(count, dim, &count)) {
      throw ValueError("Array", "dims",
                       text("dims [", join_text(dims, ","), "] hold more than 2^63 elements"));
    }
  }
  return count;
}

std::shared_ptr<void> allocate(std::size_t bytes) {
  const auto alignment = std::align_val_t(kAlignment);
  void* memory = ::operator new(bytes == 0 ? 1 : bytes, alignment, std::nothrow);
  if (!memory) throw OutOfMemory("Array", "", text("no memory for ", bytes, " bytes"));
  return {memory, [](void* p) { ::operator delete(p, std::align_val_t(kAlignment)); }};
}

std::size_t checked_bytes(std::int64_t size, DType dtype) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(size, static_cast<std::int64_t>(dtype_bytes(dtype)), &bytes)) {
    throw OutOfMemory("Array", "", text("no memory for ", size, " elements of ", dtype));
  }
  return static_cast<std::size_t>(bytes);
}

}  // namespace

Array::Array(DType dtype, std::vector<std::int64_t> dims)
    : dtype_(dtype), dims_(std::move(dims)), size_(count_elements(dims_)) {}

Array::Array(const std::vector<bool>& elements)
    : Array(zeros({static_cast<std::int64_t>(elements.size())}, DType::Bool)) {
  const auto own = as<bool>();
  for (std::size_t i = 0; i < elements.size(); ++i) own[i] = elements[i];
}

Array Array::zeros(std::vector<std::int64_t> dims, DType dtype) {
  Array array(dtype, std::move(dims));
  array.data_ = allocate(checked_bytes(array.size_, dtype));
  std::memset(array.data_.get(), 0, array.bytes());
  return array;
}

Array Array::full(std::vector<std::int64_t> dims, double value, DType dtype) {
  Array array = zeros(std::move(dims), dtype);
  const std::vector<std::byte> element = ir::scalar_bytes(dtype, value);
  auto* to = static_cast<std::byte*>(array.data());
  for (std::int64_t i = 0; i < array.size_; ++i, to += element.size()) {
    std::memcpy(to, element.data(), element.size());
  }
  return array;
}

Array Array::copy_of(const void* elements, std::vector<std::int64_t> dims, DType dtype) {
  Array array(dtype, std::move(dims));
  array.data_ = allocate(checked_bytes(array.size_, dtype));
  if (array.size_ != 0) std::memcpy(array.data_.get(), elements, array.bytes());
  return array;
}

Array Array::view(const void* elements, std::vector<std::int64_t> dims, DType dtype) {
  Array array(dtype, std::move(dims));
  array.data_ = std::shared_ptr<void>(const_cast<void*>(elements), [](void*) {});
  array.is_view_ = true;
  return array;
}

void* Array::data() {
  if (is_view_ || data_.use_count() > 1) *this = copy_of(data_.get(), dims_, dtype_);
  return data_.get();
}

Array Array::astype(DType dtype) const {
  if (dtype == dtype_) return *this;
  Array array = zeros(dims_, dtype);
  ir::convert_elements(dtype_, static_cast<const std::byte*>(data()), dtype,
                       static_cast<std::byte*>(array.data()), size_);
  return array;
}

Array Array::reshape(std::vector<std::int64_t> dims) const {
  if (count_elements(dims) != size_) {
    throw ValueError("reshape", "dims", text("dims [", join_text(dims, ","), "] do not hold the ",
                                             size_, " elements of [", join_text(dims_, ","), "]"));
  }
  Array array = *this;
  array.dims_ = std::move(dims);
  return array;
}

bool Array::operator==(const Array& other) const {
  if (dtype_ != other.dtype_ || dims_ != other.dims_) return false;
  return size_ == 0 || std::memcmp(data_.get(), other.data_.get(), bytes()) == 0;
}

void Array::require_count(std::size_t given, const std::vector<std::int64_t>& dims) {
  const std::int64_t count = count_elements(dims);
  if (static_cast<std::int64_t>(given) == count) return;
  throw ValueError("Array", "dims", text("dims [", join_text(dims, ","), "] hold ", count,
                                         " elements but ", given, " were given"));
}

void Array::require_width(std::size_t given, std::size_t width) {
  if (given == width) return;
  throw ValueError("Array", "rows", text("rows have ", width, " and ", given, " elements"));
}

void Array::require_dtype(DType dtype) const {
  if (dtype == dtype_) return;
  throw TypeError("Array", "T", text("elements of dtype ", dtype_, " are read as ", dtype));
}

void Array::require_one() const {
  if (size_ == 1) return;
  throw ValueError("item", "", text("an array of ", size_, " elements has no single item"));
}

std::size_t Array::offset(std::initializer_list<std::int64_t> index) const {
  std::int64_t offset = 0;
  std::size_t axis = 0;
  bool inside = index.size() == dims_.size();
  for (std::int64_t i : index) {
    if (!inside) break;
    inside = i >= 0 && i < dims_[axis];
    offset = offset * dims_[axis++] + i;
  }
  if (inside) return static_cast<std::size_t>(offset);
  throw ValueError("at", "index", text("index (", join_text(std::vector<std::int64_t>(index)),
                                       ") is outside of [", join_text(dims_, ","), "]"));
}

std::ostream& operator<<(std::ostream& out, const Array& array) {
  return out << runtime::array_text(
             {array.dtype(), array.dims(), const_cast<void*>(array.data())});
}

}  // namespace kiln
