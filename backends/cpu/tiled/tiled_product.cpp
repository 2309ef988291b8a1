// Packing, and the choice of the micro-kernel.
#include "backends/cpu/tiled/tiled_product.h"

#include <xmmintrin.h>

#include <algorithm>

namespace kiln::cpu {
namespace {

/// Of rhs, packed at a time: it stays in the second cache while the rows go by.
constexpr std::int64_t kBlockDepth = 512, kBlockColumns = 256;

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
void pack_columns(const float* rhs, std::int64_t stride, std::int64_t depth, std::int64_t columns,
                  std::int64_t panel, float* to) {
  constexpr std::int64_t kLine = 16;
  const std::int64_t fours = columns / 4 * 4, deep = depth / 4 * 4;
  for (std::int64_t line = 0; line < deep; line += kLine) {
    const std::int64_t end = std::min(line + kLine, deep);
    for (std::int64_t c = 0; c < fours; c += 4) {
      for (std::int64_t d = line; d < end; d += 4) {
        pack_four(rhs + c * stride + d, stride, to + d * panel + c, panel);
      }
    }
  }
  for (std::int64_t d = 0; d < depth; ++d) {
    for (std::int64_t c = d < deep ? fours : 0; c < columns; ++c) {
      to[d * panel + c] = rhs[c * stride + d];
    }
  }
}

void pack_any(const float* rhs, const TiledShape& shape, std::int64_t depth, std::int64_t columns,
              std::int64_t panel, float* to) {
  for (std::int64_t d = 0; d < depth; ++d) {
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
  pack(rhs, shape_.columns, shape_.depth, packed);
}

void TiledProduct::pack(const float* rhs, std::int64_t columns, std::int64_t depth,
                        float* packed) const noexcept {
  const std::int64_t panel = kernel_.panel_columns;
  for (std::int64_t column = 0; column < columns; column += panel) {
    const std::int64_t width = std::min(panel, columns - column);
    float* to = packed + column * depth;
    const float* from = rhs + column * shape_.rhs_column;
    if (width < panel) std::fill(to, to + panel * depth, 0.0f);
    if (shape_.rhs_column == 1) {
      for (std::int64_t d = 0; d < depth; ++d) {
        std::copy_n(from + d * shape_.rhs_depth, width, to + d * panel);
      }
    } else if (shape_.rhs_depth == 1) {
      pack_columns(from, shape_.rhs_column, depth, width, panel, to);
    } else {
      pack_any(from, shape_, depth, width, panel, to);
    }
  }
}

std::int64_t TiledProduct::block_columns() const {
  const std::int64_t panel = kernel_.panel_columns, most = std::max(kBlockColumns, panel);
  return std::min(most, (shape_.columns + panel - 1) / panel * panel);
}

std::size_t TiledProduct::scratch_bytes() const {
  if (form_ != RhsForm::Blocks) return 0;
  const std::int64_t depth = std::min(shape_.depth, kBlockDepth);
  return static_cast<std::size_t>(block_columns() * depth) * sizeof(float);
}

void TiledProduct::run(const float* lhs, const float* rhs, const float* bias, float* result,
                       float* scratch) const noexcept {
  if (form_ == RhsForm::Blocks) return run_blocks(lhs, rhs, bias, result, scratch);
  const bool lines = form_ == RhsForm::Lines;
  const std::int64_t rhs_stride = lines ? shape_.rhs_column : shape_.rhs_depth;
  (lines ? kernel_.run_lines : kernel_.run)(
      {lhs, rhs, form_ == RhsForm::Packed, bias, result, shape_.rows, shape_.columns, shape_.depth,
       shape_.lhs_row, shape_.lhs_depth, rhs_stride, shape_.result_row, false, shape_.relu});
}

void TiledProduct::run_blocks(const float* lhs, const float* rhs, const float* bias,
                              float* result, float* scratch) const noexcept {
  const std::int64_t width = block_columns();
  for (std::int64_t column = 0; column < shape_.columns; column += width) {
    const std::int64_t columns = std::min(width, shape_.columns - column);
    for (std::int64_t d = 0; d < shape_.depth; d += kBlockDepth) {
      const std::int64_t depth = std::min(kBlockDepth, shape_.depth - d);
      pack(rhs + column * shape_.rhs_column + d * shape_.rhs_depth, columns, depth, scratch);
      const bool first = d == 0, last = d + depth == shape_.depth;
      kernel_.run({lhs + d * shape_.lhs_depth, scratch, true,
                   bias && first ? bias + column : nullptr, result + column, shape_.rows, columns,
                   depth, shape_.lhs_row, shape_.lhs_depth, 0, shape_.result_row, !first,
                   last && shape_.relu});
    }
  }
}

}  // namespace kiln::cpu
