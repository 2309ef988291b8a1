// Tensor, the symbolic value that K functions take and return, and argument types with which calls
// read as in Keras: shapes with None, axes, dtypes by name, operands that may be numbers.
#pragma once

#include <kiln/dim_vector.h>
#include <kiln/dtype.h>
#include <kiln/error.h>
#include <kiln/export.h>
#include <kiln/string_argument.h>
#include <kiln/where.h>
#include <kiln/whole_number.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace kiln {

struct TensorImpl;  // core/k/base/tensor_impl.h
struct TensorHasNoTruthValue_UseSwitchOrEmpty;  // named by the compiler's error

/// An unknown dimension: K::placeholder({.shape = {K::None, 784}}).
struct NoneType {
  explicit constexpr NoneType(int) {}
};
inline constexpr NoneType None{0};

/// A position along an axis, with the source line of the call.
class Index {
 public:
  template <class Integer, std::enable_if_t<is_whole_number_v<Integer>, int> = 0>
  Index(Integer position, Where where = Where::here())  // NOLINT: implicit on purpose
      : position_(saturated(position)), where_(where) {}
  template <class NoWholeNumber, std::enable_if_t<is_other_number_v<NoWholeNumber>, int> = 0>
  Index(NoWholeNumber) = delete;  // NOLINT
  std::int64_t position() const { return position_; }
  Where where() const { return where_; }

 private:
  std::int64_t position_;
  Where where_;
};

/// A symbolic value: a handle to an immutable node of the graph, cheap to copy. Thread-safe. A
/// default-constructed Tensor is empty, and so is one that `gradients` returns for a variable on
/// which the loss does not depend. Using an empty Tensor throws ValueError, which names that
/// variable.
class [[nodiscard, gnu::visibility("default")]] Tensor {  // KILN_API does not go with nodiscard
 public:
  Tensor() = default;
  explicit Tensor(std::shared_ptr<const TensorImpl> impl) : impl_(std::move(impl)) {}
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(const Tensor&) & = default;  ///< not to a temporary: w[0] = y would do nothing
  Tensor& operator=(Tensor&&) & noexcept = default;
  ~Tensor() = default;

  bool empty() const;
  /// Elements have no values while the graph is built, so that `if (x > y)` does not compile:
  /// switch_ chooses by the values, empty() tells whether there is a tensor.
  template <class Reason = TensorHasNoTruthValue_UseSwitchOrEmpty>
  explicit operator bool() const = delete;
  /// The name it was given, prefixed by its name scopes; may be empty.
  std::string name() const;
  /// Entry i of axis 0, negative from the end; the result lacks axis 0.
  /// Errors: ValueError for a scalar or an index out of range.
  Tensor operator[](Index i) const;
  /// Entries start .. stop-1 of axis 0, by Python's rules for negative and missing bounds.
  /// Errors: ValueError for a scalar.
  Tensor slice(std::optional<WholeNumber> start, std::optional<WholeNumber> stop,
               Where where = Where::here()) const;

  const std::shared_ptr<const TensorImpl>& impl() const& { return impl_; }
  std::shared_ptr<const TensorImpl> impl() const&& { return impl_; }

 private:
  std::shared_ptr<const TensorImpl> impl_;
};

/// Prints name, dtype and shape: "x float32[None,784]".
KILN_API std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

/// Whether T is an arithmetic type whose values can be operands: bool included, characters not.
template <class T>
inline constexpr bool is_operand_number_v = std::is_arithmetic_v<T> && !is_character_v<T>;

/// An operand of a K function or operator: a tensor, or a number that takes the dtype of the other
/// operand. Remembers the source line of the call.
class KILN_API Operand {
 public:
  enum class Kind : std::uint8_t { Tensor, Bool, Integer, Unsigned, Float };

  Operand(const Tensor& tensor, Where where = Where::here())  // NOLINT: implicit on purpose
      : value_(tensor), where_(where) {}
  template <class Number, std::enable_if_t<is_operand_number_v<Number>, int> = 0>
  Operand(Number number, Where where = Where::here())  // NOLINT: implicit on purpose
      : value_(number_value(number)), where_(where) {}

