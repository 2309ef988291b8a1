// Host values: Array owns or views the elements of a dense, row-major tensor. ArrayView and
// MutableArrayView are views for calls that allocate nothing (Function::call_into).
#pragma once

#include <kiln/dim_vector.h>
#include <kiln/dtype.h>
#include <kiln/error.h>
#include <kiln/whole_number.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace kiln {

class Array;
template <class T>
class ArrayElements;
namespace runtime {
struct UninitialisedArray;
Array uninitialised_array(std::vector<std::int64_t> dims, DType dtype);
void* fill_address(Array& array);
bool is_sole_owner(const Array& array);
}  // namespace runtime

/// A float16 or bfloat16 element as its bits, without arithmetic.
struct float16 {
  std::uint16_t bits = 0;
  bool operator==(const float16&) const = default;
};
struct bfloat16 {
  std::uint16_t bits = 0;
  bool operator==(const bfloat16&) const = default;
};

/// Maps an element type T to its dtype.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::Bool;
};
template <>
struct DTypeOf<std::int8_t> {
  static constexpr DType value = DType::Int8;
};
template <>
struct DTypeOf<std::int16_t> {
  static constexpr DType value = DType::Int16;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::Int32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::Int64;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::UInt8;
};
template <>
struct DTypeOf<std::uint16_t> {
  static constexpr DType value = DType::UInt16;
};
template <>
struct DTypeOf<std::uint32_t> {
  static constexpr DType value = DType::UInt32;
};
template <>
struct DTypeOf<std::uint64_t> {
  static constexpr DType value = DType::UInt64;
};
template <>
struct DTypeOf<float16> {
  static constexpr DType value = DType::Float16;
};
template <>
struct DTypeOf<bfloat16> {
  static constexpr DType value = DType::BFloat16;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::Float32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::Float64;
};

/// A row of a matrix whose rows have different element types.
struct RowOfAnotherType {
  template <class T, DType = DTypeOf<T>::value>
  RowOfAnotherType(std::initializer_list<T>) {}  // NOLINT: implicit on purpose
};

/// A tensor in the caller's memory for reading: row-major elements.
struct ArrayView {
  DType dtype = DType::Float32;
  const void* data = nullptr;
  std::span<const std::int64_t> dims;
};
/// A tensor in the caller's memory for writing: row-major elements.
struct MutableArrayView {
  DType dtype = DType::Float32;
  void* data = nullptr;
  std::span<const std::int64_t> dims;
};

/// A dense tensor on the host: dtype, dims, and row-major elements at a multiple of 64 bytes.
/// Copy-on-write: copies share the elements until one of them is written. After data() or as() of a
/// non-const Array has returned a mutable address, copies are deep, also those in a variable, a
/// constant or a Feed, so that a write through the address changes this Array only. Const access,
/// item() and at() return no mutable address. A move keeps the address valid; a moved-from Array is
/// the float32 scalar 0. Elements of a bool Array are 0 or 1; any other byte that is copied in
/// becomes 1. Threads: distinct Arrays may be used concurrently, also if they share elements.
/// Errors: OutOfMemory; ValueError for a negative dim, a rank above kMaxRank, or 2^63 elements or
/// more.
class KILN_API Array {
 public:
  static constexpr int kMaxRank = 64;

  /// An empty float32 vector.
  Array() : Array(zeros(dims_of({0}), DType::Float32)) {}
  Array(const Array& other);
  Array(Array&& other) noexcept
      : dims_(std::move(other.dims_)),
        dtype_(std::exchange(other.dtype_, DType::Float32)),
        size_(std::exchange(other.size_, 1)),
        data_(std::exchange(other.data_, const_cast<std::byte*>(kZero))),  // a view: never written
        elements_(std::exchange(other.elements_, nullptr)) {}
  Array& operator=(const Array& other);
  Array& operator=(Array&& other) noexcept;
  ~Array() {
    if (elements_ != nullptr) release();
  }
  /// For the runtime (runtime/array/array_memory.h).
  explicit Array(const runtime::UninitialisedArray& type);

