// Native GEMM of float16 and bfloat16: operands are converted to float32 while they are packed,
// sums are those of TiledProduct<float>, and each element of the result is rounded once.
#pragma once

#include "backends/cpu/tiled/tiled_product.h"

namespace kiln::cpu {

/// Half: Float16Bits or BFloat16Bits.
template <class Half>
class HalfProduct {
 public:
  /// REQUIRES: all sizes above 0, no relu, a packed rhs or blocks, and that the machine has the
  /// level.
  HalfProduct(const TiledShape& shape, RhsForm form, TileLevel level);

  /// Of the packed form: panels of float32, as TiledProduct<float> has them.
  std::size_t packed_bytes() const;
  /// `packed` is aligned to 64 bytes.
  void pack(const Half* rhs, float* packed) const noexcept;
  /// Of each run, aligned to 64 bytes.
  std::size_t scratch_bytes() const;
  /// `rhs`: Half elements, or floats made by pack(). From any number of threads.
  void run(const Half* lhs, const void* rhs, Half* result, float* scratch) const noexcept;

 private:
  /// Parts of the scratch: a group of rows of lhs, a packed block of rhs, the sums of a group.
  struct Scratch {
    float* lhs;
    float* rhs;
    float* sums;
  };
  bool lhs_is_transposed() const { return shape_.lhs_depth != 1 && shape_.lhs_row == 1; }
  void widen_lhs(const Half* lhs, std::int64_t rows, float* to) const;
  /// The sums of one group of rows and columns, from widened rows of lhs.
  void add_group(const Scratch& own, std::int64_t rows, const void* rhs, std::int64_t column,
                 std::int64_t columns) const;
  void add_block(MicroKernelArguments<float> a, const Half* rhs, float* packed) const;
  std::int64_t group_columns() const;

  TiledShape shape_;
  RhsForm form_;
  std::int64_t group_rows_;
  MicroKernel<float> kernel_;
  HalfKernel<Half> halves_;
};

}  // namespace kiln::cpu
