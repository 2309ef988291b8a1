// Native GEMM of float16 and bfloat16: operands are converted to float32 while they are packed, or
// multiplied by AVX512-BF16; sums are those of TiledProduct<float>, and each element of the result
// is rounded once.
#pragma once

#include "backends/cpu/tiled/tiled_product.h"

namespace kiln::cpu {

/// Half: Float16Bits or BFloat16Bits.
template <class Half>
class HalfProduct {
 public:
  /// REQUIRES: all sizes above 0, no relu, a packed rhs or blocks, and that the machine has the
  /// level. Runs REQUIRE that subnormal operands and results are 0 on their thread, as AVX512-BF16
  /// has it; elsewhere their bits would depend on the machine.
  HalfProduct(const TiledShape& shape, RhsForm form, TileLevel level);

  /// Of the packed form: panels of units.
  std::size_t packed_bytes() const;
  /// `packed` is aligned to 64 bytes.
  void pack(const Half* rhs, HalfUnit* packed) const noexcept;
  /// Of each run, aligned to 64 bytes.
  std::size_t scratch_bytes() const;
  /// `rhs`: Half elements, or units made by pack(). From any number of threads.
  void run(const Half* lhs, const void* rhs, Half* result, HalfUnit* scratch) const noexcept;

 private:
  /// Parts of the scratch: a group of rows of lhs, a packed block of rhs, the sums of a group.
  struct Scratch {
    HalfUnit* lhs;
    HalfUnit* rhs;
    float* sums;
  };
  bool lhs_is_transposed() const { return shape_.lhs_depth != 1 && shape_.lhs_row == 1; }
  std::int64_t units(std::int64_t depth) const;
  std::int64_t group_columns() const;
  Scratch parts_of(HalfUnit* scratch) const;
  /// The sums of one group of rows and columns, from prepared rows of lhs.
  void add_group(const Scratch& own, std::int64_t rows, const void* rhs, std::int64_t column,
                 std::int64_t columns) const;
  /// The columns of a group at `depth` elements of the depth.
  void add_block(HalfArguments a, const Half* rhs, std::int64_t depth, HalfUnit* packed) const;

  TiledShape shape_;
  RhsForm form_;
  std::int64_t group_rows_;
  HalfKernel<Half> kernel_;
};

}  // namespace kiln::cpu
