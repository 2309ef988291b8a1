// Products of float32 in own loops over tiles of registers. Beside a library's they allocate
// nothing, know no threads, and can work on a right operand that was packed once for many runs.
// An element of the result is the sum over the depth in order, whatever the other sizes are; of
// lines, as many such sums as a vector has lanes.
#pragma once

#include "backends/cpu/tiled/micro_kernel.h"

#include <cstddef>
#include <cstdint>

namespace kiln::cpu {

/// Instructions that the inner loops are compiled for.
enum class TileLevel : std::uint8_t { Baseline, Avx2, Avx512 };

/// result (rows x columns) = lhs (rows x depth) times rhs (depth x columns). Strides in elements;
/// neighbours of a row of the result lie together.
struct TiledShape {
  std::int64_t rows = 0, columns = 0, depth = 0;
  std::int64_t lhs_row = 0, lhs_depth = 0;
  std::int64_t rhs_depth = 0, rhs_column = 0;
  std::int64_t result_row = 0;
  bool relu = false;  // in the end, what is not above 0 becomes 0; NaN stays
};

/// What a run gets as rhs, and what it does with it.
enum class RhsForm : std::uint8_t {
  Plain,   // the matrix: its rows are read as they lie
  Packed,  // what pack() made of it
  Blocks,  // the matrix: one part after the other is packed into the scratch
  Lines,   // the matrix: its columns lie together, as do the rows of lhs
};

class TiledProduct {
 public:
  /// REQUIRES: all sizes above 0, rhs_column 1 for a plain rhs, lhs_depth and rhs_depth 1 for
  /// lines, and that the machine has the level.
  TiledProduct(const TiledShape& shape, RhsForm form, TileLevel level);

  /// Of the packed form: panels of a few columns, filled up with zeros, row after row of rhs.
  std::size_t packed_bytes() const;
  /// `packed` is aligned to 64 bytes.
  void pack(const float* rhs, float* packed) const noexcept;
  /// Of each run with blocks, aligned to 64 bytes.
  std::size_t scratch_bytes() const;
  /// `bias`: a number for each column that sums begin with, or null for 0. From any number of
  /// threads.
  void run(const float* lhs, const float* rhs, const float* bias, float* result,
           float* scratch = nullptr) const noexcept;

 private:
  /// What all blocks of a group of rows have.
  struct BlockRun {
    const float* lhs;
    const float* rhs;
    const float* bias;
    float* result;
    float* scratch;
    std::int64_t rows;
  };
  void run_blocks(const float* lhs, const float* rhs, const float* bias, float* result,
                  float* scratch) const noexcept;
  /// The blocks of these columns at one depth, each while the next one is fetched.
  void run_group(const BlockRun& run, std::int64_t begin, std::int64_t end,
                 std::int64_t d) const noexcept;
  std::int64_t depth_of_block(std::int64_t d) const;
  /// The memory of the block that begins there; none behind the last one.
  Fetch fetch_of(const float* rhs, std::int64_t column, std::int64_t d) const;

  TiledShape shape_;
  RhsForm form_;
  MicroKernel kernel_;
};

}  // namespace kiln::cpu
