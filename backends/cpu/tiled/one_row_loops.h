// One row by a plain rhs, in vectors too small for tiles that read it in long runs: a few rows of
// rhs are read side by side from end to end, while the sums wait in the nearest cache.
#pragma once

#include "backends/cpu/tiled/level_vectors.h"

namespace kiln::cpu {
namespace {

/// Rows of rhs side by side.
constexpr int kRowsAtOnce = 8;

bool takes_row_by_row(const MicroKernelArguments& a) {
  constexpr long long kTile = kRegisters / 2 * kLanes;  // the columns of a tile of one row
  return kLanes < kLine && a.rows == 1 && !a.packed && a.columns > kTile;
}

inline Vector without_negative(const Vector& sum) {
  const Vector zero = {};
  return sum <= zero ? zero : sum;
}

/// result = from + lhs[d .. d + kRows) times those rows of rhs; `from`: null for 0.
template <int kRows>
void add_rows(const MicroKernelArguments& a, long long d, const float* from) {
  float factors[kRows];
  for (int r = 0; r < kRows; ++r) factors[r] = a.lhs[(d + r) * a.lhs_depth];
  const float* rhs = a.rhs + d * a.rhs_stride;
  const bool relu = a.relu && d + kRows == a.depth;
  long long j = 0;
  for (; j + kLanes <= a.columns; j += kLanes) {
    Vector sum = {};
    if (from) sum = *reinterpret_cast<const Unaligned*>(from + j);
    _Pragma("GCC unroll 8") for (int r = 0; r < kRows; ++r) {
      sum += factors[r] * *reinterpret_cast<const Unaligned*>(rhs + r * a.rhs_stride + j);
    }
    *reinterpret_cast<Unaligned*>(a.result + j) = relu ? without_negative(sum) : sum;
  }
  const int rest = static_cast<int>(a.columns - j);
  if (rest == 0) return;
  Vector sum = {};
  if (from) sum = load_some(from + j, rest);
  for (int r = 0; r < kRows; ++r) sum += factors[r] * load_some(rhs + r * a.rhs_stride + j, rest);
  store_some(relu ? without_negative(sum) : sum, a.result + j, rest);
}

void run_row(const MicroKernelArguments& a) {
  const float* from = a.accumulate ? a.result : a.bias;
  long long d = 0;
  for (; d + kRowsAtOnce <= a.depth; d += kRowsAtOnce, from = a.result) {
    add_rows<kRowsAtOnce>(a, d, from);
  }
  for (; d < a.depth; ++d, from = a.result) add_rows<1>(a, d, from);
}

}  // namespace
}  // namespace kiln::cpu