  template <class T, DType = DTypeOf<T>::value>
  Array(T scalar) : Array(copy_of(&scalar, {}, DTypeOf<T>::value)) {}  // NOLINT
  /// A vector of `elements`.
  template <class T, DType = DTypeOf<T>::value>
  Array(const std::vector<T>& elements)  // NOLINT
      : Array(of_range(elements, dims_of({elements.size()}))) {}
  /// As above, of the dims of an Array.
  template <class T, std::enable_if_t<std::is_same_v<T, DimVector>, int> = 0>
  Array(const T& sizes) : Array(of_range(sizes, dims_of({sizes.size()}))) {}  // NOLINT
  /// Elements in row-major order. Here and below: ValueError unless `dims` hold elements.size().
  template <class T, DType = DTypeOf<T>::value>
  Array(const std::vector<T>& elements, std::vector<std::int64_t> dims)
      : Array(of_range(elements, std::move(dims))) {}
  template <class T, std::size_t N, DType = DTypeOf<std::remove_const_t<T>>::value>
  Array(std::span<T, N> elements, std::vector<std::int64_t> dims)
      : Array(of_range(elements, std::move(dims))) {}
  /// Array({1.f, 2.f, 3.f, 4.f}, {2, 2}).
  template <class T, DType = DTypeOf<T>::value>
  Array(std::initializer_list<T> elements, std::vector<std::int64_t> dims)
      : Array(of_range(elements, std::move(dims))) {}
  /// A vector: Array{1.f, 2.f}.
  template <class T, DType = DTypeOf<T>::value>
  Array(std::initializer_list<T> elements)
      : Array(of_range(elements, dims_of({elements.size()}))) {}
  /// A matrix: Array{{1.f, 2.f}, {3.f, 4.f}}. ValueError if rows differ in length.
  template <class T, DType = DTypeOf<T>::value>
  Array(std::initializer_list<std::initializer_list<T>> rows) : Array(of_rows(rows)) {}
  /// Does not compile: rows of different types, as in Array{{1.5f, 2.5f}, {1, 2}}. Dims are not
  /// nested in the braces: Array({1.5f, 2.5f}, {1, 2}).
  Array(std::initializer_list<RowOfAnotherType> rows) = delete;
  /// A rank 3 tensor of matrices. ValueError if their dims differ.
  template <class T, DType = DTypeOf<T>::value>
  Array(std::initializer_list<std::initializer_list<std::initializer_list<T>>> matrices)
      : Array(of_matrices(matrices)) {}

  [[nodiscard]] static Array zeros(std::vector<std::int64_t> dims, DType dtype = DType::Float32);
  /// Fills an array with `value`, converted to `dtype` as by K::cast.
  [[nodiscard]] static Array full(std::vector<std::int64_t> dims, double value,
                                  DType dtype = DType::Float32);
  /// Copies row-major elements; a bool byte other than 0 becomes 1. ValueError for a null address.
  [[nodiscard]] static Array copy_of(const void* elements, std::vector<std::int64_t> dims,
                                     DType dtype);
  /// Views the caller's memory, which must outlive the Array and its copies; a write copies first.
  /// Variables and constants created from it copy, with bool bytes other than 0 as 1. ValueError
  /// for a null or misaligned address.
  [[nodiscard]] static Array view(const void* elements, std::vector<std::int64_t> dims,
                                  DType dtype);
  template <class T>
  [[nodiscard]] static Array view(const T* elements, std::vector<std::int64_t> dims) {
    return view(elements, std::move(dims), DTypeOf<T>::value);
  }

  DType dtype() const { return dtype_; }
  const DimVector& dims() const& { return dims_; }
  DimVector dims() const&& { return dims_; }  ///< a reference into a temporary would dangle
  int rank() const { return static_cast<int>(dims_.size()); }
  /// The number of elements.
  std::int64_t size() const { return size_; }
  /// The size of all elements in bytes.
  std::size_t bytes() const { return static_cast<std::size_t>(size_) * dtype_bytes(dtype_); }
  const void* data() const& { return data_; }
  /// Returns a mutable address; writes change no other Array, including later copies.
  void* data() &;
  const void* data() const&& = delete;  ///< would dangle: keep the Array in a variable

  /// The elements. TypeError unless dtype() is that of T.
  template <class T>
  std::span<const T> as() const& {
    require_dtype(DTypeOf<T>::value);
    return {static_cast<const T*>(data()), static_cast<std::size_t>(size_)};
  }
  /// The elements for writing; writes change no other Array, including later copies. TypeError
  /// unless dtype() is that of T.
  template <class T>
  std::span<T> as() & {
    require_dtype(DTypeOf<T>::value);
    return {static_cast<T*>(data()), static_cast<std::size_t>(size_)};
  }
  /// The elements of a temporary Array, kept alive: `for (float y : f({x})[0].as<float>())`.
  /// TypeError unless dtype() is that of T.
  template <class T>
  ArrayElements<T> as() const&& {
    return ArrayElements<T>(*this);
  }
  /// The only element. ValueError unless size() is 1, TypeError unless dtype() is that of T.
  template <class T>
  T item() const {
    require_one();
    return as<T>()[0];
  }
  /// The element at these indices, one per axis. ValueError if they are out of range.
  template <class T, class... Index>
  T at(Index... index) const {
    return as<T>()[offset({WholeNumber(index)...})];
  }

  /// Converts as K::cast does: to integers by truncation and saturation (NaN becomes 0), to bool by
  /// x != 0. Never returns a view.
  [[nodiscard]] Array astype(DType dtype) const;
  /// The same elements with other dims. ValueError unless they hold size() elements.
  [[nodiscard]] Array reshape(std::vector<std::int64_t> dims) const;
  /// Returns a view that is valid until this Array is moved from, assigned to or destroyed, or a
  /// mutable address of elements that it shares is taken.
  ArrayView as_view() const& { return {dtype_, data(), dims_}; }
  ArrayView as_view() const&& = delete;  ///< would dangle: keep the Array in a variable

