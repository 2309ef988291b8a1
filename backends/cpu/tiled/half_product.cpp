// Groups of rows and columns: lhs is converted once for each group of rows, rhs once for each of
// them or, where it is packed, before.
#include "backends/cpu/tiled/half_product.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

constexpr std::int64_t kBlockDepth = 512;
/// Columns whose sums are in float32 at a time.
constexpr std::int64_t kGroupColumns = 256;
/// Elements of the converted rows of lhs: a few second caches, which packing rhs again for the next
/// rows is small beside.
constexpr std::int64_t kGroupElements = 1 << 19;
constexpr std::int64_t kMinGroupRows = 56, kMaxGroupRows = 1024;

std::int64_t rows_of_group(const TiledShape& shape) {
  const std::int64_t rows =
      std::clamp(kGroupElements / shape.depth, kMinGroupRows, kMaxGroupRows);
  return std::min(rows, shape.rows);
}

/// Floats of a part of the scratch: whole cache lines.
std::int64_t whole_lines(std::int64_t floats) { return (floats + 15) / 16 * 16; }

const HalfKernel<Float16Bits>& halves_of(const LevelKernels& k, Float16Bits) { return k.float16; }
const HalfKernel<BFloat16Bits>& halves_of(const LevelKernels& k, BFloat16Bits) {
  return k.bfloat16;
}

}  // namespace

template <class Half>
HalfProduct<Half>::HalfProduct(const TiledShape& shape, RhsForm form, TileLevel level)
    : shape_(shape),
      form_(form),
      group_rows_(rows_of_group(shape)),
      kernel_(level_kernels_of(level).float32),
      halves_(halves_of(level_kernels_of(level), Half{})) {}

template <class Half>
std::size_t HalfProduct<Half>::packed_bytes() const {
  const std::int64_t panel = kernel_.panel_columns;
  const std::int64_t columns = (shape_.columns + panel - 1) / panel * panel;
  return static_cast<std::size_t>(columns * shape_.depth) * sizeof(float);
}

template <class Half>
void HalfProduct<Half>::pack(const Half* rhs, float* packed) const noexcept {
  halves_.pack({rhs, shape_.rhs_depth, shape_.rhs_column, shape_.depth, shape_.columns, packed});
}

template <class Half>
std::int64_t HalfProduct<Half>::group_columns() const {
  return std::min(kGroupColumns, shape_.columns);
}

template <class Half>
std::size_t HalfProduct<Half>::scratch_bytes() const {
  const std::int64_t depth = std::min(shape_.depth, kBlockDepth);
  std::int64_t floats = whole_lines(group_rows_ * shape_.depth);
  floats += whole_lines(group_rows_ * group_columns());
  if (form_ == RhsForm::Blocks) floats += whole_lines(kernel_.block_columns * depth);
  return static_cast<std::size_t>(floats) * sizeof(float);
}

template <class Half>
void HalfProduct<Half>::run(const Half* lhs, const void* rhs, Half* result,
                            float* scratch) const noexcept {
  Scratch own{scratch, nullptr, scratch + whole_lines(group_rows_ * shape_.depth)};
  own.rhs = own.sums + whole_lines(group_rows_ * group_columns());
  for (std::int64_t row = 0; row < shape_.rows; row += group_rows_) {
    const std::int64_t rows = std::min(group_rows_, shape_.rows - row);
    widen_lhs(lhs + row * shape_.lhs_row, rows, own.lhs);
    for (std::int64_t column = 0; column < shape_.columns; column += kGroupColumns) {
      const std::int64_t columns = std::min(kGroupColumns, shape_.columns - column);
      add_group(own, rows, rhs, column, columns);
      Half* to = result + row * shape_.result_row + column;
      for (std::int64_t r = 0; r < rows; ++r) {
        halves_.narrow(own.sums + r * columns, to + r * shape_.result_row, columns);
      }
    }
  }
}

/// In the order of lhs: row after row, or, where it is transposed, column after column.
template <class Half>
void HalfProduct<Half>::widen_lhs(const Half* lhs, std::int64_t rows, float* to) const {
  if (lhs_is_transposed()) {
    for (std::int64_t d = 0; d < shape_.depth; ++d) {
      halves_.widen(lhs + d * shape_.lhs_depth, to + d * rows, rows);
    }
    return;
  }
  for (std::int64_t r = 0; r < rows; ++r, to += shape_.depth) {
    const Half* row = lhs + r * shape_.lhs_row;
    if (shape_.lhs_depth == 1) {
      halves_.widen(row, to, shape_.depth);
      continue;
    }
    for (std::int64_t d = 0; d < shape_.depth; ++d) {
      halves_.widen(row + d * shape_.lhs_depth, to + d, 1);
    }
  }
}

template <class Half>
void HalfProduct<Half>::add_group(const Scratch& own, std::int64_t rows, const void* rhs,
                                  std::int64_t column, std::int64_t columns) const {
  MicroKernelArguments<float> a{};
  a.lhs = own.lhs;
  a.lhs_row = lhs_is_transposed() ? 1 : shape_.depth;
  a.lhs_depth = lhs_is_transposed() ? rows : 1;
  a.rows = rows;
  a.columns = columns;
  a.result = own.sums;
  a.result_row = columns;
  a.packed = true;
  if (form_ == RhsForm::Packed) {
    a.rhs = static_cast<const float*>(rhs) + column * shape_.depth;
    a.depth = shape_.depth;
    return kernel_.run(a);
  }
  const Half* matrix = static_cast<const Half*>(rhs) + column * shape_.rhs_column;
  for (std::int64_t d = 0; d < shape_.depth; d += kBlockDepth) {
    a.depth = std::min(kBlockDepth, shape_.depth - d);
    a.accumulate = d != 0;
    a.lhs = own.lhs + d * a.lhs_depth;
    add_block(a, matrix + d * shape_.rhs_depth, own.rhs);
  }
}

/// The columns of a group at one depth.
template <class Half>
void HalfProduct<Half>::add_block(MicroKernelArguments<float> a, const Half* rhs,
                                  float* packed) const {
  const std::int64_t block = kernel_.block_columns, end = a.columns;
  a.rhs = packed;
  for (std::int64_t column = 0; column < end; column += block, a.result += block) {
    a.columns = std::min(block, end - column);
    halves_.pack({rhs + column * shape_.rhs_column, shape_.rhs_depth, shape_.rhs_column, a.depth,
                  a.columns, packed});
    kernel_.run(a);
  }
}

template class HalfProduct<Float16Bits>;
template class HalfProduct<BFloat16Bits>;

}  // namespace kiln::cpu
