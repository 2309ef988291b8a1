// Products of float32 whose right operand is packed once and multiplied often: the weights of a
// loop, or of a model that is not being trained. Own code, no library: a run allocates nothing,
// and an element of the result is the sum over the depth in order, whatever the other sizes are.
#pragma once

#include "backends/cpu/packed/micro_kernel.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kiln::cpu {

/// Instructions that the inner loops are compiled for.
enum class PackedLevel : std::uint8_t { Baseline, Avx2, Avx512 };

/// result (rows x columns) = lhs (rows x depth) times rhs (depth x columns). Strides in elements;
/// neighbours of a row of the result lie together.
struct PackedShape {
  std::int64_t rows = 0, columns = 0, depth = 0;
  std::int64_t lhs_row = 0, lhs_depth = 0;
  std::int64_t rhs_depth = 0, rhs_column = 0;
  std::int64_t result_row = 0;
  bool relu = false;  // in the end, what is not above 0 becomes 0; NaN stays
};

class PackedProduct {
 public:
  /// REQUIRES: all sizes above 0, and that the machine has the level.
  PackedProduct(const PackedShape& shape, PackedLevel level);

  /// Of the packed form: panels of a few columns, filled up with zeros, row after row of rhs.
  std::size_t packed_bytes() const;
  /// `packed` is aligned to 64 bytes.
  void pack(const float* rhs, float* packed) const noexcept;
  /// `bias`: a number for each column that sums begin with, or null for 0. From any number of
  /// threads.
  void run(const float* lhs, const float* packed, const float* bias, float* result) const noexcept;

 private:
  PackedShape shape_;
  MicroKernel kernel_;
};

}  // namespace kiln::cpu
