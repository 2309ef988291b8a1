// Host values: Array owns or views the elements of a dense, row-major tensor; ArrayView and
// MutableArrayView are what the call that allocates nothing takes.
#pragma once

#include <kiln/dtype.h>
#include <kiln/error.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace kiln {

class Array;
namespace runtime {
Array uninitialised_array(std::vector<std::int64_t> dims, DType dtype);
void* fill_address(Array& array);
}  // namespace runtime

/// Storage of a float16 or bfloat16 element: its bits.
struct float16 {
  std::uint16_t bits = 0;
  bool operator==(const float16&) const = default;
};
struct bfloat16 {
  std::uint16_t bits = 0;
  bool operator==(const bfloat16&) const = default;
};

/// The dtype whose elements are stored as T.
template <class T> struct DTypeOf;
template <> struct DTypeOf<bool> { static constexpr DType value = DType::Bool; };
template <> struct DTypeOf<std::int8_t> { static constexpr DType value = DType::Int8; };
template <> struct DTypeOf<std::int16_t> { static constexpr DType value = DType::Int16; };
template <> struct DTypeOf<std::int32_t> { static constexpr DType value = DType::Int32; };
template <> struct DTypeOf<std::int64_t> { static constexpr DType value = DType::Int64; };
template <> struct DTypeOf<std::uint8_t> { static constexpr DType value = DType::UInt8; };
template <> struct DTypeOf<std::uint16_t> { static constexpr DType value = DType::UInt16; };
template <> struct DTypeOf<std::uint32_t> { static constexpr DType value = DType::UInt32; };
template <> struct DTypeOf<std::uint64_t> { static constexpr DType value = DType::UInt64; };
template <> struct DTypeOf<float16> { static constexpr DType value = DType::Float16; };
template <> struct DTypeOf<bfloat16> { static constexpr DType value = DType::BFloat16; };
template <> struct DTypeOf<float> { static constexpr DType value = DType::Float32; };
template <> struct DTypeOf<double> { static constexpr DType value = DType::Float64; };

/// A tensor in the caller's memory, read.
struct ArrayView {
  DType dtype = DType::Float32;
  const void* data = nullptr;
  std::span<const std::int64_t> dims;
};
/// A tensor in the caller's memory, written.
struct MutableArrayView {
  DType dtype = DType::Float32;
  void* data = nullptr;
  std::span<const std::int64_t> dims;
};

/// A value: dtype, dims and elements in row-major order, at an address that is a multiple of 64.
/// Copies share the elements until one of them is written. An Array that has handed out an address
/// for writing (data() or as() of one that is not const) shares no longer: each later copy, and
/// what is made from it (a variable, a constant, a feed that is kept), has elements of its own, so
/// that writing through the address changes this Array alone. Reading a const Array, item() and
/// at() hand out nothing. A move takes the elements along, and the address stays valid. Distinct
/// Arrays may be used by different threads. A moved-from Array is the float32 scalar 0.
/// Elements of a bool Array are 0 or 1: any other byte that is copied in counts as 1.
/// Errors: OutOfMemory; ValueError when a dim is negative, there are more than kMaxRank, or their
/// product leaves 64 bits.
class KILN_API Array {
 public:
  static constexpr int kMaxRank = 64;

  /// An empty vector of float32.
  Array() : Array(zeros({0}, DType::Float32)) {}
  Array(const Array& other);
  Array(Array&& other) noexcept;
  Array& operator=(const Array& other);
  Array& operator=(Array&& other) noexcept;
  ~Array();

  template <class T, DType = DTypeOf<T>::value>
  Array(T scalar) : Array(copy_of(&scalar, {}, DTypeOf<T>::value)) {}  // NOLINT
  /// A vector: Array(elements).
  template <class T, DType = DTypeOf<T>::value>
  Array(const std::vector<T>& elements)  // NOLINT
      : Array(of_range(elements, dims_of({elements.size()}))) {}
  /// ValueError when dims hold another number of elements; here and below.
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
  /// A matrix: Array{{1.f, 2.f}, {3.f, 4.f}}. ValueError when the rows differ in length.
  template <class T, DType = DTypeOf<T>::value>
  Array(std::initializer_list<std::initializer_list<T>> rows) : Array(of_rows(rows)) {}
  /// Matrices, one after the other. ValueError when their dims differ.
  template <class T, DType = DTypeOf<T>::value>
  Array(std::initializer_list<std::initializer_list<std::initializer_list<T>>> matrices)
      : Array(of_matrices(matrices)) {}

