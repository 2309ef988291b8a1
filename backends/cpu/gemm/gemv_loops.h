// Matrix-vector product: one row times an rhs that is not packed, for ISAs whose vectors are too
// small for tiles to read rhs in long runs. Each pass streams a few rows of rhs side by side and
// adds their multiples to the result row, which stays in the L1 cache.
#pragma once

#include "backends/cpu/gemm/isa_vectors.h"

namespace kiln::cpu {
namespace {

/// Rows of rhs that one pass reads.
constexpr int kRowsPerPass = 8;

template <class T>
bool is_gemv(const MicroKernelArguments<T>& a) {
  constexpr long long kTile = kRegisters / 2 * kLanes<T>;  // columns of a tile of one row
  return kVectorBytes < kLineBytes && a.m == 1 && !a.packed && a.n > kTile;
}

template <class T>
inline Vector<T> without_negative(const Vector<T>& sum) {
  const Vector<T> zero = {};
  return sum <= zero ? zero : sum;
}

/// result = from + lhs[d .. d + kRows) times rows d .. d + kRows - 1 of rhs; `from`: null for 0.
template <class T, int kRows>
void add_rows(const MicroKernelArguments<T>& a, long long d, const T* from) {
  T factors[kRows];
  for (int r = 0; r < kRows; ++r) factors[r] = a.lhs[(d + r) * a.lhs_k];
  const T* rhs = a.rhs + d * a.rhs_stride;
  const bool relu = a.relu && d + kRows == a.k;
  long long j = 0;
  for (; j + kLanes<T> <= a.n; j += kLanes<T>) {
    Vector<T> sum = {};
    if (from) sum = load_unaligned(from + j);
    _Pragma("GCC unroll 8") for (int r = 0; r < kRows; ++r) {
      sum += factors[r] * load_unaligned(rhs + r * a.rhs_stride + j);
    }
    store_unaligned(relu ? without_negative<T>(sum) : sum, a.result + j);
  }
  const int rest = static_cast<int>(a.n - j);
  if (rest == 0) return;
  Vector<T> sum = {};
  if (from) sum = load_some(from + j, rest);
  for (int r = 0; r < kRows; ++r) sum += factors[r] * load_some(rhs + r * a.rhs_stride + j, rest);
  store_some<T>(relu ? without_negative<T>(sum) : sum, a.result + j, rest);
}

template <class T>
void run_gemv(const MicroKernelArguments<T>& a) {
  const T* from = a.accumulate ? a.result : a.bias;
  long long d = 0;
  for (; d + kRowsPerPass <= a.k; d += kRowsPerPass, from = a.result) {
    add_rows<T, kRowsPerPass>(a, d, from);
  }
  for (; d < a.k; ++d, from = a.result) add_rows<T, 1>(a, d, from);
}

}  // namespace
}  // namespace kiln::cpu
