// Describes operands as oneDNN's matmul takes them: row-major or transposed, with one leading
// dimension.
#pragma once

#include "backends/cpu/onednn/matmul_shape.h"

namespace kiln::cpu {

/// Element (i, j) is at j * leading + i where transposed, else at i * leading + j.
struct DenseOperand {
  bool transposed = false;
  std::int64_t leading = 0;  // at least the extent of the other dimension
};

struct DenseMatmul {
  std::int64_t m = 0, n = 0, k = 0;
  DenseOperand lhs, rhs, result;  // the result is never transposed
};

/// A matmul, or the reason why oneDNN cannot take it.
struct DenseForm {
  std::optional<DenseMatmul> matmul;
  std::string rejection;
};
/// Describes the shape with leading dimensions; as row-major where both forms fit.
DenseForm dense_form(const OneDnnMatmulShape& shape);

}  // namespace kiln::cpu
