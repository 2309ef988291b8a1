// Few rows by contiguous columns: sums along the depth in the lanes of vectors.
#pragma once

#include "backends/cpu/tiled/level_vectors.h"

namespace kiln::cpu {
namespace {

constexpr int kLineRows = kRegisters / 8, kLineColumns = 4;

/// Adds the chunks of a vector, halves first.
template <class T>
inline Chunk<T> chunk_sum(const Vector<T>& lanes) {
  Chunk<T> parts[kVectorBytes / 16];
  __builtin_memcpy(parts, &lanes, sizeof(parts));
  for (int width = kVectorBytes / 32; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) parts[i] = parts[i] + parts[i + width];
  }
  return parts[0];
}

/// The sum of the lanes of each of four vectors.
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

/// Always sums for kLineColumns columns, of which the last ones may be none.
template <class T, int kRows, int kColumns>
void multiply_lines(const MicroKernelArguments<T>& a, long long row, long long column) {
  const T* lhs = a.lhs + row * a.lhs_row;
  const T* rhs = a.rhs + column * a.rhs_stride;
  Vector<T> sums[kRows][kLineColumns] = {};
  long long d = 0;
  for (; d + kLanes<T> <= a.depth; d += kLanes<T>) {
    Vector<T> left[kRows];
    _Pragma("GCC unroll 8") for (int r = 0; r < kRows; ++r) {
      left[r] = load_unaligned(lhs + r * a.lhs_row + d);
    }
    _Pragma("GCC unroll 8") for (int c = 0; c < kColumns; ++c) {
      const Vector<T> right = load_unaligned(rhs + c * a.rhs_stride + d);
      _Pragma("GCC unroll 8") for (int r = 0; r < kRows; ++r) sums[r][c] += left[r] * right;
    }
  }
  if (const int rest = static_cast<int>(a.depth - d); rest != 0) {
    KILN_EACH_SUM {
      sums[r][c] += load_some(lhs + r * a.lhs_row + d, rest) *
                    load_some(rhs + c * a.rhs_stride + d, rest);
    }
  }
  T found[kRows][kLineColumns];
  _Pragma("GCC unroll 8") for (int r = 0; r < kRows; ++r) add_up<T>(sums[r], found[r]);
  KILN_EACH_SUM {
    const T sum = found[r][c] + (a.bias ? a.bias[column + c] : T(0));
    a.result[(row + r) * a.result_row + column + c] = a.relu && sum <= 0 ? T(0) : sum;
  }
}
#undef KILN_EACH_SUM

template <class T, int kRows, int kColumns>
void multiply_line_tile(const MicroKernelArguments<T>& a, long long row, int rows,
                        long long column, int columns) {
  if constexpr (kRows > 1) {
    if (rows < kRows) {
      return multiply_line_tile<T, kRows - 1, kColumns>(a, row, rows, column, columns);
    }
  }
  if constexpr (kColumns > 1) {
    if (columns < kColumns) {
      return multiply_line_tile<T, kRows, kColumns - 1>(a, row, rows, column, columns);
    }
  }
  multiply_lines<T, kRows, kColumns>(a, row, column);
}

template <class T>
void run_lines(const MicroKernelArguments<T>& a) {
  for (long long column = 0; column < a.columns; column += kLineColumns) {
    const int columns = static_cast<int>(smaller(kLineColumns, a.columns - column));
    for (long long row = 0; row < a.rows; row += kLineRows) {
      const int rows = static_cast<int>(smaller(kLineRows, a.rows - row));
      multiply_line_tile<T, kLineRows, kLineColumns>(a, row, rows, column, columns);
    }
  }
}

}  // namespace
}  // namespace kiln::cpu
