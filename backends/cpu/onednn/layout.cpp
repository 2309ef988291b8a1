// Finds the leading dimensions of operands, or the reason why there are none.
#include "backends/cpu/onednn/layout.h"

#include <utility>

namespace kiln::cpu {
namespace {

std::string text(std::int64_t value) { return std::to_string(value); }

std::string text(const MatrixStrides& operand) {
  return "(" + text(operand.row_stride) + ", " + text(operand.column_stride) + ")";
}

/// Prefers row-major where both forms fit, so that a vector does not count as transposed.
std::optional<DenseOperand> dense_operand(std::int64_t rows, std::int64_t columns,
                                          const MatrixStrides& operand) {
  if ((operand.column_stride == 1 || columns == 1) &&
      (operand.row_stride >= columns || rows == 1)) {
    return DenseOperand{false, rows == 1 ? columns : operand.row_stride};
  }
  if ((operand.row_stride == 1 || rows == 1) && (operand.column_stride >= rows || columns == 1)) {
    return DenseOperand{true, columns == 1 ? rows : operand.column_stride};
  }
  return std::nullopt;
}

std::string stride_rejection(const char* name, const MatrixStrides& operand) {
  return std::string("strides ") + text(operand) + " of " + name +
         ": one of the two must be 1 and the other at least the extent of that dimension";
}

/// Whether offsets or sizes in bytes could overflow, in oneDNN or here.
bool too_large(std::int64_t rows, std::int64_t columns, const DenseOperand& operand) {
  const std::int64_t lines = operand.transposed ? columns : rows;
  std::int64_t total = 0;
  return __builtin_mul_overflow(lines, operand.leading, &total) || total > (std::int64_t{1} << 48);
}

DenseForm rejected(std::string reason) { return {std::nullopt, std::move(reason)}; }

}  // namespace

std::string to_string(const OneDnnMatmulShape& shape) {
  return text(shape.m) + "x" + text(shape.k) + " times " + text(shape.k) + "x" + text(shape.n) +
         ", strides " + text(shape.lhs) + ", " + text(shape.rhs) + ", " +
         text(MatrixStrides{shape.result_row, 1}) + (shape.bias_per_column ? ", bias" : "");
}

DenseForm dense_form(const OneDnnMatmulShape& shape) {
  if (shape.m < 1 || shape.n < 1 || shape.k < 1) return rejected("a dimension is below 1");
  const auto lhs = dense_operand(shape.m, shape.k, shape.lhs);
  const auto rhs = dense_operand(shape.k, shape.n, shape.rhs);
  if (!lhs) return rejected(stride_rejection("lhs", shape.lhs));
  if (!rhs) return rejected(stride_rejection("rhs", shape.rhs));
  if (shape.m > 1 && shape.result_row < shape.n) return rejected("rows of the result overlap");
  const DenseOperand result{false, shape.m == 1 ? shape.n : shape.result_row};
  if (too_large(shape.m, shape.k, *lhs) || too_large(shape.k, shape.n, *rhs) ||
      too_large(shape.m, shape.n, result)) {
    return rejected("an operand spans more than 2^48 elements");
  }
  return {
      .matmul =
          DenseMatmul{
              .m = shape.m, .n = shape.n, .k = shape.k, .lhs = *lhs, .rhs = *rhs, .result = result},
      .rejection = ""};
}

std::optional<std::string> rejection_of(const OneDnnMatmulShape& shape) {
  DenseForm form = dense_form(shape);
  if (form.matmul) return std::nullopt;
  return std::move(form.rejection);
}

}  // namespace kiln::cpu
