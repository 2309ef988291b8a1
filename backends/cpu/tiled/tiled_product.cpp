// Packing, and the choice of the micro-kernel.
#include "backends/cpu/tiled/tiled_product.h"

#include <xmmintrin.h>

#include <algorithm>

namespace kiln::cpu {
namespace {

MicroKernel kernel_of(TileLevel level) {
  switch (level) {
    case TileLevel::Avx512: return kMicroKernelAvx512;
    case TileLevel::Avx2: return kMicroKernelAvx2;
    case TileLevel::Baseline: break;
  }
  return kMicroKernelBaseline;
}

/// Four columns by four rows of their numbers.
void pack_four(const float* from, std::int64_t stride, float* to, std::int64_t panel) {
  __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + stride);
  __m128 c = _mm_loadu_ps(from + 2 * stride), d = _mm_loadu_ps(from + 3 * stride);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  _mm_store_ps(to, a);
  _mm_store_ps(to + panel, b);
  _mm_store_ps(to + 2 * panel, c);
  _mm_store_ps(to + 3 * panel, d);
}

/// A panel from columns whose numbers lie together: a line of memory of each is used up before the
/// lines of many columns push each other out of the cache.
void pack_columns(const float* rhs, const TiledShape& shape, std::int64_t columns,
                  std::int64_t panel, float* to) {
  constexpr std::int64_t kLine = 16;
  const std::int64_t stride = shape.rhs_column;
  const std::int64_t fours = columns / 4 * 4, deep = shape.depth / 4 * 4;
  for (std::int64_t line = 0; line < deep; line += kLine) {
    const std::int64_t end = std::min(line + kLine, deep);
    for (std::int64_t c = 0; c < fours; c += 4) {
      for (std::int64_t d = line; d < end; d += 4) {
        pack_four(rhs + c * stride + d, stride, to + d * panel + c, panel);
      }
    }
  }
  for (std::int64_t d = 0; d < shape.depth; ++d) {
    for (std::int64_t c = d < deep ? fours : 0; c < columns; ++c) {
      to[d * panel + c] = rhs[c * stride + d];
    }
  }
}

void pack_any(const float* rhs, const TiledShape& shape, std::int64_t columns, std::int64_t panel,
              float* to) {
  for (std::int64_t d = 0; d < shape.depth; ++d) {
    for (std::int64_t c = 0; c < columns; ++c) {
      to[d * panel + c] = rhs[d * shape.rhs_depth + c * shape.rhs_column];
    }
  }
}

}  // namespace

TiledProduct::TiledProduct(const TiledShape& shape, RhsForm form, TileLevel level)
    : shape_(shape), form_(form), kernel_(kernel_of(level)) {}

std::size_t TiledProduct::packed_bytes() const {
  const std::int64_t panel = kernel_.panel_columns;
  const std::int64_t columns = (shape_.columns + panel - 1) / panel * panel;
  return static_cast<std::size_t>(columns * shape_.depth) * sizeof(float);
}

void TiledProduct::pack(const float* rhs, float* packed) const noexcept {
  const std::int64_t panel = kernel_.panel_columns;
  for (std::int64_t column = 0; column < shape_.columns; column += panel) {
    const std::int64_t columns = std::min(panel, shape_.columns - column);
    float* to = packed + column * shape_.depth;
    const float* from = rhs + column * shape_.rhs_column;
    if (columns < panel) std::fill(to, to + panel * shape_.depth, 0.0f);
    if (shape_.rhs_column != 1) {
      (shape_.rhs_depth == 1 ? pack_columns : pack_any)(from, shape_, columns, panel, to);
      continue;
    }
    for (std::int64_t d = 0; d < shape_.depth; ++d) {
      std::copy_n(from + d * shape_.rhs_depth, columns, to + d * panel);
    }
  }
}

void TiledProduct::run(const float* lhs, const float* rhs, const float* bias,
                       float* result) const noexcept {
  kernel_.run({lhs, rhs, form_ == RhsForm::Packed, bias, result, shape_.rows, shape_.columns,
               shape_.depth, shape_.lhs_row, shape_.lhs_depth, shape_.rhs_depth, shape_.result_row,
               shape_.relu});
}

}  // namespace kiln::cpu
