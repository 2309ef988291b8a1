// The loops of bfloat16 with AVX512-BF16. vdpbf16ps adds the product of the upper halves of its
// words to the sums, then the product of the lower halves, each by a fused multiply-add to nearest
// even with subnormals as 0. A word has the element with the lower index along k in its upper half,
// so that sums have the bits of the float32 loops when the thread flushes subnormals.
#pragma once

#include "backends/cpu/gemm/half_loops.h"
#include "backends/cpu/gemm/tile_rows.h"

namespace kiln::cpu {
namespace {

constexpr long long kBlockRowsOfPairs = 98, kBlockKOfPairs = 512;
/// Columns of rhs that are packed together.
constexpr long long kGroupOfPairs = 4 * kPanel<unsigned>;
/// Pads of a word of one element: -0 in lhs times 0 in rhs is -0, which changes no sum.
constexpr unsigned kLhsPad = 0x8000u, kRhsPad = 0;

/// Makes words of a run that is contiguous along k; `pad` is the lower half of a last word of one
/// element.
inline void pair_run(const BFloat16Bits* from, PackedWord* to, long long count, unsigned pad) {
  const long long pairs = count / 2;
  long long i = 0;
  for (; i + kHalfLanes <= pairs; i += kHalfLanes) {
    const auto in_memory = (Bits)_mm512_loadu_si512(from + 2 * i);
    store_unaligned<unsigned>(in_memory << 16 | in_memory >> 16, &to[i].bf16_pair);
  }
  for (; i < pairs; ++i) {
    to[i].bf16_pair = static_cast<unsigned>(from[2 * i].bits) << 16 | from[2 * i + 1].bits;
  }
  if (count % 2 != 0) to[i].bf16_pair = static_cast<unsigned>(from[count - 1].bits) << 16 | pad;
}

inline __m512i load_pairs(const BFloat16Bits* first, const BFloat16Bits* second, unsigned pad) {
  const auto widened = [](const BFloat16Bits* from) {
    return _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_loadu_si256((const __m256i_u*)from));
  };
  const __m512i low = second ? widened(second) : _mm512_set1_epi32(static_cast<int>(pad));
  return (__m512i)((Bits)widened(first) << 16 | (Bits)low);
}

/// Makes words of two runs that are neighbours along k. `second`: null for the pad.
inline void pair_runs(const BFloat16Bits* first, const BFloat16Bits* second, long long stride,
                      PackedWord* to, long long count, unsigned pad) {
  long long i = 0;
  for (; stride == 1 && i + kHalfLanes <= count; i += kHalfLanes) {
    const BFloat16Bits* next = second ? second + i : nullptr;
    store_unaligned<unsigned>((Bits)load_pairs(first + i, next, pad), &to[i].bf16_pair);
  }
  for (; i < count; ++i) {
    const unsigned low = second ? second[i * stride].bits : pad;
    to[i].bf16_pair = static_cast<unsigned>(first[i * stride].bits) << 16 | low;
  }
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
  for (long long r = 0; !is_transposed && r < a.m; ++r, to += words) {
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

/// Packs some columns of a panel of an rhs with contiguous columns.
inline void pack_pair_lines(const PackArguments<BFloat16Bits, PackedWord>& a, long long column,
                            long long columns, PackedWord* to) {
  constexpr long long kLineK = kLine<unsigned>;
  PackedWord lines[kPanel<unsigned> * kLineK];
  for (long long d = 0; d < a.k; d += 2 * kLineK) {
    const long long line_k = smaller(2 * kLineK, a.k - d);
    for (long long c = 0; c < columns; ++c) {
      pair_run(a.rhs + (column + c) * a.rhs_n + d, lines + c * kLineK, line_k, kRhsPad);
    }
    pack<unsigned>({.rhs = &lines->bf16_pair,
                    .rhs_k = 1,
                    .rhs_n = kLineK,
                    .k = (line_k + 1) / 2,
                    .n = columns,
                    .packed = &to[d / 2 * kPanel<unsigned>].bf16_pair});
  }
}

/// Packs rows 2 * u and 2 * u + 1 of an rhs with contiguous rows; the latter may be missing.
inline void pack_pair_row(const PackArguments<BFloat16Bits, PackedWord>& a, long long words,
                          long long u, long long begin, long long end) {
  const BFloat16Bits* first = a.rhs + 2 * u * a.rhs_k;
  const BFloat16Bits* second = 2 * u + 1 < a.k ? first + a.rhs_k : nullptr;
  for (long long column = begin; column < end; column += kPanel<unsigned>) {
    const long long columns = smaller(kPanel<unsigned>, end - column);
    PackedWord* to = a.packed + column * words + u * kPanel<unsigned>;
    pair_runs(first + column, second ? second + column : nullptr, 1, to, columns, kRhsPad);
    for (long long c = columns; c < kPanel<unsigned>; ++c) to[c].bf16_pair = 0;
  }
}

/// Packs an rhs with contiguous rows. Several panels read a row together: one panel has a cache
/// line of each row, which no prefetcher follows from page to page.
inline void pack_pair_rows(const PackArguments<BFloat16Bits, PackedWord>& a, long long words) {
  alignas(64) static constexpr unsigned short kLow[32] = {
      32, 0, 33, 1, 34, 2, 35, 3, 36, 4, 37, 5, 38, 6, 39, 7,
      40, 8, 41, 9, 42, 10, 43, 11, 44, 12, 45, 13, 46, 14, 47, 15};
  const __m512i low = _mm512_load_si512(kLow);
  const __m512i high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
  const long long whole = a.n / kPanel<unsigned> * kPanel<unsigned>;
  for (long long group = 0; group < whole; group += kGroupOfPairs) {
    const long long end = smaller(group + kGroupOfPairs, whole);
    const BFloat16Bits* first = a.rhs;
    for (long long u = 0; u < a.k / 2; ++u, first += 2 * a.rhs_k) {
      PackedWord* to = a.packed + group * words + u * kPanel<unsigned>;
      for (long long column = group; column < end; column += kPanel<unsigned>) {
        const __m512i x = _mm512_loadu_si512(first + column);
        const __m512i y = _mm512_loadu_si512(first + a.rhs_k + column);
        _mm512_store_si512(to, _mm512_permutex2var_epi16(x, low, y));
        _mm512_store_si512(to + kHalfLanes, _mm512_permutex2var_epi16(x, high, y));
        to += words * kPanel<unsigned>;
      }
    }
  }
  if (a.k % 2 != 0) pack_pair_row(a, words, words - 1, 0, whole);
  for (long long u = 0; whole < a.n && u < words; ++u) pack_pair_row(a, words, u, whole, a.n);
}

void pack_pairs(const PackArguments<BFloat16Bits, PackedWord>& a) {
  const long long words = (a.k + 1) / 2;
  if (a.rhs_n == 1) return pack_pair_rows(a, words);
  for (long long column = 0; column < a.n; column += kPanel<unsigned>) {
    const long long columns = smaller(kPanel<unsigned>, a.n - column);
    PackedWord* to = a.packed + column * words;
    if (a.rhs_k == 1) {
      pack_pair_lines(a, column, columns, to);
      continue;
    }
    for (long long u = 0; u < words; ++u, to += kPanel<unsigned>) {
      const BFloat16Bits* first = a.rhs + 2 * u * a.rhs_k + column * a.rhs_n;
      const BFloat16Bits* second = 2 * u + 1 < a.k ? first + a.rhs_k : nullptr;
      pair_runs(first, second, a.rhs_n, to, columns, kRhsPad);
      for (long long c = columns; c < kPanel<unsigned>; ++c) to[c].bf16_pair = 0;
    }
  }
}

/// Rounds as narrow<BFloat16Bits>: sums are never subnormal, since the thread flushes them.
inline void store_rounded(__m512 sums, BFloat16Bits* to, __mmask16 lanes) {
  _mm256_mask_storeu_epi16(to, lanes, (__m256i)_mm512_cvtneps_pbh(sums));
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
