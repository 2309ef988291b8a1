// Loops over cache blocks around the micro-kernel; README.md explains the blocking.
#include "backends/cpu/gemm/native_gemm.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

/// Rows of a packed block of rhs (KC): one panel of it stays in the L1 cache while the tiles of
/// rows change.
constexpr std::int64_t kBlockK = 512;
/// Columns (NC) whose blocks are computed before the next block along k: their rows share pages of
/// memory.
constexpr std::int64_t kGroupN = 256;
/// Rows (MC) that share a packed block: their kBlockK columns of lhs exceed the L2 cache by little.
constexpr std::int64_t kGroupM = 1024;
constexpr std::int64_t kLineBytes = 64;
/// Minimum columns, and maximum bytes of a copy, for copying lhs.
constexpr std::int64_t kMinCopiedColumns = 128;
constexpr std::int64_t kMaxCopiedBytes = std::int64_t{8} << 20;

const MicroKernel<float>& kernel_of(const IsaKernels& k, float) { return k.float32; }
const MicroKernel<double>& kernel_of(const IsaKernels& k, double) { return k.float64; }
const MicroKernel<unsigned>& kernel_of(const IsaKernels& k, unsigned) { return k.int32; }
const MicroKernel<unsigned long>& kernel_of(const IsaKernels& k, unsigned long) { return k.int64; }

/// Maximum rows of a group. Without a packed block of rhs, the rows that a micro-kernel multiplies
/// by all panels before the next ones.
template <class T>
std::int64_t max_group_rows(const GemmShape& shape, RhsForm form, const MicroKernel<T>& kernel) {
  const std::int64_t rows = form == RhsForm::PackBlocks ? kGroupM : kernel.block_rows;
  return std::min(shape.m, rows);
}

/// Whether runs copy lhs, whose rows share a set of the L1 cache, to a stride at which they do not.
/// Copies make AVX-512 matmuls up to 28 % faster, those of integers up to 50 %; AVX2 tiles, whose 6
/// rows fit into a set, are up to 24 % slower with them
/// (tools/kiln/bench/results/cpu-native-gemm.md).
template <class T>
bool copies_lhs(const GemmShape& shape, RhsForm form, const MicroKernel<T>& kernel) {
  constexpr std::int64_t kBytes = sizeof(T);
  if (shape.lhs_k != 1 || shape.lhs_m == 0 || shape.lhs_m * kBytes % kSetStride != 0) return false;
  return form != RhsForm::DotProducts && tiles_exceed_set(shape.m, kernel.tile_rows) &&
         shape.n >= kMinCopiedColumns &&
         shape.k <= kMaxCopiedBytes / (max_group_rows(shape, form, kernel) * kBytes);
}

}  // namespace

const IsaKernels& isa_kernels_of(GemmIsa isa) {
  return loops_by_isa(isa, kKernelsBaseline, kKernelsAvx2, kKernelsAvx512);
}

template <class T>
NativeGemm<T>::NativeGemm(const GemmShape& shape, RhsForm form, GemmIsa isa)
    : NativeGemm(shape, form, kernel_of(isa_kernels_of(isa), T{})) {}

template <class T>
NativeGemm<T>::NativeGemm(const GemmShape& shape, RhsForm form, const MicroKernel<T>& kernel)
    : shape_(shape), form_(form), kernel_(kernel), copies_lhs_(copies_lhs(shape, form, kernel_)) {
  if (form != RhsForm::PackBlocks && !copies_lhs_) return;
  const std::int64_t rows = max_group_rows(shape, form, kernel_);
  groups_ = (shape.m + rows - 1) / rows;
}

template <class T>
std::size_t NativeGemm<T>::packed_bytes() const {
  const std::int64_t panel = kernel_.panel_columns;
  const std::int64_t columns = (shape_.n + panel - 1) / panel * panel;
  return static_cast<std::size_t>(columns * shape_.k) * sizeof(T);
}

