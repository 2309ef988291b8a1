// Groups of rows and columns: lhs is prepared once for each group of rows, rhs once for each of
// them or, where it is packed, before.
#include "backends/cpu/tiled/half_product.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

constexpr std::int64_t kBlockDepth = 512;  // a multiple of every unit
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

/// Units of a part of the scratch: whole cache lines.
std::int64_t whole_lines(std::int64_t units) { return (units + 15) / 16 * 16; }

const HalfKernel<Float16Bits>& kernel_of(TileLevel level, Float16Bits) {
  return level_kernels_of(level).float16;
}
const HalfKernel<BFloat16Bits>& kernel_of(TileLevel level, BFloat16Bits) {
  static const bool has_pairs = __builtin_cpu_supports("avx512bf16") != 0;
  if (level == TileLevel::Avx512 && has_pairs) return kPairKernelAvx512;
  return level_kernels_of(level).bfloat16;
}

}  // namespace

template <class Half>
HalfProduct<Half>::HalfProduct(const TiledShape& shape, RhsForm form, TileLevel level)
    : shape_(shape),
      form_(form),
      group_rows_(rows_of_group(shape)),
      kernel_(kernel_of(level, Half{})) {}

template <class Half>
std::int64_t HalfProduct<Half>::units(std::int64_t depth) const {
  return (depth + kernel_.unit_depth - 1) / kernel_.unit_depth;
}

template <class Half>
std::size_t HalfProduct<Half>::packed_bytes() const {
  const std::int64_t panel = kernel_.panel_columns;
  const std::int64_t columns = (shape_.columns + panel - 1) / panel * panel;
  return static_cast<std::size_t>(columns * units(shape_.depth)) * sizeof(HalfUnit);
}

template <class Half>
void HalfProduct<Half>::pack(const Half* rhs, HalfUnit* packed) const noexcept {
  kernel_.pack({rhs, shape_.rhs_depth, shape_.rhs_column, shape_.depth, shape_.columns, packed});
}

template <class Half>
std::int64_t HalfProduct<Half>::group_columns() const {
  return std::min(kGroupColumns, shape_.columns);
}

template <class Half>
typename HalfProduct<Half>::Scratch HalfProduct<Half>::parts_of(HalfUnit* scratch) const {
  HalfUnit* sums = scratch + whole_lines(group_rows_ * units(shape_.depth));
  return {scratch, sums + whole_lines(group_rows_ * group_columns()), &sums->single};
}

template <class Half>
std::size_t HalfProduct<Half>::scratch_bytes() const {
  const std::int64_t depth = std::min(shape_.depth, kBlockDepth);
  std::int64_t all = whole_lines(group_rows_ * units(shape_.depth));
  all += whole_lines(group_rows_ * group_columns());
  if (form_ == RhsForm::Blocks) all += whole_lines(kernel_.block_columns * units(depth));
  return static_cast<std::size_t>(all) * sizeof(HalfUnit);
}

template <class Half>
void HalfProduct<Half>::run(const Half* lhs, const void* rhs, Half* result,
                            HalfUnit* scratch) const noexcept {
  const Scratch own = parts_of(scratch);
  for (std::int64_t row = 0; row < shape_.rows; row += group_rows_) {
    const std::int64_t rows = std::min(group_rows_, shape_.rows - row);
    kernel_.prepare_lhs({lhs + row * shape_.lhs_row, shape_.lhs_row, shape_.lhs_depth, rows,
                         shape_.depth, own.lhs});
    for (std::int64_t column = 0; column < shape_.columns; column += kGroupColumns) {
      const std::int64_t columns = std::min(kGroupColumns, shape_.columns - column);
      add_group(own, rows, rhs, column, columns);
      Half* to = result + row * shape_.result_row + column;
      for (std::int64_t r = 0; r < rows; ++r) {
        kernel_.narrow(own.sums + r * columns, to + r * shape_.result_row, columns);
      }
    }
  }
}

template <class Half>
void HalfProduct<Half>::add_group(const Scratch& own, std::int64_t rows, const void* rhs,
                                  std::int64_t column, std::int64_t columns) const {
  HalfArguments a{};
  a.lhs = own.lhs;
  a.lhs_row = lhs_is_transposed() ? 1 : units(shape_.depth);
  a.lhs_depth = lhs_is_transposed() ? rows : 1;
  a.rows = rows;
  a.columns = columns;
  a.sums = own.sums;
  a.sums_row = columns;
  if (form_ == RhsForm::Packed) {
    a.depth = units(shape_.depth);
    a.rhs = static_cast<const HalfUnit*>(rhs) + column * a.depth;
    return kernel_.run(a);
  }
  const Half* matrix = static_cast<const Half*>(rhs) + column * shape_.rhs_column;
  for (std::int64_t d = 0; d < shape_.depth; d += kBlockDepth) {
    a.accumulate = d != 0;
    a.lhs = own.lhs + d / kernel_.unit_depth * a.lhs_depth;
    add_block(a, matrix + d * shape_.rhs_depth, std::min(kBlockDepth, shape_.depth - d), own.rhs);
  }
}

template <class Half>
void HalfProduct<Half>::add_block(HalfArguments a, const Half* rhs, std::int64_t depth,
                                  HalfUnit* packed) const {
  const std::int64_t block = kernel_.block_columns, end = a.columns;
  a.rhs = packed;
  a.depth = units(depth);
  for (std::int64_t column = 0; column < end; column += block, a.sums += block) {
    a.columns = std::min(block, end - column);
    kernel_.pack({rhs + column * shape_.rhs_column, shape_.rhs_depth, shape_.rhs_column, depth,
                  a.columns, packed});
    kernel_.run(a);
  }
}

template class HalfProduct<Float16Bits>;
template class HalfProduct<BFloat16Bits>;

}  // namespace kiln::cpu
