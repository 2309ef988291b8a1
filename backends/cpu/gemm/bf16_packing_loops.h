// Packs bfloat16 operands as words of two elements that are neighbours along k (oneDNN's VNNI
// layout), with the lower index in the upper half, as vdpbf16ps multiplies upper halves first; and
// rounds sums.
#pragma once

#include "backends/cpu/gemm/half_loops.h"

namespace kiln::cpu {
namespace {

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
      32, 0, 33, 1, 34, 2,  35, 3,  36, 4,  37, 5,  38, 6,  39, 7,
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
  const long long used = (a.k + 1) / 2;
  if (a.k % 2 != 0) pack_pair_row(a, words, used - 1, 0, whole);
  for (long long u = 0; whole < a.n && u < used; ++u) pack_pair_row(a, words, u, whole, a.n);
}

/// Packs panels of `words` rows of words; the caller fills those that k does not reach.
inline void pack_pairs_of(const PackArguments<BFloat16Bits, PackedWord>& a, long long words) {
  if (a.rhs_n == 1) return pack_pair_rows(a, words);
  for (long long column = 0; column < a.n; column += kPanel<unsigned>) {
    const long long columns = smaller(kPanel<unsigned>, a.n - column);
    PackedWord* to = a.packed + column * words;
    if (a.rhs_k == 1) {
      pack_pair_lines(a, column, columns, to);
      continue;
    }
    for (long long u = 0; 2 * u < a.k; ++u, to += kPanel<unsigned>) {
      const BFloat16Bits* first = a.rhs + 2 * u * a.rhs_k + column * a.rhs_n;
      const BFloat16Bits* second = 2 * u + 1 < a.k ? first + a.rhs_k : nullptr;
      pair_runs(first, second, a.rhs_n, to, columns, kRhsPad);
      for (long long c = columns; c < kPanel<unsigned>; ++c) to[c].bf16_pair = 0;
    }
  }
}

/// Rounds as narrow<BFloat16Bits>. Sums are never subnormal: both instructions flush them.
inline void store_rounded(__m512 sums, BFloat16Bits* to, __mmask16 lanes) {
  _mm256_mask_storeu_epi16(to, lanes, (__m256i)_mm512_cvtneps_pbh(sums));
}

}  // namespace
}  // namespace kiln::cpu
