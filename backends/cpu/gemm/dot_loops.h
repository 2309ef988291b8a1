// Matmuls of few rows by a transposed rhs as dot products: rows of lhs and columns of rhs are both
// contiguous along k, each sum is a vector of partial sums along k, and its lanes are added at the
// end. Bits differ from the other forms', which have one sum along k.
#pragma once

#include "backends/cpu/gemm/isa_vectors.h"

namespace kiln::cpu {
namespace {

constexpr int kDotRows = kRegisters / 8, kDotColumns = 4;

/// Adds the 16-byte chunks of a vector: the upper half to the lower half, and so on.
template <class T>
inline Chunk<T> chunk_sum(const Vector<T>& lanes) {
  Chunk<T> parts[kVectorBytes / 16];
  __builtin_memcpy(parts, &lanes, sizeof(parts));
  for (int width = kVectorBytes / 32; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) parts[i] = parts[i] + parts[i + width];
  }
  return parts[0];
}

/// Adds the lanes of each of four vectors.
template <class T>
inline void add_up(const Vector<T> (&from)[4], T (&to)[4]) {
  for (int i = 0; i < 4; ++i) {
    const Chunk<T> sum = chunk_sum<T>(from[i]);
    if constexpr (sizeof(T) == 8) {
      to[i] = sum[0] + sum[1];
    } else {
      to[i] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
  }
}
template <>
inline void add_up<float>(const Vector<float> (&from)[4], float (&to)[4]) {
  __m128 a = chunk_sum<float>(from[0]), b = chunk_sum<float>(from[1]);
  __m128 c = chunk_sum<float>(from[2]), d = chunk_sum<float>(from[3]);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  _mm_storeu_ps(to, _mm_add_ps(_mm_add_ps(a, b), _mm_add_ps(c, d)));
}

#define KILN_EACH_SUM                                     \
  _Pragma("GCC unroll 8") for (int r = 0; r < kRows; ++r) \
      _Pragma("GCC unroll 8") for (int c = 0; c < kColumns; ++c)

/// Computes kRows x kColumns elements; `sums` has kDotColumns columns in any case, for add_up().
template <class T, int kRows, int kColumns>
void multiply_dot(const MicroKernelArguments<T>& a, long long row, long long column) {
  const T* lhs = a.lhs + row * a.lhs_m;
  const T* rhs = a.rhs + column * a.rhs_stride;
  Vector<T> sums[kRows][kDotColumns] = {};
  long long d = 0;
  for (; d + kLanes<T> <= a.k; d += kLanes<T>) {
    Vector<T> left[kRows];
    _Pragma("GCC unroll 8") for (int r = 0; r < kRows; ++r) {
      left[r] = load_unaligned(lhs + r * a.lhs_m + d);
    }
    _Pragma("GCC unroll 8") for (int c = 0; c < kColumns; ++c) {
      const Vector<T> right = load_unaligned(rhs + c * a.rhs_stride + d);
      _Pragma("GCC unroll 8") for (int r = 0; r < kRows; ++r) sums[r][c] += left[r] * right;
    }
  }
  if (const int rest = static_cast<int>(a.k - d); rest != 0) {
    KILN_EACH_SUM {
      sums[r][c] +=
          load_some(lhs + r * a.lhs_m + d, rest) * load_some(rhs + c * a.rhs_stride + d, rest);
    }
  }
  T found[kRows][kDotColumns];
  _Pragma("GCC unroll 8") for (int r = 0; r < kRows; ++r) add_up<T>(sums[r], found[r]);
  KILN_EACH_SUM {
    const T sum = found[r][c] + (a.bias ? a.bias[column + c] : T(0));
    a.result[(row + r) * a.result_m + column + c] = a.relu && sum <= 0 ? T(0) : sum;
  }
}
#undef KILN_EACH_SUM

template <class T, int kRows, int kColumns>
void multiply_dot_tile(const MicroKernelArguments<T>& a, long long row, int rows, long long column,
                       int columns) {
  if constexpr (kRows > 1) {
    if (rows < kRows) {
      return multiply_dot_tile<T, kRows - 1, kColumns>(a, row, rows, column, columns);
    }
  }
  if constexpr (kColumns > 1) {
    if (columns < kColumns) {
      return multiply_dot_tile<T, kRows, kColumns - 1>(a, row, rows, column, columns);
    }
  }
  multiply_dot<T, kRows, kColumns>(a, row, column);
}

template <class T>
void run_dot_products(const MicroKernelArguments<T>& a) {
  for (long long column = 0; column < a.n; column += kDotColumns) {
    const int columns = static_cast<int>(smaller(kDotColumns, a.n - column));
    for (long long row = 0; row < a.m; row += kDotRows) {
      const int rows = static_cast<int>(smaller(kDotRows, a.m - row));
      multiply_dot_tile<T, kDotRows, kDotColumns>(a, row, rows, column, columns);
    }
  }
}

}  // namespace
}  // namespace kiln::cpu
