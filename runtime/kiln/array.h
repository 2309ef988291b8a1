// Host values: Array owns or views the elements of a dense, row-major tensor; ArrayView and
// MutableArrayView are what the call that allocates nothing takes.
#pragma once

#include <kiln/dtype.h>
#include <kiln/error.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <span>
#include <vector>

namespace kiln {

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

/// A value: dtype, dims and elements. Copies share the elements until one of them is written.
/// Errors: OutOfMemory; ValueError when dims are negative or their product leaves 64 bits.
class KILN_API Array {
 public:
  /// An empty vector of float32.
  Array() : Array(zeros({0}, DType::Float32)) {}
  template <class T, DType = DTypeOf<T>::value>
  Array(T scalar) : Array(copy_of(&scalar, {}, DTypeOf<T>::value)) {}  // NOLINT
  template <class T, DType = DTypeOf<T>::value>
  Array(const std::vector<T>& elements)  // NOLINT
      : Array(elements, {static_cast<std::int64_t>(elements.size())}) {}
  /// ValueError when dims hold another number of elements.
  template <class T, DType = DTypeOf<T>::value>
  Array(const std::vector<T>& elements, std::vector<std::int64_t> dims)
      : Array(of_elements(std::span<const T>(elements), std::move(dims))) {}
  Array(const std::vector<bool>& elements);  // NOLINT
  template <class T, DType = DTypeOf<T>::value>
  Array(std::span<const T> elements, std::vector<std::int64_t> dims)
      : Array(of_elements(elements, std::move(dims))) {}
  template <class T, DType = DTypeOf<T>::value>
  Array(std::initializer_list<T> elements)
      : Array(std::vector<T>(elements)) {}
  /// A matrix. ValueError when the rows differ in length.
  template <class T, DType = DTypeOf<T>::value>
  Array(std::initializer_list<std::initializer_list<T>> rows) : Array(of_rows(rows)) {}

  static Array zeros(std::vector<std::int64_t> dims, DType dtype = DType::Float32);
  static Array full(std::vector<std::int64_t> dims, double value, DType dtype = DType::Float32);
  static Array copy_of(const void* elements, std::vector<std::int64_t> dims, DType dtype);
  /// A view of memory that outlives the Array and its copies; writing to it makes a copy first.
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
  const void* data() const { return data_.get(); }
  /// For writing: no other Array sees what is written.
  void* data();

  /// The elements. TypeError when T is not how this dtype is stored.
  template <class T>
  std::span<const T> as() const {
    require_dtype(DTypeOf<T>::value);
    return {static_cast<const T*>(data()), static_cast<std::size_t>(size_)};
  }
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
  /// The element at these indices.
  template <class T, class... Index>
  T at(Index... index) const {
    return as<T>()[offset({static_cast<std::int64_t>(index)...})];
  }

  /// Converted as K::cast converts.
  Array astype(DType dtype) const;
  /// The same elements under other dims. ValueError when their number differs.
  Array reshape(std::vector<std::int64_t> dims) const;
  ArrayView as_view() const { return {dtype_, data(), dims_}; }

  /// Same dtype, dims and bytes.
  bool operator==(const Array& other) const;

 private:
  Array(DType dtype, std::vector<std::int64_t> dims);
  template <class T>
  static Array of_elements(std::span<const T> elements, std::vector<std::int64_t> dims) {
    require_count(elements.size(), dims);
    return copy_of(elements.data(), std::move(dims), DTypeOf<T>::value);
  }
  template <class T>
  static Array of_rows(std::initializer_list<std::initializer_list<T>> rows) {
    std::vector<T> elements;
    const std::size_t width = rows.size() == 0 ? 0 : rows.begin()->size();
    for (const auto& row : rows) {
      require_width(row.size(), width);
      elements.insert(elements.end(), row.begin(), row.end());
    }
    return Array(elements, {static_cast<std::int64_t>(rows.size()),
                            static_cast<std::int64_t>(width)});
  }
  static void require_count(std::size_t given, const std::vector<std::int64_t>& dims);
  static void require_width(std::size_t given, std::size_t width);
  void require_dtype(DType dtype) const;
  void require_one() const;
  std::size_t offset(std::initializer_list<std::int64_t> index) const;

  DType dtype_ = DType::Float32;
  std::vector<std::int64_t> dims_;
  std::int64_t size_ = 0;
  std::shared_ptr<void> data_;  // shared with copies until written
  bool is_view_ = false;
};

/// As NumPy prints: [[1. 2.]\n [3. 4.]], shortest digits, long ones elided.
KILN_API std::ostream& operator<<(std::ostream& out, const Array& array);

}  // namespace kiln
