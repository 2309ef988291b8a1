// Which strides the library takes, and how the others are brought to them.
#include "backends/cpu/onednn/layout.h"

#include <utility>

namespace kiln::cpu {
namespace {

std::string text(std::int64_t value) { return std::to_string(value); }

std::string text(const MatrixOperand& operand) {
  return "(" + text(operand.row_stride) + ", " + text(operand.column_stride) + ", batch " +
         text(operand.batch_stride) + ")";
}

// Row-major where both readings fit, so that a vector is not taken for a transposed matrix.
std::optional<LibraryOperand> dense_lines(std::int64_t rows, std::int64_t columns,
                                          const MatrixOperand& operand) {
  if ((operand.column_stride == 1 || columns == 1) &&
      (operand.row_stride >= columns || rows == 1)) {
    return LibraryOperand{false, rows == 1 ? columns : operand.row_stride, operand.batch_stride};
  }
  if ((operand.row_stride == 1 || rows == 1) && (operand.column_stride >= rows || columns == 1)) {
    return LibraryOperand{true, columns == 1 ? rows : operand.column_stride,
                          operand.batch_stride};
  }
  return std::nullopt;
}

std::string stride_refusal(const char* name, const MatrixOperand& operand) {
  return std::string("strides ") + text(operand) + " of " + name +
         ": one of the two must be 1 and the other at least the extent of that dimension";
}

bool overlaps(const LibraryProduct& p) {
  const LibraryOperand& result = p.result;
  if (p.batch == 1) return false;
  const bool matrices_apart = result.batch_stride >= (p.m - 1) * result.leading + p.n;
  const bool rows_apart = result.batch_stride >= p.n &&
                          (p.m == 1 || result.leading >= (p.batch - 1) * result.batch_stride + p.n);
  return !matrices_apart && !rows_apart;
}

// Neither offsets nor sizes in bytes may overflow, in the library or here.
bool too_large(std::int64_t batch, std::int64_t rows, std::int64_t columns,
               const LibraryOperand& operand) {
  const std::int64_t lines = operand.transposed ? columns : rows;
  std::int64_t matrix = 0, batches = 0, total = 0;
  const bool overflow = __builtin_mul_overflow(lines, operand.leading, &matrix) ||
                        __builtin_mul_overflow(batch, operand.batch_stride, &batches) ||
                        __builtin_add_overflow(matrix, batches, &total);
  return overflow || total > (std::int64_t{1} << 48);
}

// Distance of the next batch if it were m more rows of the same matrix.
bool continues(const LibraryOperand& operand, std::int64_t rows, std::int64_t columns) {
  if (operand.transposed) return false;
  if (rows == 1) return operand.batch_stride >= columns;
  return operand.batch_stride == rows * operand.leading;
}

// One tall product instead of a batch that shares rhs.
void fold_batch(LibraryProduct& p) {
  if (p.batch == 1 || p.rhs.batch_stride != 0) return;
  if (!continues(p.lhs, p.m, p.k) || !continues(p.result, p.m, p.n)) return;
  if (p.m == 1) p.lhs.leading = p.lhs.batch_stride;
  if (p.m == 1) p.result.leading = p.result.batch_stride;
  p.m *= p.batch;
  p.batch = 1;
}

void swap_sides(LibraryProduct& p) {
  std::swap(p.lhs, p.rhs);
  std::swap(p.m, p.n);
  for (LibraryOperand* operand : {&p.lhs, &p.rhs, &p.result}) {
    operand->transposed = !operand->transposed;
  }
  p.swapped = true;
}

LibraryView refused(std::string reason) { return {std::nullopt, std::move(reason)}; }

}  // namespace

std::string to_string(const ProductShape& shape) {
  std::string out = shape.batch == 1 ? "" : text(shape.batch) + " of ";
  out += text(shape.m) + "x" + text(shape.k) + " times " + text(shape.k) + "x" + text(shape.n) +
         ", strides " + text(shape.lhs) + ", " + text(shape.rhs) + ", " + text(shape.result);
  if (shape.bias_per_column) out += ", bias";
  if (shape.accumulate) out += ", accumulate";
  if (shape.packed_rhs) out += ", packed";
  return out;
}

LibraryView library_view(const ProductShape& shape) {
  if (shape.batch < 1 || shape.m < 1 || shape.n < 1 || shape.k < 1) {
    return refused("a dimension is below 1");
  }
  const auto lhs = dense_lines(shape.m, shape.k, shape.lhs);
  const auto rhs = dense_lines(shape.k, shape.n, shape.rhs);
  const auto result = dense_lines(shape.m, shape.n, shape.result);
  if (!lhs) return refused(stride_refusal("lhs", shape.lhs));
  if (!rhs) return refused(stride_refusal("rhs", shape.rhs));
  if (!result) return refused(stride_refusal("result", shape.result));
  if (lhs->batch_stride < 0 || rhs->batch_stride < 0 || result->batch_stride < 0) {
    return refused("a batch stride is negative");
  }
  LibraryProduct p{shape.batch, shape.m, shape.n, shape.k, *lhs, *rhs, *result, false};
  if (p.result.transposed) {
    if (shape.bias_per_column) return refused("bias per column of a column-major result");
    if (shape.packed_rhs) return refused("packed rhs with a column-major result");
    swap_sides(p);
  }
  if (too_large(p.batch, p.m, p.k, p.lhs) || too_large(p.batch, p.k, p.n, p.rhs) ||
      too_large(p.batch, p.m, p.n, p.result)) {
    return refused("an operand spans more than 2^48 elements");
  }
  if (overlaps(p)) {
    return refused("batch stride " + text(shape.result.batch_stride) +
                   " of result: the matrices overlap");
  }
  fold_batch(p);
  return {p, ""};
}

std::optional<std::string> refusal(const ProductShape& shape) {
  LibraryView view = library_view(shape);
  if (view.product) return std::nullopt;
  return std::move(view.refusal);
}

}  // namespace kiln::cpu
