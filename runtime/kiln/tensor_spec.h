// The names, dtypes and shapes of what a function takes and returns.
#pragma once

#include <kiln/dtype.h>
#include <kiln/export.h>

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace kiln {

/// An input, an output or a variable of a function.
struct TensorSpec {
  std::string name;  ///< distinct among the inputs, and among the outputs
  DType dtype = DType::Float32;
  std::vector<std::optional<std::int64_t>> shape;  ///< unset: known at the call only
  bool is_sparse = false;  ///< a sparse placeholder
  bool operator==(const TensorSpec&) const = default;
};

/// Prints as a Tensor does: "x float32[None,784]".
KILN_API std::ostream& operator<<(std::ostream& out, const TensorSpec& spec);

}  // namespace kiln