  /// Compares dtype, dims and bytes: a NaN equals itself, 0 does not equal -0.
  bool operator==(const Array& other) const;
  /// Does not compile: a float32 element would never equal a double or an int. Compare item(), or
  /// with an Array of the same dtype.
  template <class NoArray,
            std::enable_if_t<
                std::is_convertible_v<NoArray, Array> && !std::is_same_v<NoArray, Array>, int> = 0>
  bool operator==(const NoArray& other) const = delete;

 private:
  friend Array runtime::uninitialised_array(std::vector<std::int64_t> dims, DType dtype);
  friend void* runtime::fill_address(Array& array);
  friend bool runtime::is_sole_owner(const Array& array);
  struct Elements;  // the reference-counted memory

  /// Elements of unspecified content.
  static Array uninitialised(std::vector<std::int64_t> dims, DType dtype);
  Array(DType dtype, std::span<const std::int64_t> dims);
  void allocate(std::size_t payload, bool* is_zeroed = nullptr);
  void release() noexcept;
  void* own_data();
  void copy_elements(const void* from);
  void make_bools_canonical();
  void swap(Array& other) noexcept;

  template <class Range>
  static Array of_range(const Range& elements, std::vector<std::int64_t> dims) {
    using T = typename Range::value_type;
    require_count(elements.size(), dims);
    Array array = uninitialised(std::move(dims), DTypeOf<T>::value);
    std::copy(elements.begin(), elements.end(), static_cast<T*>(array.data_));
    if constexpr (std::is_same_v<std::remove_cv_t<T>, bool>) array.make_bools_canonical();
    return array;
  }
  template <class T>
  static Array of_rows(std::initializer_list<std::initializer_list<T>> rows) {
    const std::size_t width = rows.size() == 0 ? 0 : rows.begin()->size();
    for (const auto& row : rows) require_equal("rows", width, row.size());
    Array array = uninitialised(dims_of({rows.size(), width}), DTypeOf<T>::value);
    auto* next = static_cast<T*>(array.data_);
    for (const auto& row : rows) next = std::copy(row.begin(), row.end(), next);
    return array;
  }
  template <class T>
  static Array of_matrices(
      std::initializer_list<std::initializer_list<std::initializer_list<T>>> matrices) {
    const std::size_t height = matrices.size() == 0 ? 0 : matrices.begin()->size();
    const std::size_t width = height == 0 ? 0 : matrices.begin()->begin()->size();
    for (const auto& matrix : matrices) {
      require_equal("matrices", height, matrix.size());
      for (const auto& row : matrix) require_equal("rows", width, row.size());
    }
    Array array = uninitialised(dims_of({matrices.size(), height, width}), DTypeOf<T>::value);
    auto* next = static_cast<T*>(array.data_);
    for (const auto& matrix : matrices) {
      for (const auto& row : matrix) next = std::copy(row.begin(), row.end(), next);
    }
    return array;
  }
  static std::vector<std::int64_t> dims_of(std::initializer_list<std::size_t> sizes);
  static void require_count(std::size_t given, std::span<const std::int64_t> dims);
  static void require_equal(const char* what, std::size_t first, std::size_t other);
  void require_dtype(DType dtype) const;
  void require_one() const;
  std::size_t offset(std::initializer_list<std::int64_t> index) const;

  static const std::byte kZero[64];  // the element of a moved-from Array

  DimVector dims_;
  DType dtype_ = DType::Float32;
  std::int64_t size_ = 0;
  void* data_ = nullptr;
  Elements* elements_ = nullptr;  // null for a view of the caller's memory
};

/// The elements of an Array that was a temporary, for reading; keeps them alive. Only a variable of
/// this type converts to std::span: a span of a temporary would dangle.
template <class T>
class ArrayElements {
 public:
  /// Not a contiguous range: std::span would take it as a temporary.
  using iterator = std::reverse_iterator<std::reverse_iterator<const T*>>;
  using const_iterator = iterator;
  using value_type = T;

  /// TypeError unless the dtype is that of T.
  explicit ArrayElements(const Array& array) : array_(array), size_(array_.as<T>().size()) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T* data() const& { return static_cast<const T*>(array_.data()); }
  const T* data() const&& = delete;
  iterator begin() const& { return at(0); }
  iterator begin() const&& = delete;
  iterator end() const { return at(size_); }
  /// REQUIRES: i < size(), and not empty().
  const T& operator[](std::size_t i) const& { return data()[i]; }
  T operator[](std::size_t i) const&& { return data()[i]; }
  const T& front() const& { return data()[0]; }
  T front() const&& { return data()[0]; }
  const T& back() const& { return data()[size_ - 1]; }
  T back() const&& { return data()[size_ - 1]; }
  operator std::span<const T>() const& { return {data(), size_}; }  // NOLINT: implicit on purpose
  operator std::span<const T>() const&& = delete;

 private:
  iterator at(std::size_t i) const { return iterator(std::reverse_iterator<const T*>(data() + i)); }

  const Array array_;
  std::size_t size_;
};

/// Prints as NumPy does: [[1. 2.]\n [3. 4.]], shortest digits; elides above 1000 elements.
KILN_API std::ostream& operator<<(std::ostream& out, const Array& array);

}  // namespace kiln
