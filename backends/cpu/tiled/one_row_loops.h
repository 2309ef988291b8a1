// One row by a plain rhs, in vectors too small for tiles that read it in long runs: a few rows of
// rhs are read side by side from end to end, while the sums stay in the first cache.
#pragma once

#include "backends/cpu/tiled/level_vectors.h"

namespace kiln::cpu {
namespace {

/// Rows of rhs side by side.
constexpr int kRowsAtOnce = 8;

template <class T>
bool takes_row_by_row(const MicroKernelArguments<T>& a) {
  constexpr long long kTile = kRegisters / 2 * kLanes<T>;  // the columns of a tile of one row
  return kVectorBytes < kLineBytes && a.rows == 1 && !a.packed && a.columns > kTile;
}

template <class T>
inline Vector<T> without_negative(const Vector<T>& sum) {
  const Vector<T> zero = {};
  return sum <= zero ? zero : sum;
}

/// result = from + lhs[d .. d + kRows) times those rows of rhs; `from`: null for 0.
template <class T, int kRows>
void add_rows(const MicroKernelArguments<T>& a, long long d, const T* from) {
  T factors[kRows];
  for (int r = 0; r < kRows; ++r) factors[r] = a.lhs[(d + r) * a.lhs_depth];
  const T* rhs = a.rhs + d * a.rhs_stride;
  const bool relu = a.relu && d + kRows == a.depth;
  long long j = 0;
  for (; j + kLanes<T> <= a.columns; j += kLanes<T>) {
    Vector<T> sum = {};
    if (from) sum = load_unaligned(from + j);
    _Pragma("GCC unroll 8") for (int r = 0; r < kRows; ++r) {
      sum += factors[r] * load_unaligned(rhs + r * a.rhs_stride + j);
    }
    store_unaligned(relu ? without_negative<T>(sum) : sum, a.result + j);
  }
  const int rest = static_cast<int>(a.columns - j);
  if (rest == 0) return;
  Vector<T> sum = {};
  if (from) sum = load_some(from + j, rest);
  for (int r = 0; r < kRows; ++r) sum += factors[r] * load_some(rhs + r * a.rhs_stride + j, rest);
  store_some<T>(relu ? without_negative<T>(sum) : sum, a.result + j, rest);
}

template <class T>
void run_row(const MicroKernelArguments<T>& a) {
  const T* from = a.accumulate ? a.result : a.bias;
  long long d = 0;
  for (; d + kRowsAtOnce <= a.depth; d += kRowsAtOnce, from = a.result) {
    add_rows<T, kRowsAtOnce>(a, d, from);
  }
  for (; d < a.depth; ++d, from = a.result) add_rows<T, 1>(a, d, from);
}

}  // namespace
}  // namespace kiln::cpu
