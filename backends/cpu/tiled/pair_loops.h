// The loops of bfloat16 with AVX512-BF16: vdpbf16ps adds the product of the upper halves of its
// units to the sums and then that of the lower ones, each by a fused multiply-add to nearest even,
// with subnormals as 0. A unit has the element with the lower index in its upper half, so that sums
// have the bits of the float32 loops in the mode of subnormals that the backend sets.
#pragma once

#include "backends/cpu/tiled/half_loops.h"

namespace kiln::cpu {
namespace {

constexpr long long kRowBlockOfPairs = 98, kDepthBlockOfPairs = 512;
/// -0 in lhs and 0 in rhs: their product -0 changes no sum.
constexpr unsigned kLhsPad = 0x8000u, kRhsPad = 0;

/// Units of a contiguous run; `pad` is the lower half of a last unit of one element.
inline void pair_run(const BFloat16Bits* from, HalfUnit* to, long long count, unsigned pad) {
  const long long pairs = count / 2;
  long long i = 0;
  for (; i + kHalves <= pairs; i += kHalves) {
    const auto in_memory = (Bits)_mm512_loadu_si512(from + 2 * i);
    store_unaligned<unsigned>(in_memory << 16 | in_memory >> 16, &to[i].pair);
  }
  for (; i < pairs; ++i) {
    to[i].pair = static_cast<unsigned>(from[2 * i].bits) << 16 | from[2 * i + 1].bits;
  }
  if (count % 2 != 0) to[i].pair = static_cast<unsigned>(from[count - 1].bits) << 16 | pad;
}

inline Bits load_pairs(const BFloat16Bits* first, const BFloat16Bits* second, unsigned pad) {
  const auto bits = [](const BFloat16Bits* from) {
    const Halves own = *reinterpret_cast<const UnalignedHalves*>(from);
    return __builtin_convertvector(own, Bits);
  };
  return bits(first) << 16 | (second ? bits(second) : Bits{} + pad);
}

/// Units of two runs that are neighbours along the depth. `second`: null for the pad.
inline void pair_runs(const BFloat16Bits* first, const BFloat16Bits* second, long long stride,
                      HalfUnit* to, long long count, unsigned pad) {
  long long i = 0;
  for (; stride == 1 && i + kHalves <= count; i += kHalves) {
    const BFloat16Bits* next = second ? second + i : nullptr;
    store_unaligned<unsigned>(load_pairs(first + i, next, pad), &to[i].pair);
  }
  for (; i < count; ++i) {
    const unsigned low = second ? second[i * stride].bits : pad;
    to[i].pair = static_cast<unsigned>(first[i * stride].bits) << 16 | low;
  }
}

void pair_lhs(const HalfLhsArguments<BFloat16Bits>& a) {
  const long long units = (a.depth + 1) / 2;
  const bool by_depth = a.lhs_depth != 1 && a.lhs_row == 1;
  HalfUnit* to = a.prepared;
  for (long long u = 0; by_depth && u < units; ++u, to += a.rows) {
    const BFloat16Bits* first = a.lhs + 2 * u * a.lhs_depth;
    const bool is_whole = 2 * u + 1 < a.depth;
    pair_runs(first, is_whole ? first + a.lhs_depth : nullptr, 1, to, a.rows, kLhsPad);
  }
  for (long long r = 0; !by_depth && r < a.rows; ++r, to += units) {
    const BFloat16Bits* row = a.lhs + r * a.lhs_row;
    if (a.lhs_depth == 1) {
      pair_run(row, to, a.depth, kLhsPad);
      continue;
    }
    for (long long u = 0; u < units; ++u) {
      const BFloat16Bits* first = row + 2 * u * a.lhs_depth;
      pair_runs(first, 2 * u + 1 < a.depth ? first + a.lhs_depth : nullptr, 1, to + u, 1, kLhsPad);
    }
  }
}

/// Some columns of a panel whose columns are contiguous.
inline void pack_pair_lines(const PackArguments<BFloat16Bits, HalfUnit>& a, long long column,
                            long long columns, HalfUnit* to) {
  constexpr long long kDeep = kLine<unsigned>;
  HalfUnit lines[kPanel<unsigned> * kDeep];
  for (long long d = 0; d < a.depth; d += 2 * kDeep) {
    const long long depth = smaller(2 * kDeep, a.depth - d);
    for (long long c = 0; c < columns; ++c) {
      pair_run(a.rhs + (column + c) * a.rhs_column + d, lines + c * kDeep, depth, kRhsPad);
    }
    pack<unsigned>({&lines->pair, 1, kDeep, (depth + 1) / 2, columns,
                    &to[d / 2 * kPanel<unsigned>].pair});
  }
}

void pack_pairs(const PackArguments<BFloat16Bits, HalfUnit>& a) {
  const long long units = (a.depth + 1) / 2;
  for (long long column = 0; column < a.columns; column += kPanel<unsigned>) {
    const long long columns = smaller(kPanel<unsigned>, a.columns - column);
    HalfUnit* to = a.packed + column * units;
    if (a.rhs_depth == 1 && a.rhs_column != 1) {
      pack_pair_lines(a, column, columns, to);
      continue;
    }
    for (long long u = 0; u < units; ++u, to += kPanel<unsigned>) {
      const BFloat16Bits* first = a.rhs + 2 * u * a.rhs_depth + column * a.rhs_column;
      const BFloat16Bits* second = 2 * u + 1 < a.depth ? first + a.rhs_depth : nullptr;
      pair_runs(first, second, a.rhs_column, to, columns, kRhsPad);
      for (long long c = columns; c < kPanel<unsigned>; ++c) to[c].pair = 0;
    }
  }
}

/// REQUIRES: kVectors * kLanes - kLanes < a.columns <= kVectors * kLanes.
template <int kRows, int kVectors>
void multiply_pairs(const HalfArguments& a) {
  __m512 sums[kRows][kVectors];
  const int last = static_cast<int>(a.columns) - (kVectors - 1) * kHalves;
  const auto lanes = [&](int v) {
    return static_cast<__mmask16>(v == kVectors - 1 ? (1u << last) - 1 : 0xffff);
  };
#define KILN_EACH_SUM                                      \
  _Pragma("GCC unroll 16") for (int r = 0; r < kRows; ++r) \
      _Pragma("GCC unroll 16") for (int v = 0; v < kVectors; ++v)
  KILN_EACH_SUM {
    const float* from = a.sums + r * a.sums_row + v * kHalves;
    sums[r][v] = _mm512_maskz_loadu_ps(a.accumulate ? lanes(v) : 0, from);
  }
  const HalfUnit* left = a.lhs;
  const HalfUnit* right = a.rhs;
  for (long long d = 0; d < a.depth; ++d, left += a.lhs_depth, right += kPanel<unsigned>) {
    __m512bh factors[kVectors];
    _Pragma("GCC unroll 4") for (int v = 0; v < kVectors; ++v) {
      factors[v] = (__m512bh)_mm512_load_si512(right + v * kHalves);
    }
    KILN_EACH_SUM {
      const __m512i one = _mm512_set1_epi32(static_cast<int>(left[r * a.lhs_row].pair));
      sums[r][v] = _mm512_dpbf16_ps(sums[r][v], (__m512bh)one, factors[v]);
    }
  }
  KILN_EACH_SUM {
    _mm512_mask_storeu_ps(a.sums + r * a.sums_row + v * kHalves, lanes(v), sums[r][v]);
  }
#undef KILN_EACH_SUM
}

template <int kRows>
void multiply_pair_rows(const HalfArguments& a) {
  if constexpr (kRows > 1) {
    if (a.rows < kRows) return multiply_pair_rows<kRows - 1>(a);
  }
  if (a.columns <= kHalves) return multiply_pairs<kRows, 1>(a);
  multiply_pairs<kRows, 2>(a);
}

/// Rows of one panel of rhs, in tiles of nearly equal height.
void run_pair_panel(HalfArguments a) {
  const long long rows = a.rows, tiles = (rows + kMostRows - 1) / kMostRows;
  const HalfUnit* lhs = a.lhs;
  float* sums = a.sums;
  for (long long t = 0, done = 0; t < tiles; ++t, done += a.rows) {
    a.lhs = lhs + done * a.lhs_row;
    a.sums = sums + done * a.sums_row;
    a.rows = rows * (t + 1) / tiles - done;
    multiply_pair_rows<kMostRows>(a);
  }
}

/// Blocks of rows and of the depth stay in the caches while the panels change.
void run_pairs(const HalfArguments& a) {
  const long long blocks = (a.rows + kRowBlockOfPairs - 1) / kRowBlockOfPairs;
  for (long long block = 0; block < blocks; ++block) {
    const long long row = a.rows * block / blocks;
    for (long long d = 0; d < a.depth; d += kDepthBlockOfPairs) {
      for (long long column = 0; column < a.columns; column += kPanel<unsigned>) {
        HalfArguments panel = a;
        panel.lhs = a.lhs + row * a.lhs_row + d * a.lhs_depth;
        panel.rhs = a.rhs + column * a.depth + d * kPanel<unsigned>;
        panel.sums = a.sums + row * a.sums_row + column;
        panel.rows = a.rows * (block + 1) / blocks - row;
        panel.columns = smaller(kPanel<unsigned>, a.columns - column);
        panel.depth = smaller(kDepthBlockOfPairs, a.depth - d);
        panel.accumulate = a.accumulate || d != 0;
        run_pair_panel(panel);
      }
    }
  }
}

}  // namespace
}  // namespace kiln::cpu
