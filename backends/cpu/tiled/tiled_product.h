// Native GEMM over tiles of registers. It allocates nothing, uses no threads, and takes a right
// operand that was packed once for many runs. An element of the result is the sum along the depth
// in order, whatever the other sizes are; with RhsForm::Lines, one such sum for each lane of a
// vector.
#pragma once

#include "backends/cpu/tiled/micro_kernel.h"

#include <cstddef>
#include <cstdint>

namespace kiln::cpu {

/// ISA levels that the inner loops are compiled for.
enum class TileLevel : std::uint8_t { Baseline, Avx2, Avx512 };

/// REQUIRES: that the machine has the level.
const LevelKernels& level_kernels_of(TileLevel level);

/// result (rows x columns) = lhs (rows x depth) times rhs (depth x columns). Strides in elements;
/// elements of a row of the result are contiguous.
struct TiledShape {
  std::int64_t rows = 0, columns = 0, depth = 0;
  std::int64_t lhs_row = 0, lhs_depth = 0;
  std::int64_t rhs_depth = 0, rhs_column = 0;
  std::int64_t result_row = 0;
  bool relu = false;  // applied last: what is not above 0 becomes 0; NaN stays
};

/// The form in which a run gets rhs.
enum class RhsForm : std::uint8_t {
  Plain,   // the matrix, read in place
  Packed,  // made by pack()
  Blocks,  // the matrix: block after block is packed into the scratch
  Lines,   // the matrix: its columns are contiguous, and so are the rows of lhs
};

/// T: float, double, unsigned or unsigned long; signed integers have the bits of unsigned ones.
template <class T>
class TiledProduct {
 public:
  /// REQUIRES: all sizes above 0, rhs_column 1 for a plain rhs, lhs_depth and rhs_depth 1 for
  /// lines, and that the machine has the level.
  TiledProduct(const TiledShape& shape, RhsForm form, TileLevel level);

  /// Of the packed form: panels of a few columns, padded with zeros, row after row of rhs.
  std::size_t packed_bytes() const;
  /// `packed` is aligned to 64 bytes.
  void pack(const T* rhs, T* packed) const noexcept;
  /// Of each run with blocks, aligned to 64 bytes.
  std::size_t scratch_bytes() const;
  /// `bias`: a number for each column that sums begin with, or null for 0. From any number of
  /// threads.
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
    std::int64_t rows;
  };
  void run_blocks(const T* lhs, const T* rhs, const T* bias, T* result, T* scratch) const noexcept;
  /// The blocks of these columns at one depth, each while the next one is prefetched.
  void run_group(const BlockRun& run, std::int64_t begin, std::int64_t end,
                 std::int64_t d) const noexcept;
  std::int64_t depth_of_block(std::int64_t d) const;
  /// The memory of the block that begins there; none behind the last one.
  Fetch fetch_of(const T* rhs, std::int64_t column, std::int64_t d) const;

  TiledShape shape_;
  RhsForm form_;
  MicroKernel<T> kernel_;
};

}  // namespace kiln::cpu