  static Array zeros(std::vector<std::int64_t> dims, DType dtype = DType::Float32);
  /// `value` is converted as K::cast converts.
  static Array full(std::vector<std::int64_t> dims, double value, DType dtype = DType::Float32);
  /// Any byte of a bool but 0 becomes 1.
  static Array copy_of(const void* elements, std::vector<std::int64_t> dims, DType dtype);
  /// A view of memory that outlives the Array and its copies; writing to it makes a copy first.
  /// Variables and constants made from it have copies; of bools, any byte but 0 then counts as 1.
  /// Errors: ValueError for a null or misaligned address.
  static Array view(const void* elements, std::vector<std::int64_t> dims, DType dtype);
  template <class T>
  static Array view(const T* elements, std::vector<std::int64_t> dims) {
    return view(elements, std::move(dims), DTypeOf<T>::value);
  }

  DType dtype() const { return dtype_; }
  const std::vector<std::int64_t>& dims() const { return dims_; }
  int rank() const { return static_cast<int>(dims_.size()); }
  /// The number of elements.
  std::int64_t size() const { return size_; }
  /// The number of bytes of all elements.
  std::size_t bytes() const { return static_cast<std::size_t>(size_) * dtype_bytes(dtype_); }
  const void* data() const { return data_; }
  /// For writing: no other Array sees what is written, copies that are made later included.
  void* data();

  /// The elements. TypeError when T is not how this dtype is stored.
  template <class T>
  std::span<const T> as() const {
    require_dtype(DTypeOf<T>::value);
    return {static_cast<const T*>(data()), static_cast<std::size_t>(size_)};
  }
  /// The elements, for writing: no other Array sees what is written, copies that are made later
  /// included.
  template <class T>
  std::span<T> as() {
    require_dtype(DTypeOf<T>::value);
    return {static_cast<T*>(data()), static_cast<std::size_t>(size_)};
  }
  /// The only element. ValueError when there is another number of them.
  template <class T>
  T item() const {
    require_one();
    return as<T>()[0];
  }
  /// The element at these indices. ValueError when they are outside.
  template <class T, class... Index>
  T at(Index... index) const {
    return as<T>()[offset({static_cast<std::int64_t>(index)...})];
  }

  /// Converted as K::cast converts: to integers by truncating and saturating (NaN gives 0), to
  /// bool by x != 0. The result is never a view.
  Array astype(DType dtype) const;
  /// The same elements under other dims. ValueError when their number differs.
  Array reshape(std::vector<std::int64_t> dims) const;
  ArrayView as_view() const { return {dtype_, data(), dims_}; }

  /// Same dtype, dims and bytes: a NaN equals itself, and 0 is not -0.
  bool operator==(const Array& other) const;

 private:
  friend Array runtime::uninitialised_array(std::vector<std::int64_t> dims, DType dtype);
  friend void* runtime::fill_address(Array& array);
  struct Elements;  // memory with a count of the Arrays that share it

  /// Elements of unspecified content.
  static Array uninitialised(std::vector<std::int64_t> dims, DType dtype);
  Array(DType dtype, std::vector<std::int64_t> dims);
  void allocate();
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
  static void require_count(std::size_t given, const std::vector<std::int64_t>& dims);
  static void require_equal(const char* what, std::size_t first, std::size_t other);
  void require_dtype(DType dtype) const;
  void require_one() const;
  std::size_t offset(std::initializer_list<std::int64_t> index) const;

  DType dtype_ = DType::Float32;
  std::vector<std::int64_t> dims_;
  std::int64_t size_ = 0;
  void* data_ = nullptr;
  Elements* elements_ = nullptr;  // null for a view of the caller's memory
};

/// As NumPy prints: [[1. 2.]\n [3. 4.]], shortest digits, long ones elided.
KILN_API std::ostream& operator<<(std::ostream& out, const Array& array);

}  // namespace kiln
