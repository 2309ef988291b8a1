// Packing, and the choice of the micro-kernel.
#include "backends/cpu/packed/packed_product.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

MicroKernel kernel_of(PackedLevel level) {
  switch (level) {
    case PackedLevel::Avx512: return kMicroKernelAvx512;
    case PackedLevel::Avx2: return kMicroKernelAvx2;
    case PackedLevel::Baseline: break;
  }
  return kMicroKernelBaseline;
}

/// A panel from columns that lie apart: a few rows at a time, so that each line of memory is read
/// while it is near.
void pack_apart(const float* rhs, const PackedShape& shape, std::int64_t columns,
                std::int64_t panel, float* to) {
  constexpr std::int64_t kBlock = 16;
  for (std::int64_t d = 0; d < shape.depth; d += kBlock) {
    const std::int64_t last = std::min(d + kBlock, shape.depth);
    for (std::int64_t c = 0; c < columns; ++c) {
      const float* from = rhs + c * shape.rhs_column;
      for (std::int64_t i = d; i < last; ++i) to[i * panel + c] = from[i * shape.rhs_depth];
    }
  }
}

}  // namespace

PackedProduct::PackedProduct(const PackedShape& shape, PackedLevel level)
    : shape_(shape), kernel_(kernel_of(level)) {}

std::size_t PackedProduct::packed_bytes() const {
  const std::int64_t panel = kernel_.panel_columns;
  const std::int64_t columns = (shape_.columns + panel - 1) / panel * panel;
  return static_cast<std::size_t>(columns * shape_.depth) * sizeof(float);
}

void PackedProduct::pack(const float* rhs, float* packed) const noexcept {
  const std::int64_t panel = kernel_.panel_columns;
  for (std::int64_t column = 0; column < shape_.columns; column += panel) {
    const std::int64_t columns = std::min(panel, shape_.columns - column);
    float* to = packed + column * shape_.depth;
    const float* from = rhs + column * shape_.rhs_column;
    if (columns < panel) std::fill(to, to + panel * shape_.depth, 0.0f);
    if (shape_.rhs_column != 1) {
      pack_apart(from, shape_, columns, panel, to);
      continue;
    }
    for (std::int64_t d = 0; d < shape_.depth; ++d) {
      std::copy_n(from + d * shape_.rhs_depth, columns, to + d * panel);
    }
  }
}

void PackedProduct::run(const float* lhs, const float* packed, const float* bias,
                        float* result) const noexcept {
  kernel_.run({lhs, packed, bias, result, shape_.rows, shape_.columns, shape_.depth, shape_.lhs_row,
               shape_.lhs_depth, shape_.result_row, shape_.relu});
}

}  // namespace kiln::cpu
