// Packs rhs into panels: panel after panel of kPanel<T> columns, each row after row, so that the
// micro-kernel reads one sequential stream of memory for any strides of rhs. A transposed
// rhs is transposed in registers while it is packed.
#pragma once

#include "backends/cpu/gemm/isa_vectors.h"

namespace kiln::cpu {
namespace {

template <class T>
constexpr int kChunk = 16 / static_cast<int>(sizeof(T));

/// Loads the chunk at `from` and the chunks at every kChunk-th stride after it into one vector.
template <class T>
inline Vector<T> load_chunks(const T* from, long long stride) {
  const auto chunk = [&](int i) {
    return _mm_loadu_ps(reinterpret_cast<const float*>(from + i * kChunk<T> * stride));
  };
#if defined(__AVX512F__)
  __m512 all = _mm512_maskz_broadcast_f32x4(0xf, chunk(0));
  all = _mm512_mask_broadcast_f32x4(all, 0xf0, chunk(1));
  all = _mm512_mask_broadcast_f32x4(all, 0xf00, chunk(2));
  return (Vector<T>)_mm512_mask_broadcast_f32x4(all, 0xf000, chunk(3));
#elif defined(__AVX2__)
  return (Vector<T>)_mm256_set_m128(chunk(1), chunk(0));
#else
  (void)stride;
  return (Vector<T>)chunk(0);
#endif
}

/// Transposes square blocks of chunks: afterwards m[i] is row i of the matrix whose columns were
/// the vectors. Here for chunks of two elements.
template <class T>
inline void transpose_chunks(Vector<T> (&m)[2]) {
#if defined(__AVX512F__)
  // With masks, as GCC 12 warns of the undefined vectors in the plain ones.
  const __m512d a = (__m512d)m[0], b = (__m512d)m[1];
  m[0] = (Vector<T>)_mm512_maskz_unpacklo_pd(0xff, a, b);
  m[1] = (Vector<T>)_mm512_maskz_unpackhi_pd(0xff, a, b);
#elif defined(__AVX2__)
  const __m256d a = (__m256d)m[0], b = (__m256d)m[1];
  m[0] = (Vector<T>)_mm256_unpacklo_pd(a, b);
  m[1] = (Vector<T>)_mm256_unpackhi_pd(a, b);
#else
  const __m128d a = (__m128d)m[0], b = (__m128d)m[1];
  m[0] = (Vector<T>)_mm_unpacklo_pd(a, b);
  m[1] = (Vector<T>)_mm_unpackhi_pd(a, b);
#endif
}

/// For chunks of four elements.
template <class T>
inline void transpose_chunks(Vector<T> (&m)[4]) {
#if defined(__AVX512F__)
  constexpr __mmask16 kAll = 0xffff;
  const __m512 a = (__m512)m[0], b = (__m512)m[1], c = (__m512)m[2], d = (__m512)m[3];
  const __m512 ab = _mm512_maskz_unpacklo_ps(kAll, a, b), cd = _mm512_maskz_unpacklo_ps(kAll, c, d);
  const __m512 more_ab = _mm512_maskz_unpackhi_ps(kAll, a, b);
  const __m512 more_cd = _mm512_maskz_unpackhi_ps(kAll, c, d);
  m[0] = (Vector<T>)_mm512_maskz_shuffle_ps(kAll, ab, cd, 0x44);
  m[1] = (Vector<T>)_mm512_maskz_shuffle_ps(kAll, ab, cd, 0xee);
  m[2] = (Vector<T>)_mm512_maskz_shuffle_ps(kAll, more_ab, more_cd, 0x44);
  m[3] = (Vector<T>)_mm512_maskz_shuffle_ps(kAll, more_ab, more_cd, 0xee);
#elif defined(__AVX2__)
  const __m256 a = (__m256)m[0], b = (__m256)m[1], c = (__m256)m[2], d = (__m256)m[3];
  const __m256 ab = _mm256_unpacklo_ps(a, b), cd = _mm256_unpacklo_ps(c, d);
  const __m256 more_ab = _mm256_unpackhi_ps(a, b), more_cd = _mm256_unpackhi_ps(c, d);
  m[0] = (Vector<T>)_mm256_shuffle_ps(ab, cd, 0x44);
  m[1] = (Vector<T>)_mm256_shuffle_ps(ab, cd, 0xee);
  m[2] = (Vector<T>)_mm256_shuffle_ps(more_ab, more_cd, 0x44);
  m[3] = (Vector<T>)_mm256_shuffle_ps(more_ab, more_cd, 0xee);
#else
  __m128 a = (__m128)m[0], b = (__m128)m[1], c = (__m128)m[2], d = (__m128)m[3];
  _MM_TRANSPOSE4_PS(a, b, c, d);
  m[0] = (Vector<T>)a;
  m[1] = (Vector<T>)b;
  m[2] = (Vector<T>)c;
  m[3] = (Vector<T>)d;
#endif
}

template <class T>
inline void pack_elements(const PackArguments<T, T>& a, long long column, long long columns,
                          long long from_k, T* to) {
  for (long long d = from_k; d < a.k; ++d) {
    const T* from = a.rhs + d * a.rhs_k + column * a.rhs_n;
    for (long long c = 0; c < columns; ++c) to[d * kPanel<T> + c] = from[c * a.rhs_n];
  }
}

/// Packs a whole panel of an rhs with contiguous rows.
template <class T>
inline void pack_rows(const PackArguments<T, T>& a, long long column, T* to) {
  const T* from = a.rhs + column;
  for (long long d = 0; d < a.k; ++d, from += a.rhs_k, to += kPanel<T>) {
    _Pragma("GCC unroll 4") for (int v = 0; v < kPanelVectors; ++v) {
      *reinterpret_cast<Vector<T>*>(to + v * kLanes<T>) = load_unaligned(from + v * kLanes<T>);
    }
  }
}

/// Packs a whole panel of an rhs with contiguous columns. All elements of one cache line of each
/// column are packed together: otherwise the lines of many columns would evict each other.
template <class T>
inline void pack_columns(const PackArguments<T, T>& a, long long column, T* to) {
  const long long whole_k = a.k / kChunk<T> * kChunk<T>, stride = a.rhs_n;
  for (long long line = 0; line < whole_k; line += kLine<T>) {
    const long long end = smaller(line + kLine<T>, whole_k);
    for (int v = 0; v < kPanelVectors; ++v) {
      for (long long d = line; d < end; d += kChunk<T>) {
        const T* from = a.rhs + (column + v * kLanes<T>)*stride + d;
        Vector<T> rows[kChunk<T>];
        _Pragma("GCC unroll 4") for (int i = 0; i < kChunk<T>; ++i) {
          rows[i] = load_chunks(from + i * stride, stride);
        }
        transpose_chunks<T>(rows);
        _Pragma("GCC unroll 4") for (int i = 0; i < kChunk<T>; ++i) {
          *reinterpret_cast<Vector<T>*>(to + (d + i) * kPanel<T> + v * kLanes<T>) = rows[i];
        }
      }
    }
  }
  pack_elements(a, column, kPanel<T>, whole_k, to);
}

template <class T>
void pack(const PackArguments<T, T>& a) {
  for (long long column = 0; column < a.n; column += kPanel<T>) {
    T* to = a.packed + column * a.k;
    if (column + kPanel < T >> a.n) {
      __builtin_memset(to, 0, static_cast<unsigned long>(a.k) * kPanel<T> * sizeof(T));
      pack_elements(a, column, a.n - column, 0, to);
    } else if (a.rhs_n == 1) {
      pack_rows(a, column, to);
    } else if (a.rhs_k == 1) {
      pack_columns(a, column, to);
    } else {
      pack_elements(a, column, kPanel<T>, 0, to);
    }
  }
}

}  // namespace
}  // namespace kiln::cpu
