// The loops of bfloat16 with AVX512-BF16. vdpbf16ps adds the product of the upper halves of its
// words to the sums, then the product of the lower halves, each by a fused multiply-add to nearest
// even with subnormals as 0. A word has the element with the lower index along k in its upper half,
// so that sums have the bits of the float32 loops when the thread flushes subnormals.
#pragma once

#include "backends/cpu/gemm/bf16_packing_loops.h"
#include "backends/cpu/gemm/tile_rows.h"

namespace kiln::cpu {
namespace {

constexpr long long kBlockRowsOfPairs = 98, kBlockKOfPairs = 512;

void pack_pairs(const PackArguments<BFloat16Bits, PackedWord>& a) {
  pack_pairs_of(a, (a.k + 1) / 2);
}

void pair_lhs(const HalfLhsArguments<BFloat16Bits>& a) {
  const long long words = (a.k + 1) / 2;
  const bool is_transposed = a.lhs_k != 1 && a.lhs_m == 1;
  PackedWord* to = a.prepared;
  for (long long u = 0; is_transposed && u < words; ++u, to += a.m) {
    const BFloat16Bits* first = a.lhs + 2 * u * a.lhs_k;
    const bool is_whole = 2 * u + 1 < a.k;
    pair_runs(first, is_whole ? first + a.lhs_k : nullptr, 1, to, a.m, kLhsPad);
  }
  for (long long r = 0; !is_transposed && r < a.m; ++r, to += a.row_words) {
    const BFloat16Bits* row = a.lhs + r * a.lhs_m;
    if (a.lhs_k == 1) {
      pair_run(row, to, a.k, kLhsPad);
      continue;
    }
    for (long long u = 0; u < words; ++u) {
      const BFloat16Bits* first = row + 2 * u * a.lhs_k;
      pair_runs(first, 2 * u + 1 < a.k ? first + a.lhs_k : nullptr, 1, to + u, 1, kLhsPad);
    }
  }
}

/// Computes one tile. REQUIRES: kVectors * kLanes - kLanes < a.n <= kVectors * kLanes.
template <int kRows, int kVectors>
void multiply_pairs(const HalfArguments& a) {
  static_assert(kRows <= TileRows<unsigned>::kMaxRows);
  __m512 sums[kRows][kVectors];
  const int last = static_cast<int>(a.n) - (kVectors - 1) * kHalfLanes;
  const auto lanes = [&](int v) {
    return static_cast<__mmask16>(v == kVectors - 1 ? (1u << last) - 1 : 0xffff);
  };
#define KILN_EACH_SUM                                      \
  _Pragma("GCC unroll 16") for (int r = 0; r < kRows; ++r) \
      _Pragma("GCC unroll 16") for (int v = 0; v < kVectors; ++v)
  KILN_EACH_SUM sums[r][v] = _mm512_setzero_ps();
  // A branch, not an empty mask: masked loads of pages that were never written are slow.
  if (a.accumulate) {
    KILN_EACH_SUM {
      sums[r][v] = _mm512_maskz_loadu_ps(lanes(v), a.sums + r * a.sums_m + v * kHalfLanes);
    }
  }
  TileRows<unsigned> left(&a.lhs->bf16_pair, a.lhs_m);
  const PackedWord* right = a.rhs;
  for (long long d = 0; d < a.k; ++d, left.advance(a.lhs_k), right += kPanel<unsigned>) {
    __m512bh factors[kVectors];
    _Pragma("GCC unroll 4") for (int v = 0; v < kVectors; ++v) {
      factors[v] = (__m512bh)_mm512_load_si512(right + v * kHalfLanes);
    }
    KILN_EACH_SUM {
      const __m512i one = _mm512_set1_epi32(static_cast<int>(left[r]));
      sums[r][v] = _mm512_dpbf16_ps(sums[r][v], (__m512bh)one, factors[v]);
    }
  }
  KILN_EACH_SUM {
    if (a.rounded) {
      store_rounded(sums[r][v], a.rounded + r * a.rounded_m + v * kHalfLanes, lanes(v));
    } else {
      _mm512_mask_storeu_ps(a.sums + r * a.sums_m + v * kHalfLanes, lanes(v), sums[r][v]);
    }
  }
#undef KILN_EACH_SUM
}

template <int kRows>
void multiply_pair_rows(const HalfArguments& a) {
  if constexpr (kRows > 1) {
    if (a.m < kRows) return multiply_pair_rows<kRows - 1>(a);
  }
  if (a.n <= kHalfLanes) return multiply_pairs<kRows, 1>(a);
  multiply_pairs<kRows, 2>(a);
}

/// Multiplies by one panel of rhs, in tiles of nearly equal height.
void run_pair_panel(HalfArguments a) {
  const long long rows = a.m, tiles = (rows + kMaxRows - 1) / kMaxRows;
  const PackedWord* lhs = a.lhs;
  float* sums = a.sums;
  BFloat16Bits* rounded = a.rounded;
  for (long long t = 0, done = 0; t < tiles; ++t, done += a.m) {
    a.lhs = lhs + done * a.lhs_m;
    a.sums = sums + done * a.sums_m;
    if (rounded) a.rounded = rounded + done * a.rounded_m;
    a.m = rows * (t + 1) / tiles - done;
    multiply_pair_rows<kMaxRows>(a);
  }
}

/// Multiplies block by block: a block of rows of lhs stays in the caches while the panels change.
void run_pairs(const HalfArguments& a) {
  const long long blocks = (a.m + kBlockRowsOfPairs - 1) / kBlockRowsOfPairs;
  for (long long block = 0; block < blocks; ++block) {
    const long long row = a.m * block / blocks;
    for (long long d = 0; d < a.k; d += kBlockKOfPairs) {
      for (long long column = 0; column < a.n; column += kPanel<unsigned>) {
        HalfArguments panel = a;
        panel.lhs = a.lhs + row * a.lhs_m + d * a.lhs_k;
        panel.rhs = a.rhs + column * a.k + d * kPanel<unsigned>;
        panel.sums = a.sums + row * a.sums_m + column;
        panel.m = a.m * (block + 1) / blocks - row;
        panel.n = smaller(kPanel<unsigned>, a.n - column);
        panel.k = smaller(kBlockKOfPairs, a.k - d);
        panel.accumulate = a.accumulate || d != 0;
        const bool is_last = d + kBlockKOfPairs >= a.k;
        panel.rounded = is_last && a.rounded ? a.rounded + row * a.rounded_m + column : nullptr;
        run_pair_panel(panel);
      }
    }
  }
}

}  // namespace
}  // namespace kiln::cpu
