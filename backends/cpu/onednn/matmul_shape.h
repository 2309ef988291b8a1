// The shape of a matmul for oneDNN, and whether oneDNN takes it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace kiln::cpu {

/// Element (i, j) is at offset i * row_stride + j * column_stride, in elements. The stride of a
/// dimension of size 1 is ignored.
struct MatrixStrides {
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  auto operator<=>(const MatrixStrides&) const = default;
};

/// result (m x n, rows contiguous) = lhs (m x k) times rhs (k x n), plus bias[n].
struct OneDnnMatmulShape {
  std::int64_t m = 0, n = 0, k = 0;
  MatrixStrides lhs, rhs;
  std::int64_t result_row = 0;  // stride between rows of the result
  bool bias_per_column = false;
  auto operator<=>(const OneDnnMatmulShape&) const = default;
};

/// For messages and dumps: "2x3 times 3x5, strides ...".
std::string to_string(const OneDnnMatmulShape& shape);

/// Returns the reason why oneDNN cannot take this matmul, or nothing. Does not call oneDNN.
std::optional<std::string> rejection_of(const OneDnnMatmulShape& shape);

}  // namespace kiln::cpu
