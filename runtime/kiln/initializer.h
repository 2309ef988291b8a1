// The initializer of a variable: a function of its shape and dtype.
#pragma once

#include <kiln/array.h>
#include <kiln/tensor.h>

#include <functional>

namespace kiln {

/// Makes the value of a new variable. Converts from a function, and from Keras' name of one of
/// kiln/initializers.h with its default options: "glorot_uniform". Copies are equal.
class KILN_API Initializer {
 public:
  /// Gets sizes, none of them negative, and a dtype, and returns an array of exactly these.
  using Make = std::function<Array(const std::vector<std::int64_t>& shape, DType dtype)>;

  template <class Function,
            std::enable_if_t<std::is_constructible_v<Make, Function> &&
                                 !std::is_same_v<std::decay_t<Function>, Initializer>,
                             int> = 0>
  Initializer(Function make) : make_(std::move(make)) {}  // NOLINT: implicit on purpose
  /// ValueError for an unknown name, with the nearest one.
  Initializer(const char* name, Where where = Where::here());  // NOLINT
  Initializer(const std::string& name, Where where = Where::here());  // NOLINT
  Initializer(std::nullptr_t) = delete;  // NOLINT

  /// Returns the value of a variable of that shape. dtype: unset: floatx(). Without a seed in the
  /// initializer's options, each call draws other numbers from the process-wide generator.
  /// Errors: ValueError for an empty function, a negative size or a shape that the initializer
  /// does not take, and for a result of another type; TypeError for a dtype that it does not make.
  Array operator()(const std::vector<std::int64_t>& shape, const DTypeArgument& dtype = {},
                   Where where = Where::here()) const;

 private:
  Make make_;
};

}  // namespace kiln