template <class T>
std::int64_t NativeGemm<T>::packed_offset(std::int64_t columns) const noexcept {
  if (columns % kernel_.panel_columns != 0) return -1;
  return columns * shape_.k * std::int64_t{sizeof(T)};
}

template <class T>
void NativeGemm<T>::pack(const T* rhs, T* packed) const noexcept {
  kernel_.pack({.rhs = rhs,
                .rhs_k = shape_.rhs_k,
                .rhs_n = shape_.rhs_n,
                .k = shape_.k,
                .n = shape_.n,
                .packed = packed});
}

template <class T>
std::int64_t NativeGemm<T>::packing_parts() const noexcept {
  return (shape_.n + part_columns() - 1) / part_columns();
}

template <class T>
void NativeGemm<T>::pack_part(std::int64_t part, const T* rhs, T* packed) const noexcept {
  const std::int64_t begin = part * part_columns();
  const std::int64_t columns = std::min(part_columns(), shape_.n - begin);
  kernel_.pack({.rhs = rhs + begin * shape_.rhs_n,
                .rhs_k = shape_.rhs_k,
                .rhs_n = shape_.rhs_n,
                .k = shape_.k,
                .n = columns,
                .packed = packed + begin * shape_.k});
}

template <class T>
std::int64_t NativeGemm<T>::block_elements() const {
  if (form_ != RhsForm::PackBlocks) return 0;
  constexpr std::int64_t kLine = kLineBytes / sizeof(T);
  const std::int64_t all = kernel_.block_columns * std::min(shape_.k, kBlockK);
  return (all + kLine - 1) / kLine * kLine;
}

template <class T>
std::size_t NativeGemm<T>::scratch_bytes() const {
  const std::int64_t rows = (shape_.m + groups_ - 1) / groups_;
  const std::int64_t copied = copies_lhs_ ? rows * copied_stride() : 0;
  return static_cast<std::size_t>(block_elements() + copied) * sizeof(T);
}

template <class T>
std::int64_t NativeGemm<T>::copied_stride() const {
  constexpr std::int64_t kBytes = sizeof(T), kLine = kLineBytes / kBytes;
  const std::int64_t stride = (shape_.k + kLine - 1) / kLine * kLine;
  return stride * kBytes % kSetStride == 0 ? stride + kLine : stride;
}

template <class T>
void NativeGemm<T>::copy_lhs(RowGroup& group) const noexcept {
  T* const copy = group.scratch + block_elements();
  for (std::int64_t r = 0; r < group.m; ++r) {
    std::copy_n(group.lhs + r * group.lhs_m, shape_.k, copy + r * copied_stride());
  }
  group.lhs = copy;
  group.lhs_m = copied_stride();
}

template <class T>
void NativeGemm<T>::run(const T* lhs, const T* rhs, const T* bias, T* result,
                        T* scratch) const noexcept {
  for (std::int64_t g = 0; g < groups_; ++g) {
    const std::int64_t row = shape_.m * g / groups_;
    RowGroup group{.lhs = lhs + row * shape_.lhs_m,
                   .rhs = rhs,
                   .bias = bias,
                   .result = result + row * shape_.result_m,
                   .scratch = scratch,
                   .m = shape_.m * (g + 1) / groups_ - row,
                   .lhs_m = shape_.lhs_m};
    if (copies_lhs_) copy_lhs(group);
    if (form_ == RhsForm::PackBlocks) {
      run_blocks(group);
    } else {
      run_whole(group);
    }
  }
}

template <class T>
void NativeGemm<T>::run_whole(const RowGroup& group) const noexcept {
  const bool is_dot = form_ == RhsForm::DotProducts;
  const MicroKernelArguments<T> arguments{.lhs = group.lhs,
                                          .rhs = group.rhs,
                                          .packed = form_ == RhsForm::Prepacked,
                                          .bias = group.bias,
                                          .result = group.result,
                                          .m = group.m,
                                          .n = shape_.n,
                                          .k = shape_.k,
                                          .lhs_m = group.lhs_m,
                                          .lhs_k = shape_.lhs_k,
                                          .rhs_stride = is_dot ? shape_.rhs_n : shape_.rhs_k,
                                          .result_m = shape_.result_m,
                                          .accumulate = false,
                                          .relu = shape_.relu};
  (is_dot ? kernel_.run_dot_products : kernel_.run)(arguments);
}

