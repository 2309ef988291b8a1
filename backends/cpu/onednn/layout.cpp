// Which strides the library takes.
#include "backends/cpu/onednn/layout.h"

#include <utility>

namespace kiln::cpu {
namespace {

std::string text(std::int64_t value) { return std::to_string(value); }

std::string text(const MatrixOperand& operand) {
  return "(" + text(operand.row_stride) + ", " + text(operand.column_stride) + ")";
}

// Row-major where both readings fit, so that a vector is not taken for a transposed matrix.
std::optional<LibraryOperand> dense_lines(std::int64_t rows, std::int64_t columns,
                                          const MatrixOperand& operand) {
  if ((operand.column_stride == 1 || columns == 1) &&
      (operand.row_stride >= columns || rows == 1)) {
    return LibraryOperand{false, rows == 1 ? columns : operand.row_stride};
  }
  if ((operand.row_stride == 1 || rows == 1) && (operand.column_stride >= rows || columns == 1)) {
    return LibraryOperand{true, columns == 1 ? rows : operand.column_stride};
  }
  return std::nullopt;
}

std::string stride_refusal(const char* name, const MatrixOperand& operand) {
  return std::string("strides ") + text(operand) + " of " + name +
         ": one of the two must be 1 and the other at least the extent of that dimension";
}

// Neither offsets nor sizes in bytes may overflow, in the library or here.
bool too_large(std::int64_t rows, std::int64_t columns, const LibraryOperand& operand) {
  const std::int64_t lines = operand.transposed ? columns : rows;
  std::int64_t total = 0;
  return __builtin_mul_overflow(lines, operand.leading, &total) ||
         total > (std::int64_t{1} << 48);
}

LibraryView refused(std::string reason) { return {std::nullopt, std::move(reason)}; }

}  // namespace

std::string to_string(const ProductShape& shape) {
  return text(shape.m) + "x" + text(shape.k) + " times " + text(shape.k) + "x" + text(shape.n) +
         ", strides " + text(shape.lhs) + ", " + text(shape.rhs) + ", " +
         text(MatrixOperand{shape.result_row, 1}) + (shape.bias_per_column ? ", bias" : "");
}

LibraryView library_view(const ProductShape& shape) {
  if (shape.m < 1 || shape.n < 1 || shape.k < 1) return refused("a dimension is below 1");
  const auto lhs = dense_lines(shape.m, shape.k, shape.lhs);
  const auto rhs = dense_lines(shape.k, shape.n, shape.rhs);
  if (!lhs) return refused(stride_refusal("lhs", shape.lhs));
  if (!rhs) return refused(stride_refusal("rhs", shape.rhs));
  if (shape.m > 1 && shape.result_row < shape.n) return refused("rows of the result overlap");
  const LibraryOperand result{false, shape.m == 1 ? shape.n : shape.result_row};
  if (too_large(shape.m, shape.k, *lhs) || too_large(shape.k, shape.n, *rhs) ||
      too_large(shape.m, shape.n, result)) {
    return refused("an operand spans more than 2^48 elements");
  }
  return {LibraryProduct{shape.m, shape.n, shape.k, *lhs, *rhs, result}, ""};
}

std::optional<std::string> refusal(const ProductShape& shape) {
  LibraryView view = library_view(shape);
  if (view.product) return std::nullopt;
  return std::move(view.refusal);
}

}  // namespace kiln::cpu