  Kind kind() const { return static_cast<Kind>(value_.index()); }
  bool is_tensor() const { return kind() == Kind::Tensor; }
  /// REQUIRES: is_tensor().
  const Tensor& tensor() const { return std::get<Tensor>(value_); }
  /// The number if it is a bool or an integer of int64, else 0.
  std::int64_t integer() const {
    return kind() == Kind::Bool      ? static_cast<std::int64_t>(std::get<bool>(value_))
           : kind() == Kind::Integer ? std::get<std::int64_t>(value_)
                                     : 0;
  }
  /// The number of Kind::Unsigned. REQUIRES: that kind.
  std::uint64_t unsigned_integer() const { return std::get<std::uint64_t>(value_); }
  /// The number as a double; 0 for a tensor.
  double floating() const {
    return kind() == Kind::Float      ? std::get<double>(value_)
           : kind() == Kind::Unsigned ? static_cast<double>(unsigned_integer())
                                      : static_cast<double>(integer());
  }
  Where where() const { return where_; }

 private:
  using Value = std::variant<Tensor, bool, std::int64_t, std::uint64_t, double>;  // as Kind

  /// Integers beyond int64 are of Kind::Unsigned.
  template <class Number>
  static Value number_value(Number number) {
    if constexpr (std::is_same_v<Number, bool>) {
      return Value(std::in_place_type<bool>, number);
    } else if constexpr (std::is_integral_v<Number>) {
      const bool fits = std::is_signed_v<Number> || !(static_cast<std::uint64_t>(number) >> 63);
      if (fits) return Value(std::in_place_type<std::int64_t>, static_cast<std::int64_t>(number));
      return Value(std::in_place_type<std::uint64_t>, static_cast<std::uint64_t>(number));
    } else {
      return Value(std::in_place_type<double>, static_cast<double>(number));
    }
  }

  Value value_;
  Where where_;
};

/// A dtype argument: a name ("float32"), a DType, or unset. The function that gets an unknown name
/// throws TypeError.
class DTypeArgument {
 public:
  DTypeArgument() = default;
  DTypeArgument(NoneType) {}  // NOLINT
  DTypeArgument(DType dtype)  // NOLINT
      : name_(is_dtype(dtype) ? std::string(dtype_name(dtype))
                              : "DType(" + std::to_string(static_cast<int>(dtype)) + ")") {}
  DTypeArgument(const char* name) : name_(name ? name : "") {}  // NOLINT
  DTypeArgument(std::nullptr_t) = delete;  // NOLINT: cast(x, 0)
  DTypeArgument(std::string name) : name_(std::move(name)) {}  // NOLINT
  bool is_set() const { return name_.has_value(); }
  /// REQUIRES: is_set().
  const std::string& name() const { return *name_; }

 private:
  std::optional<std::string> name_;
};

struct NameOptions {
  StringArgument name = {};
};

/// One entry of a shape: a size, None, or an integer scalar tensor. A size may be data-dependent,
/// that is not computed from shapes alone; a function with such sizes runs in several partitions,
/// first those that compute the sizes. In the step of a loop a size cannot depend on the data of
/// the step: `function` throws ValueError.
class KILN_API ShapeEntry {
 public:
  template <class Integer, std::enable_if_t<is_whole_number_v<Integer>, int> = 0>
  ShapeEntry(Integer size) : value_(saturated(size)) {}  // NOLINT
  template <class NoWholeNumber, std::enable_if_t<is_other_number_v<NoWholeNumber>, int> = 0>
  ShapeEntry(NoWholeNumber) = delete;  // NOLINT
  ShapeEntry(NoneType none) : value_(none) {}  // NOLINT
  ShapeEntry(std::optional<std::int64_t> size) : ShapeEntry(None) {  // NOLINT
    if (size) value_ = *size;
  }
  ShapeEntry(const Tensor& scalar) : value_(scalar) {}  // NOLINT

  bool is_none() const { return std::holds_alternative<NoneType>(value_); }
  bool is_tensor() const { return std::holds_alternative<Tensor>(value_); }
  /// REQUIRES: neither None nor a tensor.
  std::int64_t size() const { return std::get<std::int64_t>(value_); }
  /// REQUIRES: is_tensor().
  const Tensor& tensor() const { return std::get<Tensor>(value_); }

 private:
  std::variant<NoneType, std::int64_t, Tensor> value_;
};

/// A shape argument: {} is a scalar, {K::None, 784} a matrix with any number of rows; an integer
/// tensor of rank 1 and known length has one entry per element. Shape::unset() is "not given".
class KILN_API Shape {
 public:
  Shape(std::initializer_list<ShapeEntry> entries) : value_(std::vector<ShapeEntry>(entries)) {}
  Shape(std::vector<ShapeEntry> entries) : value_(std::move(entries)) {}  // NOLINT
  Shape(const std::vector<std::int64_t>& sizes)  // NOLINT
      : value_(std::vector<ShapeEntry>(sizes.begin(), sizes.end())) {}
  Shape(const DimVector& sizes)  // NOLINT: as Array::dims() gives
      : value_(std::vector<ShapeEntry>(sizes.begin(), sizes.end())) {}
  Shape(const std::vector<std::optional<std::int64_t>>& sizes)  // NOLINT: as int_shape gives
      : value_(std::vector<ShapeEntry>(sizes.begin(), sizes.end())) {}
  Shape(const Tensor& vector) : value_(vector) {}  // NOLINT
  static Shape unset() {
    Shape shape{};
    shape.is_set_ = false;
    return shape;
  }

