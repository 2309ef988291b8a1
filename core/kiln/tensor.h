// Tensor, the symbolic value that every K function takes and gives, and the small argument types
// that let calls be written as in Keras: shapes with None, axes, dtypes by name, operands that may
// be numbers.
#pragma once

#include <kiln/dtype.h>
#include <kiln/error.h>
#include <kiln/export.h>
#include <kiln/where.h>

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace kiln {

struct TensorImpl;  // core/k/frame/tensor_impl.h

/// An unknown dimension: K::placeholder({.shape = {K::None, 784}}).
struct NoneType {
  explicit constexpr NoneType(int) {}
};
inline constexpr NoneType None{0};

/// A position along an axis; remembers the user's source line.
class Index {
 public:
  template <class Integer, std::enable_if_t<std::is_integral_v<Integer>, int> = 0>
  Index(Integer position, Where where = Where::here())  // NOLINT: implicit on purpose
      : position_(static_cast<std::int64_t>(position)), where_(where) {}
  std::int64_t position() const { return position_; }
  Where where() const { return where_; }

 private:
  std::int64_t position_;
  Where where_;
};

/// A symbolic value: a cheap handle to an immutable node of the graph. Copies share the node.
/// A default-constructed Tensor is empty; `gradients` also gives an empty one where no path leads
/// to the variable. Using an empty Tensor throws ValueError (naming that variable).
class KILN_API Tensor {
 public:
  Tensor() = default;
  explicit Tensor(std::shared_ptr<const TensorImpl> impl) : impl_(std::move(impl)) {}

  bool empty() const;
  explicit operator bool() const { return !empty(); }
  /// The name given when it was made, with its name scopes; may be empty.
  std::string name() const;
  /// Element i of axis 0 (negative counts from the end): one axis less.
  /// Errors: ValueError for a scalar and for an index that is out of range.
  Tensor operator[](Index i) const;
  /// Elements start .. stop-1 of axis 0, Python's rules for negative and missing bounds.
  Tensor slice(std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
               Where where = Where::here()) const;

  const std::shared_ptr<const TensorImpl>& impl() const { return impl_; }

 private:
  std::shared_ptr<const TensorImpl> impl_;
};

/// "x float32[None,784]".
KILN_API std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

/// An operand of a K function or operator: a tensor, or a number that adopts the dtype of the
/// tensor beside it. Remembers the user's source line.
class KILN_API Operand {
 public:
  enum class Kind : std::uint8_t { Tensor, Bool, Integer, Real };

  Operand(const Tensor& tensor, Where where = Where::here())  // NOLINT: implicit on purpose
      : tensor_(tensor), where_(where) {}
  template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
  Operand(Number number, Where where = Where::here())  // NOLINT: implicit on purpose
      : kind_(kind_of(number)),
        integer_(kind_ == Kind::Real ? 0 : static_cast<std::int64_t>(number)),
        real_(static_cast<double>(number)),
        where_(where) {}

  Kind kind() const { return kind_; }
  bool is_tensor() const { return kind_ == Kind::Tensor; }
  const Tensor& tensor() const { return tensor_; }
  std::int64_t integer() const { return integer_; }
  double real() const { return real_; }
  Where where() const { return where_; }

 private:
  /// Integers beyond int64 count as real.
  template <class Number>
  static constexpr Kind kind_of(Number number) {
    if (std::is_same_v<Number, bool>) return Kind::Bool;
    if (!std::is_integral_v<Number>) return Kind::Real;
    const bool fits = std::is_signed_v<Number> || !(static_cast<std::uint64_t>(number) >> 63);
    return fits ? Kind::Integer : Kind::Real;
  }

  Kind kind_ = Kind::Tensor;
  Tensor tensor_;
  std::int64_t integer_ = 0;
  double real_ = 0;
  Where where_;
};

/// A dtype argument: a name ("float32"), a DType, or unset. An unknown name is a TypeError of the
/// function that it is given to.
class DTypeArgument {
 public:
  DTypeArgument() = default;
  DTypeArgument(NoneType) {}  // NOLINT
  DTypeArgument(DType dtype)  // NOLINT
      : name_(is_dtype(dtype) ? std::string(dtype_name(dtype))
                              : "DType(" + std::to_string(static_cast<int>(dtype)) + ")") {}
  DTypeArgument(const char* name) : name_(name) {}             // NOLINT
  DTypeArgument(std::string name) : name_(std::move(name)) {}  // NOLINT
  bool is_set() const { return name_.has_value(); }
  /// REQUIRES: is_set().
  const std::string& name() const { return *name_; }

 private:
  std::optional<std::string> name_;
};

struct NameOptions {
  std::string name = {};
};

/// One entry of a shape: a size, None, or an integer scalar tensor. A function with sizes that are
/// data, not computed from shapes, runs in stages: everything that the sizes need first. So a size
/// cannot be data of a loop's step: that is a ValueError of `function`.
class KILN_API ShapeEntry {
 public:
  template <class Integer, std::enable_if_t<std::is_integral_v<Integer>, int> = 0>
  ShapeEntry(Integer size) : size_(static_cast<std::int64_t>(size)) {}     // NOLINT
  ShapeEntry(NoneType) {}                                                  // NOLINT
  ShapeEntry(std::optional<std::int64_t> size) : size_(size) {}            // NOLINT
  ShapeEntry(const Tensor& scalar) : tensor_(scalar), is_tensor_(true) {}  // NOLINT

  bool is_none() const { return !size_ && !is_tensor_; }
  bool is_tensor() const { return is_tensor_; }
  /// REQUIRES: neither None nor a tensor.
  std::int64_t size() const { return *size_; }
  const Tensor& tensor() const { return tensor_; }

 private:
  std::optional<std::int64_t> size_;
  Tensor tensor_;
  bool is_tensor_ = false;
};

/// A shape argument: {} is a scalar, {K::None, 784} a matrix with any number of rows, an integer
/// tensor of rank 1 and known length one entry per element; Shape::unset() is "not given".
class KILN_API Shape {
 public:
  Shape(std::initializer_list<ShapeEntry> entries) : entries_(entries) {}
  Shape(std::vector<ShapeEntry> entries) : entries_(std::move(entries)) {}  // NOLINT
  Shape(const std::vector<std::int64_t>& sizes)                             // NOLINT
      : entries_(sizes.begin(), sizes.end()) {}
  Shape(const std::vector<std::optional<std::int64_t>>& sizes)  // NOLINT: as int_shape gives
      : entries_(sizes.begin(), sizes.end()) {}
  Shape(const Tensor& vector) : vector_(vector), kind_(Kind::Tensor) {}  // NOLINT
  static Shape unset() { return Shape(Kind::Unset); }

  bool is_set() const { return kind_ != Kind::Unset; }
  bool is_tensor() const { return kind_ == Kind::Tensor; }
  const std::vector<ShapeEntry>& entries() const { return entries_; }
  const Tensor& tensor() const { return vector_; }

 private:
  enum class Kind : std::uint8_t { Entries, Tensor, Unset };
  explicit Shape(Kind kind) : kind_(kind) {}
  std::vector<ShapeEntry> entries_;
  Tensor vector_;
  Kind kind_ = Kind::Entries;
};

/// One axis or several, negative ones counted from the end; unset is "all axes".
class Axes {
 public:
  Axes() = default;
  Axes(NoneType) {}                            // NOLINT
  Axes(int axis) : axes_{axis}, set_(true) {}  // NOLINT
  Axes(std::initializer_list<std::int64_t> axes) : axes_(axes), set_(true) {}
  Axes(std::vector<std::int64_t> axes) : axes_(std::move(axes)), set_(true) {}  // NOLINT
  bool is_set() const { return set_; }
  const std::vector<std::int64_t>& axes() const { return axes_; }

 private:
  std::vector<std::int64_t> axes_;
  bool set_ = false;
};

/// Operators on tensors with numbers on either side; broadcasting as NumPy does. A number adopts
/// the tensor's dtype; one that is not integral beside an integer tensor is a TypeError, and so
/// are two tensors of different dtype. Comparisons give bool.
KILN_API Tensor operator+(const Operand& x, const Operand& y);
KILN_API Tensor operator-(const Operand& x, const Operand& y);
KILN_API Tensor operator*(const Operand& x, const Operand& y);
/// Integers divide toward zero; x / 0 is 0 for them.
KILN_API Tensor operator/(const Operand& x, const Operand& y);
KILN_API Tensor operator-(const Operand& x);
KILN_API Tensor operator<(const Operand& x, const Operand& y);
KILN_API Tensor operator<=(const Operand& x, const Operand& y);
KILN_API Tensor operator>(const Operand& x, const Operand& y);
KILN_API Tensor operator>=(const Operand& x, const Operand& y);
/// Elementwise, not identity: use same_node for that.
KILN_API Tensor operator==(const Operand& x, const Operand& y);
KILN_API Tensor operator!=(const Operand& x, const Operand& y);
/// Whether two handles mean the same value of the graph.
///     const auto x = K::zeros({2}), y = x;
///     K::same_node(x, y) && !K::same_node(x, x + 0);  // true
KILN_API bool same_node(const Tensor& x, const Tensor& y);

}  // namespace kiln
