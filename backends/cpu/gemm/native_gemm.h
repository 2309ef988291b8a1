// Native GEMM: packs rhs into panels, blocks it for the caches and multiplies tiles of registers
// (README.md explains the blocking, and why no library is used). It allocates nothing and starts
// no threads. Each element of the result is one sum along k in ascending order, regardless of the
// other sizes; with RhsForm::DotProducts it is one such sum per vector lane.
#pragma once

#include "backends/cpu/gemm/micro_kernel.h"

#include <cstddef>
#include <cstdint>

namespace kiln::cpu {

/// The ISAs that the inner loops are compiled for, in ascending order: each includes those before
/// it. Amx differs from Avx512 only in matmuls of bfloat16.
enum class GemmIsa : std::uint8_t { Baseline, Avx2, Avx512, Amx };

/// Chooses among loops that are compiled once for each vector length. Amx has those of Avx512.
template <class Loops>
const Loops& loops_by_isa(GemmIsa isa, const Loops& baseline, const Loops& avx2,
                          const Loops& avx512) {
  if (isa >= GemmIsa::Avx512) return avx512;
  return isa == GemmIsa::Avx2 ? avx2 : baseline;
}

/// REQUIRES: the machine has the ISA.
const IsaKernels& isa_kernels_of(GemmIsa isa);

/// result (m x n) = lhs (m x k) times rhs (k x n). Strides in elements: lhs_m is the stride of lhs
/// along m, and so on. Elements of a row of the result are contiguous.
struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t lhs_m = 0, lhs_k = 0;
  std::int64_t rhs_k = 0, rhs_n = 0;
  std::int64_t result_m = 0;
  bool relu = false;  // applied last: x <= 0 becomes 0; NaN stays
};

/// How a run reads rhs.
enum class RhsForm : std::uint8_t {
  InPlace,      // the matrix itself, with contiguous rows
  Prepacked,    // panels from pack()
  PackBlocks,   // the matrix; the run packs one cache block after the other into its scratch
  DotProducts,  // the matrix itself, with contiguous columns; rows of lhs are contiguous, too
};

/// Panels of a packed rhs that one thread packs at a time.
constexpr std::int64_t kPanelsOfPart = 8;

/// Rows that are a multiple of this apart share a set of the L1 cache: 64 sets of lines of 64
/// bytes, in caches of 32 KiB with 8 ways and of 48 KiB with 12.
constexpr std::int64_t kSetStride = 4096;
/// Whether tiles of at most `tile_rows` rows, into which m rows are divided evenly, have more rows
/// than such a set has ways, at least.
constexpr bool tiles_exceed_set(std::int64_t m, std::int64_t tile_rows) {
  constexpr std::int64_t kWays = 8;
  const std::int64_t tiles = (m + tile_rows - 1) / tile_rows;
  return (m + tiles - 1) / tiles > kWays;
}

/// T: float, double, unsigned or unsigned long; signed integers have the bits of unsigned ones.
/// Immutable: any number of threads may run one object.
template <class T>
class NativeGemm {
 public:
  /// REQUIRES: all sizes above 0; rhs_n is 1 for InPlace; lhs_k and rhs_k are 1 for DotProducts;
  /// the machine has the ISA.
  NativeGemm(const GemmShape& shape, RhsForm form, GemmIsa isa);
  /// With other loops than an ISA's, such as those that read rhs in other panels.
  NativeGemm(const GemmShape& shape, RhsForm form, const MicroKernel<T>& kernel);

  /// The size of the packed rhs: panels of a few columns, padded with zeros, row after row.
  std::size_t packed_bytes() const;
  /// The bytes of the first `columns` columns of a packed rhs with this K; -1: a panel ends
  /// elsewhere.
  std::int64_t packed_offset(std::int64_t columns) const noexcept;
  /// The columns of a panel of the packed rhs (NR).
  std::int64_t panel_columns() const noexcept { return kernel_.panel_columns; }
  /// REQUIRES: `packed` is aligned to 64 bytes.
  void pack(const T* rhs, T* packed) const noexcept;
  /// The number of parts of the packed rhs, groups of columns, which pack_part() packs.
  std::int64_t packing_parts() const noexcept;
  void pack_part(std::int64_t part, const T* rhs, T* packed) const noexcept;
  /// The bytes of scratch of each run: a block of rhs for PackBlocks, and copied rows of lhs, whose
  /// stride is a multiple of kSetStride; 0 if neither is needed.
  std::size_t scratch_bytes() const;
  /// `rhs`: in the form of the constructor. `bias`: n numbers that the sums begin with, or null
  /// for 0. `scratch`: scratch_bytes(), aligned to 64 bytes; may be null if that is 0.
  void run(const T* lhs, const T* rhs, const T* bias, T* result, T* scratch) const noexcept;

 private:
  /// The operands of a group of rows. lhs is copied, and blocks of rhs are packed, for a group.
  struct RowGroup {
    const T* lhs;
    const T* rhs;
    const T* bias;
    T* result;
    T* scratch;
    std::int64_t m, lhs_m;
  };
  /// Copies lhs into the scratch, after the block of rhs, to copied_stride().
  void copy_lhs(RowGroup& group) const noexcept;
  std::int64_t copied_stride() const;
  void run_whole(const RowGroup& group) const noexcept;
  void run_blocks(const RowGroup& group) const noexcept;
  /// Packs and multiplies the blocks of columns [begin, end) at offset d of k, prefetching the next
  /// block while one is multiplied (by kernels that prefetch).
  void run_columns(const RowGroup& group, std::int64_t begin, std::int64_t end,
                   std::int64_t d) const noexcept;
  /// The elements of the scratch for a packed block of rhs; 0 except for PackBlocks.
  std::int64_t block_elements() const;
  std::int64_t part_columns() const noexcept { return kPanelsOfPart * kernel_.panel_columns; }
  std::int64_t k_of_block(std::int64_t d) const;
  /// Returns the memory of the block that begins at (d, column); none after the last block.
  Prefetch prefetch_of(const T* rhs, std::int64_t column, std::int64_t d) const;

  GemmShape shape_;
  RhsForm form_;
  MicroKernel<T> kernel_;
  bool copies_lhs_;
  std::int64_t groups_ = 1;  // the number of groups of rows, nearly equal in size
};

}  // namespace kiln::cpu