  bool is_set() const { return is_set_; }
  bool is_tensor() const { return std::holds_alternative<Tensor>(value_); }
  /// Empty if unset. REQUIRES: not is_tensor().
  const std::vector<ShapeEntry>& entries() const {
    return std::get<std::vector<ShapeEntry>>(value_);
  }
  /// REQUIRES: is_tensor().
  const Tensor& tensor() const { return std::get<Tensor>(value_); }

 private:
  std::variant<std::vector<ShapeEntry>, Tensor> value_;
  bool is_set_ = true;
};

/// One axis or several, negative ones counted from the end. None means all axes; {} is an empty
/// list: no axis.
class Axes {
 public:
  Axes(NoneType) {}  // NOLINT
  template <class Integer, std::enable_if_t<is_whole_number_v<Integer>, int> = 0>
  Axes(Integer axis) : axes_(std::vector<std::int64_t>{saturated(axis)}) {}  // NOLINT
  template <class NoWholeNumber, std::enable_if_t<is_other_number_v<NoWholeNumber>, int> = 0>
  Axes(NoWholeNumber) = delete;  // NOLINT
  Axes(std::initializer_list<WholeNumber> axes)
      : axes_(std::vector<std::int64_t>(axes.begin(), axes.end())) {}
  Axes(std::vector<std::int64_t> axes) : axes_(std::move(axes)) {}  // NOLINT
  /// Whether it is not None.
  bool is_set() const { return axes_.has_value(); }
  /// REQUIRES: is_set().
  const std::vector<std::int64_t>& axes() const { return *axes_; }

 private:
  std::optional<std::vector<std::int64_t>> axes_;
};

/// Arithmetic and comparison with a tensor or number on either side. A number takes the dtype of
/// the tensor. Comparisons return bool. Operands broadcast by NumPy's rules, except that an unknown
/// size (None) never broadcasts: it must equal the other operand's size at the call, even if it is
/// 1 there. Declare an axis that broadcasts with size 1, or mark it with pattern_broadcast.
/// Errors: TypeError for tensors of different dtypes, bools in arithmetic, and a floating-point
/// number beside an integer or bool tensor: cast the tensor; ValueError for shapes that do not
/// broadcast.
KILN_API Tensor operator+(const Operand& x, const Operand& y);
KILN_API Tensor operator-(const Operand& x, const Operand& y);
KILN_API Tensor operator-(const Operand& x);
KILN_API Tensor operator*(const Operand& x, const Operand& y);
KILN_API Tensor operator<(const Operand& x, const Operand& y);
KILN_API Tensor operator<=(const Operand& x, const Operand& y);
KILN_API Tensor operator>(const Operand& x, const Operand& y);
KILN_API Tensor operator>=(const Operand& x, const Operand& y);
/// Division, else as operator*. Integers round toward zero, and x / 0 is 0 for them.
KILN_API Tensor operator/(const Operand& x, const Operand& y);
/// Elementwise comparison, as operator<. same_node tells whether two handles are the same.
KILN_API Tensor operator==(const Operand& x, const Operand& y);
KILN_API Tensor operator!=(const Operand& x, const Operand& y);
/// Elementwise logic of bool tensors, as logical_and, logical_or and logical_not. Both sides are
/// evaluated. A C++ bool beside a tensor does not compile: && would not skip the tensor; write
/// logical_and(x, flag). Errors of !x name the line of x.
KILN_API Tensor operator&&(const Tensor& x, const Operand& y);
KILN_API Tensor operator||(const Tensor& x, const Operand& y);
KILN_API Tensor operator!(const Tensor& x);
Tensor operator&&(const Tensor& x, bool y) = delete;
Tensor operator||(const Tensor& x, bool y) = delete;
/// Returns whether two handles refer to the same value of the graph; true for two empty ones.
///     const auto x = K::zeros({2}), y = x;
///     K::same_node(x, y) && !K::same_node(x, x + 0);  // true
[[nodiscard]] KILN_API bool same_node(const Tensor& x, const Tensor& y);

}  // namespace kiln
