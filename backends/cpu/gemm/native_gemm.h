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

/// T: float, double, unsigned or unsigned long; signed integers have the bits of unsigned ones.
/// Immutable: any number of threads may run one object.
template <class T>
class NativeGemm {
 public:
  /// REQUIRES: all sizes above 0; rhs_n is 1 for InPlace; lhs_k and rhs_k are 1 for DotProducts;
  /// the machine has the ISA.
  NativeGemm(const GemmShape& shape, RhsForm form, GemmIsa isa);

  /// The size of the packed rhs: panels of a few columns, padded with zeros, row after row.
  std::size_t packed_bytes() const;
  /// The columns of a panel of the packed rhs (NR).
  std::int64_t panel_columns() const noexcept { return kernel_.panel_columns; }
  /// REQUIRES: `packed` is aligned to 64 bytes.
  void pack(const T* rhs, T* packed) const noexcept;
  /// The number of parts of the packed rhs, groups of columns, which pack_part() packs.
  std::int64_t packing_parts() const noexcept;
  void pack_part(std::int64_t part, const T* rhs, T* packed) const noexcept;
  /// The scratch of each run, aligned to 64 bytes; 0 but for PackBlocks, where it has a block of
  /// rhs, and rows of lhs whose stride is a multiple of 4096 bytes.
  std::size_t scratch_bytes() const;
  /// `rhs`: in the form of the constructor. `bias`: n numbers that the sums begin with, or null
  /// for 0.
  void run(const T* lhs, const T* rhs, const T* bias, T* result,
           T* scratch = nullptr) const noexcept;

 private:
  /// The operands of all blocks of a group of rows.
  struct BlockRun {
    const T* lhs;
    const T* rhs;
    const T* bias;
    T* result;
    T* scratch;
    std::int64_t m, lhs_m;
  };
  void run_blocks(const T* lhs, const T* rhs, const T* bias, T* result, T* scratch) const noexcept;
  /// The elements of the scratch for a packed block of rhs.
  std::int64_t block_elements() const;
  /// Whether run_blocks copies lhs, whose rows share a set of the L1 cache, to a stride at which
  /// they do not.
  bool copies_lhs() const;
  /// The rows of a group that shares a packed block, and its rows of lhs if they are copied.
  std::int64_t rows_of_group() const;
  std::int64_t copied_stride() const;
  /// The group's lhs: its rows, or their copy in `scratch`.
  const T* lhs_of_group(const T* rows, std::int64_t count, T* scratch) const noexcept;
  /// Packs and multiplies the blocks of columns [begin, end) at offset d of k, prefetching the next
  /// block while one is multiplied (by kernels that prefetch).
  void run_group(const BlockRun& run, std::int64_t begin, std::int64_t end,
                 std::int64_t d) const noexcept;
  std::int64_t part_columns() const noexcept { return kPanelsOfPart * kernel_.panel_columns; }
  std::int64_t k_of_block(std::int64_t d) const;
  /// Returns the memory of the block that begins at (d, column); none after the last block.
  Prefetch prefetch_of(const T* rhs, std::int64_t column, std::int64_t d) const;

  GemmShape shape_;
  RhsForm form_;
  MicroKernel<T> kernel_;
};

}  // namespace kiln::cpu