template <class T>
void NativeGemm<T>::run_blocks(const RowGroup& group) const noexcept {
  for (std::int64_t column = 0; column < shape_.n; column += kGroupN) {
    const std::int64_t end = std::min(column + kGroupN, shape_.n);
    for (std::int64_t d = 0; d < shape_.k; d += kBlockK) run_columns(group, column, end, d);
  }
}

template <class T>
void NativeGemm<T>::run_columns(const RowGroup& group, std::int64_t begin, std::int64_t end,
                                std::int64_t d) const noexcept {
  const std::int64_t block = kernel_.block_columns, block_k = k_of_block(d);
  const bool last = d + block_k == shape_.k;
  for (std::int64_t column = begin; column < end; column += block) {
    MicroKernelArguments<T> a{};
    a.lhs = group.lhs + d * shape_.lhs_k;
    a.rhs = group.rhs + column * shape_.rhs_n + d * shape_.rhs_k;
    a.bias = group.bias && d == 0 ? group.bias + column : nullptr;
    a.result = group.result + column;
    a.m = group.m;
    a.n = std::min(block, end - column);
    a.k = block_k;
    a.lhs_m = group.lhs_m;
    a.lhs_k = shape_.lhs_k;
    a.rhs_stride = shape_.rhs_k;
    a.result_m = shape_.result_m;
    a.accumulate = d != 0;
    a.relu = last && shape_.relu;
    const bool in_group = column + block < end;
    a.prefetch = in_group ? prefetch_of(group.rhs, column + block, d)
                 : last   ? prefetch_of(group.rhs, end, 0)
                          : prefetch_of(group.rhs, begin, d + block_k);
    if (kernel_.run_and_pack && shape_.rhs_n == 1 && a.n == block) {
      kernel_.run_and_pack(a, group.scratch);
      continue;
    }
    kernel_.pack({.rhs = a.rhs,
                  .rhs_k = shape_.rhs_k,
                  .rhs_n = shape_.rhs_n,
                  .k = block_k,
                  .n = a.n,
                  .packed = group.scratch});
    a.rhs = group.scratch;
    a.packed = true;
    kernel_.run(a);
  }
}

template <class T>
std::int64_t NativeGemm<T>::k_of_block(std::int64_t d) const {
  return std::min(kBlockK, shape_.k - d);
}

template <class T>
Prefetch NativeGemm<T>::prefetch_of(const T* rhs, std::int64_t column, std::int64_t d) const {
  if (column >= shape_.n) return {};
  const std::int64_t block = kernel_.block_columns;
  const std::int64_t columns = std::min(block, shape_.n - column);
  const std::int64_t block_k = k_of_block(d);
  // Begins at the end of the first line: where runs are not aligned, the line that a run shares
  // with the run before was prefetched with that one.
  constexpr std::int64_t kBytes = sizeof(T), kLine = kLineBytes / kBytes;
  const T* at = rhs + column * shape_.rhs_n + d * shape_.rhs_k + (kLine - 1);
  const auto lines = [](std::int64_t count) { return (count + kLine - 1) / kLine; };
  if (shape_.rhs_n == 1) {
    return {.at = at, .runs = block_k, .lines = lines(columns), .stride = shape_.rhs_k * kBytes};
  }
  if (shape_.rhs_k == 1) {
    return {.at = at, .runs = columns, .lines = lines(block_k), .stride = shape_.rhs_n * kBytes};
  }
  return {};
}

template class NativeGemm<float>;
template class NativeGemm<double>;
template class NativeGemm<unsigned>;
template class NativeGemm<unsigned long>;

}  // namespace kiln::cpu
