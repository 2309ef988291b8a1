// The packing of a right operand: included once for each level of instructions, beside
// micro_kernel_loops.h.
#pragma once

#include "backends/cpu/tiled/level_vectors.h"

namespace kiln::cpu {
namespace {

/// Four numbers at `from`, and at every fourth stride behind it.
inline Vector load_fours(const float* from, long long stride) {
#if defined(__AVX512F__)
  __m512 all = _mm512_maskz_broadcast_f32x4(0xf, _mm_loadu_ps(from));
  all = _mm512_mask_broadcast_f32x4(all, 0xf0, _mm_loadu_ps(from + 4 * stride));
  all = _mm512_mask_broadcast_f32x4(all, 0xf00, _mm_loadu_ps(from + 8 * stride));
  return _mm512_mask_broadcast_f32x4(all, 0xf000, _mm_loadu_ps(from + 12 * stride));
#elif defined(__AVX2__)
  return _mm256_set_m128(_mm_loadu_ps(from + 4 * stride), _mm_loadu_ps(from));
#else
  (void)stride;
  return _mm_loadu_ps(from);
#endif
}

/// Within each four lanes: row i of what the columns a, b, c, d are.
inline void turn_fours(Vector& a, Vector& b, Vector& c, Vector& d) {
#if defined(__AVX512F__)
  // With masks, as GCC 12 warns of the undefined vectors in the plain ones.
  constexpr __mmask16 kAll = 0xffff;
  const __m512 ab = _mm512_maskz_unpacklo_ps(kAll, a, b), cd = _mm512_maskz_unpacklo_ps(kAll, c, d);
  const __m512 more_ab = _mm512_maskz_unpackhi_ps(kAll, a, b);
  const __m512 more_cd = _mm512_maskz_unpackhi_ps(kAll, c, d);
  a = _mm512_maskz_shuffle_ps(kAll, ab, cd, 0x44);
  b = _mm512_maskz_shuffle_ps(kAll, ab, cd, 0xee);
  c = _mm512_maskz_shuffle_ps(kAll, more_ab, more_cd, 0x44);
  d = _mm512_maskz_shuffle_ps(kAll, more_ab, more_cd, 0xee);
#elif defined(__AVX2__)
  const __m256 ab = _mm256_unpacklo_ps(a, b), cd = _mm256_unpacklo_ps(c, d);
  const __m256 more_ab = _mm256_unpackhi_ps(a, b), more_cd = _mm256_unpackhi_ps(c, d);
  a = _mm256_shuffle_ps(ab, cd, 0x44);
  b = _mm256_shuffle_ps(ab, cd, 0xee);
  c = _mm256_shuffle_ps(more_ab, more_cd, 0x44);
  d = _mm256_shuffle_ps(more_ab, more_cd, 0xee);
#else
  _MM_TRANSPOSE4_PS(a, b, c, d);
#endif
}

inline void pack_numbers(const PackArguments& a, long long column, long long columns,
                         long long from_depth, float* to) {
  for (long long d = from_depth; d < a.depth; ++d) {
    const float* from = a.rhs + d * a.rhs_depth + column * a.rhs_column;
    for (long long c = 0; c < columns; ++c) to[d * kPanel + c] = from[c * a.rhs_column];
  }
}

/// A whole panel of rows that lie together.
inline void pack_rows(const PackArguments& a, long long column, float* to) {
  const float* from = a.rhs + column;
  for (long long d = 0; d < a.depth; ++d, from += a.rhs_depth, to += kPanel) {
    _Pragma("GCC unroll 4") for (int v = 0; v < kPanelVectors; ++v) {
      const Vector numbers = *reinterpret_cast<const Unaligned*>(from + v * kLanes);
      *reinterpret_cast<Vector*>(to + v * kLanes) = numbers;
    }
  }
}

/// A whole panel of columns that lie together: a line of memory of each is used up before the
/// lines of many columns push each other out of the cache.
inline void pack_columns(const PackArguments& a, long long column, float* to) {
  const long long deep = a.depth / 4 * 4, stride = a.rhs_column;
  for (long long line = 0; line < deep; line += kLine) {
    const long long end = smaller(line + kLine, deep);
    for (int v = 0; v < kPanelVectors; ++v) {
      for (long long d = line; d < end; d += 4) {
        const float* from = a.rhs + (column + v * kLanes) * stride + d;
        Vector rows[4] = {load_fours(from, stride), load_fours(from + stride, stride),
                          load_fours(from + 2 * stride, stride),
                          load_fours(from + 3 * stride, stride)};
        turn_fours(rows[0], rows[1], rows[2], rows[3]);
        _Pragma("GCC unroll 4") for (int i = 0; i < 4; ++i) {
          *reinterpret_cast<Vector*>(to + (d + i) * kPanel + v * kLanes) = rows[i];
        }
      }
    }
  }
  pack_numbers(a, column, kPanel, deep, to);
}

void pack(const PackArguments& a) {
  for (long long column = 0; column < a.columns; column += kPanel) {
    float* to = a.packed + column * a.depth;
    if (column + kPanel > a.columns) {
      __builtin_memset(to, 0, static_cast<unsigned long>(a.depth) * kPanel * sizeof(float));
      pack_numbers(a, column, a.columns - column, 0, to);
    } else if (a.rhs_column == 1) {
      pack_rows(a, column, to);
    } else if (a.rhs_depth == 1) {
      pack_columns(a, column, to);
    } else {
      pack_numbers(a, column, kPanel, 0, to);
    }
  }
}

}  // namespace
}  // namespace kiln::cpu
