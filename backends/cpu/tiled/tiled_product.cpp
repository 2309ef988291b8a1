// Blocks for the caches, packing, and the choice of the micro-kernel.
#include "backends/cpu/tiled/tiled_product.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

/// Depth of a packed block of rhs: a panel of it stays in the first caches while the rows change.
constexpr std::int64_t kBlockDepth = 512;
/// Columns whose blocks follow each other before the next depth: they share pages of memory.
constexpr std::int64_t kGroupColumns = 256;
/// Rows that share a packed block: their part of lhs exceeds the second cache by little.
constexpr std::int64_t kGroupRows = 1024;
constexpr std::int64_t kLineBytes = 64;

const MicroKernel<float>& kernel_of(const LevelKernels& k, float) { return k.float32; }
const MicroKernel<double>& kernel_of(const LevelKernels& k, double) { return k.float64; }
const MicroKernel<unsigned>& kernel_of(const LevelKernels& k, unsigned) { return k.int32; }
const MicroKernel<unsigned long>& kernel_of(const LevelKernels& k, unsigned long) {
  return k.int64;
}

}  // namespace

const LevelKernels& level_kernels_of(TileLevel level) {
  switch (level) {
    case TileLevel::Avx512: return kKernelsAvx512;
    case TileLevel::Avx2: return kKernelsAvx2;
    case TileLevel::Baseline: break;
  }
  return kKernelsBaseline;
}

template <class T>
TiledProduct<T>::TiledProduct(const TiledShape& shape, RhsForm form, TileLevel level)
    : shape_(shape), form_(form), kernel_(kernel_of(level_kernels_of(level), T{})) {}

template <class T>
std::size_t TiledProduct<T>::packed_bytes() const {
  const std::int64_t panel = kernel_.panel_columns;
  const std::int64_t columns = (shape_.columns + panel - 1) / panel * panel;
  return static_cast<std::size_t>(columns * shape_.depth) * sizeof(T);
}

template <class T>
void TiledProduct<T>::pack(const T* rhs, T* packed) const noexcept {
  kernel_.pack(
      {rhs, shape_.rhs_depth, shape_.rhs_column, shape_.depth, shape_.columns, packed});
}

template <class T>
std::size_t TiledProduct<T>::scratch_bytes() const {
  if (form_ != RhsForm::Blocks) return 0;
  const std::int64_t depth = std::min(shape_.depth, kBlockDepth);
  return static_cast<std::size_t>(kernel_.block_columns * depth) * sizeof(T);
}

template <class T>
void TiledProduct<T>::run(const T* lhs, const T* rhs, const T* bias, T* result,
                          T* scratch) const noexcept {
  if (form_ == RhsForm::Blocks) return run_blocks(lhs, rhs, bias, result, scratch);
  const bool lines = form_ == RhsForm::Lines;
  const std::int64_t rhs_stride = lines ? shape_.rhs_column : shape_.rhs_depth;
  (lines ? kernel_.run_lines : kernel_.run)(
      {lhs, rhs, form_ == RhsForm::Packed, bias, result, shape_.rows, shape_.columns, shape_.depth,
       shape_.lhs_row, shape_.lhs_depth, rhs_stride, shape_.result_row, false, shape_.relu, {}});
}

template <class T>
void TiledProduct<T>::run_blocks(const T* lhs, const T* rhs, const T* bias, T* result,
                                 T* scratch) const noexcept {
  const std::int64_t groups = (shape_.rows + kGroupRows - 1) / kGroupRows;
  for (std::int64_t group = 0; group < groups; ++group) {
    const std::int64_t row = shape_.rows * group / groups;
    const BlockRun run{lhs + row * shape_.lhs_row, rhs, bias, result + row * shape_.result_row,
                       scratch, shape_.rows * (group + 1) / groups - row};
    for (std::int64_t column = 0; column < shape_.columns; column += kGroupColumns) {
      const std::int64_t end = std::min(column + kGroupColumns, shape_.columns);
      for (std::int64_t d = 0; d < shape_.depth; d += kBlockDepth) run_group(run, column, end, d);
    }
  }
}

template <class T>
void TiledProduct<T>::run_group(const BlockRun& run, std::int64_t begin, std::int64_t end,
                                std::int64_t d) const noexcept {
  const std::int64_t block = kernel_.block_columns, depth = depth_of_block(d);
  const bool last = d + depth == shape_.depth;
  for (std::int64_t column = begin; column < end; column += block) {
    MicroKernelArguments<T> a{};
    a.lhs = run.lhs + d * shape_.lhs_depth;
    a.rhs = run.rhs + column * shape_.rhs_column + d * shape_.rhs_depth;
    a.bias = run.bias && d == 0 ? run.bias + column : nullptr;
    a.result = run.result + column;
    a.rows = run.rows;
    a.columns = std::min(block, end - column);
    a.depth = depth;
    a.lhs_row = shape_.lhs_row;
    a.lhs_depth = shape_.lhs_depth;
    a.rhs_stride = shape_.rhs_depth;
    a.result_row = shape_.result_row;
    a.accumulate = d != 0;
    a.relu = last && shape_.relu;
    const bool in_group = column + block < end;
    a.fetch = in_group ? fetch_of(run.rhs, column + block, d)
              : last   ? fetch_of(run.rhs, end, 0)
                       : fetch_of(run.rhs, begin, d + depth);
    if (kernel_.run_panel && shape_.rhs_column == 1 && a.columns == block) {
      kernel_.run_panel(a, run.scratch);
      continue;
    }
    kernel_.pack({a.rhs, shape_.rhs_depth, shape_.rhs_column, depth, a.columns, run.scratch});
    a.rhs = run.scratch;
    a.packed = true;
    kernel_.run(a);
  }
}

template <class T>
std::int64_t TiledProduct<T>::depth_of_block(std::int64_t d) const {
  return std::min(kBlockDepth, shape_.depth - d);
}

template <class T>
Fetch TiledProduct<T>::fetch_of(const T* rhs, std::int64_t column, std::int64_t d) const {
  if (column >= shape_.columns) return {};
  const std::int64_t block = kernel_.block_columns;
  const std::int64_t columns = std::min(block, shape_.columns - column);
  const std::int64_t depth = depth_of_block(d);
  // From within the first line on: where runs are not aligned, the line that a run shares with the
  // one before was prefetched with that one.
  constexpr std::int64_t kBytes = sizeof(T), kLine = kLineBytes / kBytes;
  const T* at = rhs + column * shape_.rhs_column + d * shape_.rhs_depth + (kLine - 1);
  const auto lines = [](std::int64_t count) { return (count + kLine - 1) / kLine; };
  if (shape_.rhs_column == 1) return {at, depth, lines(columns), shape_.rhs_depth * kBytes};
  if (shape_.rhs_depth == 1) return {at, columns, lines(depth), shape_.rhs_column * kBytes};
  return {};
}

template class TiledProduct<float>;
template class TiledProduct<double>;
template class TiledProduct<unsigned>;
template class TiledProduct<unsigned long>;

}  // namespace kiln::cpu
