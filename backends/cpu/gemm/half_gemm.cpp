// Loops over groups of rows and columns. lhs is converted once for each group of rows; rhs is
// packed once for each group of rows, or before the run.
#include "backends/cpu/gemm/half_gemm.h"

#include <algorithm>
#include <type_traits>

namespace kiln::cpu {
namespace {

constexpr std::int64_t kBlockK = 512;  // a multiple of every k_per_word * lhs_part_words
/// Columns whose float32 sums are in the scratch at a time.
constexpr std::int64_t kGroupN = 256;
/// Elements of a converted group of rows of lhs: a few L2 caches, so that packing rhs again for
/// each group costs little.
constexpr std::int64_t kGroupElements = 1 << 19;
constexpr std::int64_t kLineWords = 64 / sizeof(PackedWord);
constexpr std::int64_t kMinGroupRows = 56, kMaxGroupRows = 1024;

std::int64_t rows_of_group(const GemmShape& shape) {
  const std::int64_t rows = std::clamp(kGroupElements / shape.k, kMinGroupRows, kMaxGroupRows);
  return std::min(rows, shape.m);
}

/// Rounds the words of a part of the scratch up to whole cache lines.
std::int64_t whole_lines(std::int64_t words) {
  return (words + kLineWords - 1) / kLineWords * kLineWords;
}

/// Whether vdpbf16ps, which multiplies pairs, does more in a cycle than float32 fused
/// multiply-adds: twice as much on AMD's processors, half on Intel's, by cpu-native-gemm.md of
/// tools/kiln/bench/results.
bool has_fast_pairs() {
  return __builtin_cpu_supports("avx512bf16") != 0 && __builtin_cpu_is("amd") != 0;
}

/// The same matmul for the loops of float32.
MicroKernelArguments<float> widened(const HalfArguments& a) {
  return {.lhs = &a.lhs->float32,
          .rhs = &a.rhs->float32,
          .packed = true,
          .bias = nullptr,
          .result = a.sums,
          .m = a.m,
          .n = a.n,
          .k = a.k,
          .lhs_m = a.lhs_m,
          .lhs_k = a.lhs_k,
          .rhs_stride = 0,
          .result_m = a.sums_m,
          .accumulate = a.accumulate,
          .relu = false};
}

}  // namespace

const HalfKernel<Float16Bits>& half_kernel_of(GemmIsa isa, Float16Bits) {
  return isa_kernels_of(isa).float16;
}
const HalfKernel<BFloat16Bits>& half_kernel_of(GemmIsa isa, BFloat16Bits) {
  if (isa == GemmIsa::Amx) return kBf16KernelAmx;
  if (isa == GemmIsa::Avx512 && has_fast_pairs()) return kBf16KernelAvx512;
  return isa_kernels_of(isa).bfloat16;
}

template <class Half>
HalfGemm<Half>::HalfGemm(const GemmShape& shape, RhsForm form, const HalfKernel<Half>& kernel)
    : shape_(shape), form_(form), group_rows_(rows_of_group(shape)), kernel_(kernel) {}

template <class Half>
std::int64_t HalfGemm<Half>::words(std::int64_t k) const {
  const std::int64_t part_k = std::int64_t{kernel_.lhs_part_words} * kernel_.k_per_word;
  return (k + part_k - 1) / part_k * kernel_.lhs_part_words;
}

template <class Half>
std::int64_t HalfGemm<Half>::packed_column_bytes() const noexcept {
  if (kernel_.prepacked) return shape_.k * kernel_.prepacked->element_bytes;
  return words(shape_.k) * std::int64_t{sizeof(PackedWord)};
}

template <class Half>
std::size_t HalfGemm<Half>::packed_bytes() const {
  const std::int64_t panel = kernel_.panel_columns;
  const std::int64_t columns = (shape_.n + panel - 1) / panel * panel;
  return static_cast<std::size_t>(columns * packed_column_bytes());
}

template <class Half>
std::int64_t HalfGemm<Half>::packed_offset(std::int64_t columns) const noexcept {
  return columns % kernel_.panel_columns == 0 ? columns * packed_column_bytes() : -1;
}

template <class Half>
void HalfGemm<Half>::pack_columns(std::int64_t begin, std::int64_t columns, const Half* rhs,
                                  void* packed) const noexcept {
  void* const to = static_cast<char*>(packed) + begin * packed_column_bytes();
  const auto pack_to = [&]<class To>(To* panels, void (*pack)(const PackArguments<Half, To>&)) {
    pack({.rhs = rhs + begin * shape_.rhs_n,
          .rhs_k = shape_.rhs_k,
          .rhs_n = shape_.rhs_n,
          .k = shape_.k,
          .n = columns,
          .packed = panels});
  };
  if (kernel_.prepacked) return pack_to(to, kernel_.prepacked->pack);
  pack_to(static_cast<PackedWord*>(to), kernel_.pack);
}

template <class Half>
void HalfGemm<Half>::pack(const Half* rhs, void* packed) const noexcept {
  pack_columns(0, shape_.n, rhs, packed);
}

template <class Half>
std::int64_t HalfGemm<Half>::packing_parts() const noexcept {
  return (shape_.n + part_columns() - 1) / part_columns();
}

template <class Half>
void HalfGemm<Half>::pack_part(std::int64_t part, const Half* rhs, void* packed) const noexcept {
  const std::int64_t begin = part * part_columns();
  pack_columns(begin, std::min(part_columns(), shape_.n - begin), rhs, packed);
}

template <class Half>
std::int64_t HalfGemm<Half>::group_columns() const {
  return std::min(kGroupN, shape_.n);
}

template <class Half>
std::int64_t HalfGemm<Half>::lhs_row_words() const {
  constexpr std::int64_t kBytes = sizeof(PackedWord);
  const std::int64_t row = words(shape_.k);
  const bool shares_set = kernel_.lhs_block_rows == 1 && row * kBytes % kSetStride == 0;
  return shares_set && tiles_exceed_set(group_rows_, kernel_.tile_rows) ? row + kLineWords : row;
}

template <class Half>
std::int64_t HalfGemm<Half>::lhs_words() const {
  const std::int64_t block = std::min<std::int64_t>(kernel_.lhs_block_rows, group_rows_);
  return whole_lines((group_rows_ + block - 1) / block * block * lhs_row_words());
}

template <class Half>
typename HalfGemm<Half>::Scratch HalfGemm<Half>::parts_of(PackedWord* scratch) const {
  PackedWord* sums = scratch + lhs_words();
  return {scratch, sums + whole_lines(group_rows_ * group_columns()), &sums->float32};
}

template <class Half>
std::size_t HalfGemm<Half>::scratch_bytes() const {
  const std::int64_t block_k = std::min(shape_.k, kBlockK);
  std::int64_t all = lhs_words();
  all += whole_lines(group_rows_ * group_columns());
  if (form_ == RhsForm::PackBlocks) all += whole_lines(kernel_.block_columns * words(block_k));
  return static_cast<std::size_t>(all) * sizeof(PackedWord);
}

template <class Half>
void HalfGemm<Half>::run(const Half* lhs, const void* rhs, Half* result,
                         PackedWord* scratch) const noexcept {
  const Scratch own = parts_of(scratch);
  for (std::int64_t row = 0; row < shape_.m; row += group_rows_) {
    const std::int64_t rows = std::min(group_rows_, shape_.m - row);
    kernel_.prepare_lhs({.lhs = lhs + row * shape_.lhs_m,
                         .lhs_m = shape_.lhs_m,
                         .lhs_k = shape_.lhs_k,
                         .m = rows,
                         .k = shape_.k,
                         .prepared = own.lhs,
                         .row_words = lhs_row_words()});
    for (std::int64_t column = 0; column < shape_.n; column += kGroupN) {
      const std::int64_t columns = std::min(kGroupN, shape_.n - column);
      Half* to = result + row * shape_.result_m + column;
      add_group(own, rows, rhs, column, columns, to);
      if (!kernel_.narrow) continue;
      if (columns == shape_.result_m) {
        kernel_.narrow(own.sums, to, rows * columns);
        continue;
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        kernel_.narrow(own.sums + r * columns, to + r * shape_.result_m, columns);
      }
    }
  }
}

template <class Half>
void HalfGemm<Half>::add_group(const Scratch& own, std::int64_t rows, const void* rhs,
                               std::int64_t column, std::int64_t columns, Half* result) const {
  HalfArguments a{};
  a.lhs = own.lhs;
  const bool has_columns = lhs_is_transposed() && kernel_.lhs_block_rows == 1;
  a.lhs_m = has_columns ? 1 : lhs_row_words();
  a.lhs_k = has_columns ? rows : std::min<std::int64_t>(kernel_.lhs_block_rows, rows);
  a.m = rows;
  a.n = columns;
  a.sums = own.sums;
  a.sums_m = columns;
  a.rounded_m = shape_.result_m;
  BFloat16Bits* rounded = nullptr;
  if constexpr (std::is_same_v<Half, BFloat16Bits>) rounded = kernel_.narrow ? nullptr : result;
  if (form_ == RhsForm::Prepacked) {
    const void* panels = static_cast<const char*>(rhs) + column * packed_column_bytes();
    a.k = words(shape_.k);
    a.rounded = rounded;
    a.rhs = static_cast<const PackedWord*>(panels);
    return kernel_.prepacked ? kernel_.prepacked->run(widened(a)) : kernel_.run(a);
  }
  const Half* matrix = static_cast<const Half*>(rhs) + column * shape_.rhs_n;
  for (std::int64_t d = 0; d < shape_.k; d += kBlockK) {
    a.accumulate = d != 0;
    a.rounded = d + kBlockK >= shape_.k ? rounded : nullptr;
    a.lhs = own.lhs + d / kernel_.k_per_word * a.lhs_k;
    add_block(a, matrix + d * shape_.rhs_k, std::min(kBlockK, shape_.k - d), own.rhs);
  }
}

template <class Half>
void HalfGemm<Half>::add_block(HalfArguments a, const Half* rhs, std::int64_t block_k,
                               PackedWord* packed) const {
  const std::int64_t block = kernel_.block_columns, end = a.n;
  a.rhs = packed;
  a.k = words(block_k);
  for (std::int64_t column = 0; column < end; column += block, a.sums += block) {
    if (column != 0 && a.rounded) a.rounded += block;
    a.n = std::min(block, end - column);
    kernel_.pack({.rhs = rhs + column * shape_.rhs_n,
                  .rhs_k = shape_.rhs_k,
                  .rhs_n = shape_.rhs_n,
                  .k = block_k,
                  .n = a.n,
                  .packed = packed});
    kernel_.run(a);
  }
}

template class HalfGemm<Float16Bits>;
template class HalfGemm<BFloat16Bits>;

}  // namespace kiln::cpu
