// Matmuls of float32 rows by panels of 16-bit floats, which are widened in registers: a matmul of
// few rows reads half the bytes. Widening is exact and sums run along k in ascending order, so that
// results have the bits of the float32 loops.
#pragma once

#include "backends/cpu/gemm/half_loops.h"
#include "backends/cpu/gemm/micro_kernel_loops.h"

namespace kiln::cpu {
namespace {

/// The position of column `c` in a row of a panel. Two bfloat16 in a word are columns a vector
/// apart, so that a shift and a mask widen a vector of words; float16 has instructions.
template <class Half>
constexpr long long narrow_position(long long c);
template <>
constexpr long long narrow_position<Float16Bits>(long long c) {
  return c;
}
template <>
constexpr long long narrow_position<BFloat16Bits>(long long c) {
  constexpr long long kLow = kLanes<float>;
  return c < kLow ? 2 * c : 2 * (c - kLow) + 1;
}

/// Loads and widens a row of a panel.
inline void load_panel_row(const Float16Bits* row, Vector<float> (&to)[kPanelVectors]) {
  for (int v = 0; v < kPanelVectors; ++v) to[v] = load_widened(row + v * kLanes<float>);
}
inline void load_panel_row(const BFloat16Bits* row, Vector<float> (&to)[kPanelVectors]) {
  static_assert(kPanelVectors == 2);
  const Bits words = *reinterpret_cast<const Bits*>(row);
  to[0] = (Vector<float>)(words << 16);
  to[1] = (Vector<float>)(words & 0xffff0000u);
}

/// Packs a row of a whole panel.
inline void pack_panel_row(const Float16Bits* from, Float16Bits* to) {
  __builtin_memcpy(to, from, kPanel<float> * sizeof(Float16Bits));
}
inline void pack_panel_row(const BFloat16Bits* from, BFloat16Bits* to) {
  const Bits low = (Bits)load_widened(from) >> 16, high = (Bits)load_widened(from + kLanes<float>);
  *reinterpret_cast<Bits*>(to) = low | high;
}

/// Packs some columns of a panel of an rhs with any strides, a cache line of each column at a time:
/// otherwise the lines would evict each other.
template <class Half>
inline void pack_narrow_lines(const PackArguments<Half, Half>& a, const Half* from,
                              long long columns, Half* to) {
  constexpr long long kWidth = kPanel<float>, kLineK = kLine<Half>;
  for (long long line = 0; line < a.k; line += kLineK) {
    const long long end = smaller(line + kLineK, a.k);
    for (long long c = 0; c < kWidth; ++c) {
      Half* column = to + narrow_position<Half>(c);
      for (long long d = line; d < end; ++d) {
        column[d * kWidth] = c < columns ? from[d * a.rhs_k + c * a.rhs_n] : Half{};
      }
    }
  }
}

/// Packs panels of kPanel<float> columns without conversion, row after row.
template <class Half>
void pack_narrow(const PackArguments<Half, Half>& a) {
  constexpr long long kWidth = kPanel<float>;
  for (long long column = 0; column < a.n; column += kWidth) {
    const long long columns = smaller(kWidth, a.n - column);
    const Half* from = a.rhs + column * a.rhs_n;
    Half* to = a.packed + column * a.k;
    if (columns < kWidth || a.rhs_n != 1) {
      pack_narrow_lines(a, from, columns, to);
      continue;
    }
    for (long long d = 0; d < a.k; ++d) pack_panel_row(from + d * a.rhs_k, to + d * kWidth);
  }
}

/// The operands of one tile. Rows of rhs have whole panels.
template <class Half>
struct NarrowTile {
  const float* lhs;
  const Half* rhs;
  const float* bias;
  float* result;
  long long k, lhs_m, lhs_k, result_m;
  long long panel;  // elements from one panel of rhs to the next
  int n;  // columns
  bool accumulate, relu;
};

#define KILN_EACH_SUM                                      \
  _Pragma("GCC unroll 16") for (int r = 0; r < kRows; ++r) \
      _Pragma("GCC unroll 16") for (int v = 0; v < kVectors; ++v)

/// Computes one tile, of whole panels; the results of columns from tile.n on are not stored.
template <class Half, int kRows, int kVectors>
[[gnu::noinline]] void multiply_narrow(const NarrowTile<Half>& tile) {
  constexpr int kWidth = kLanes<float>;
  Vector<float> sums[kRows][kVectors];
  KILN_EACH_SUM {
    sums[r][v] = Vector<float>{};
    if (!tile.accumulate && !tile.bias) continue;
    const float* from = tile.accumulate ? tile.result + r * tile.result_m : tile.bias;
    const int count = tile.n - v * kWidth;
    if (count >= kWidth) {
      sums[r][v] = load_unaligned(from + v * kWidth);
    } else if (count > 0) {
      sums[r][v] = load_some(from + v * kWidth, count);
    }
  }
  auto left = rows_of_lhs<float, kRows>(tile.lhs, tile.lhs_m);
  const Half* right = tile.rhs;
  constexpr int kPanels = kVectors / kPanelVectors;
  for (long long d = 0; d < tile.k; ++d, left.advance(tile.lhs_k), right += kPanel<float>) {
    _Pragma("GCC unroll 4") for (int p = 0; p < kPanels; ++p) {
      Vector<float> factors[kPanelVectors];
      load_panel_row(right + p * tile.panel, factors);
      _Pragma("GCC unroll 16") for (int r = 0; r < kRows; ++r) {
        _Pragma("GCC unroll 2") for (int v = 0; v < kPanelVectors; ++v) {
          sums[r][p * kPanelVectors + v] += left[r] * factors[v];
        }
      }
    }
  }
  if (tile.relu) {
    KILN_EACH_SUM sums[r][v] = without_negative<float>(sums[r][v]);
  }
  KILN_EACH_SUM {
    float* to = tile.result + r * tile.result_m + v * kWidth;
    const int count = tile.n - v * kWidth;
    if (count >= kWidth) {
      store_unaligned<float>(sums[r][v], to);
    } else if (count > 0) {
      store_some<float>(sums[r][v], to, count);
    }
  }
}
#undef KILN_EACH_SUM

/// The panels of a tile. Few rows have wide tiles: more independent sums, which hide the latency of
/// multiply-adds. Sums take half of the registers.
constexpr int panels_of_narrow_tile(long long rows) {
  const long long panels = kRegisters / 2 / (rows * kPanelVectors);
  return panels >= 4 ? 4 : panels >= 2 ? 2 : 1;
}

template <class Half, int kRows, int kPanels>
void multiply_narrow_panels(const NarrowTile<Half>& tile) {
  if constexpr (kPanels > 1) {
    if (tile.n <= (kPanels - 1) * kPanel<float>) {
      return multiply_narrow_panels<Half, kRows, kPanels - 1>(tile);
    }
  }
  multiply_narrow<Half, kRows, kPanels * kPanelVectors>(tile);
}

template <class Half, int kRows>
void multiply_narrow_rows(const NarrowTile<Half>& tile, int rows) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return multiply_narrow_rows<Half, kRows - 1>(tile, rows);
  }
  multiply_narrow_panels<Half, kRows, panels_of_narrow_tile(kRows)>(tile);
}

/// Computes `rows` rows by the columns of one tile, in tiles of nearly equal height.
template <class Half>
void multiply_narrow_block(NarrowTile<Half> tile, long long rows) {
  const long long tiles = (rows + kMaxRows - 1) / kMaxRows;
  for (long long t = 0, done = 0; t < tiles; ++t) {
    const long long height = rows * (t + 1) / tiles - done;
    multiply_narrow_rows<Half, kMaxRows>(tile, static_cast<int>(height));
    tile.lhs += height * tile.lhs_m;
    tile.result += height * tile.result_m;
    done += height;
  }
}

/// As run(), with an rhs in panels of Half (pack_narrow) behind the pointer a.rhs.
template <class Half>
void run_narrow(const MicroKernelArguments<float>& a) {
  const Half* const rhs = reinterpret_cast<const Half*>(a.rhs);
  const bool one_tile = a.m <= kMaxRows;
  const long long width = one_tile ? panels_of_narrow_tile(a.m) * kPanel<float> : kPanel<float>;
  const long long block_k = one_tile ? a.k : kBlockK;
  const long long blocks = (a.m + kBlockRows - 1) / kBlockRows;
  for (long long block = 0; block < blocks; ++block) {
    const long long row = a.m * block / blocks, rows = a.m * (block + 1) / blocks - row;
    for (long long d = 0; d < a.k; d += block_k) {
      for (long long column = 0; column < a.n; column += width) {
        const NarrowTile<Half> tile{.lhs = a.lhs + row * a.lhs_m + d * a.lhs_k,
                                    .rhs = rhs + column * a.k + d * kPanel<float>,
                                    .bias = a.bias && d == 0 ? a.bias + column : nullptr,
                                    .result = a.result + row * a.result_m + column,
                                    .k = smaller(block_k, a.k - d),
                                    .lhs_m = a.lhs_m,
                                    .lhs_k = a.lhs_k,
                                    .result_m = a.result_m,
                                    .panel = a.k * kPanel<float>,
                                    .n = static_cast<int>(smaller(width, a.n - column)),
                                    .accumulate = a.accumulate || d != 0,
                                    .relu = a.relu && d + block_k >= a.k};
        multiply_narrow_block(tile, rows);
      }
    }
  }
}

/// Whether panels are widened in registers. SSE2 converts float16 by ten instructions a vector:
/// loops that do so have 12 to 42 % of the speed (tools/kiln/bench/results/cpu-native-gemm.md).
template <class Half>
constexpr bool kWidensInRegisters = true;
#if !defined(__AVX2__)
template <>
constexpr bool kWidensInRegisters<Float16Bits> = false;
#endif

template <class Half>
void pack_for_widening(const PackArguments<Half, void>& a) {
  const auto pack_to = [&]<class To>(To* packed, void (*pack)(const PackArguments<Half, To>&)) {
    pack({.rhs = a.rhs, .rhs_k = a.rhs_k, .rhs_n = a.rhs_n, .k = a.k, .n = a.n, .packed = packed});
  };
  if constexpr (kWidensInRegisters<Half>) {
    pack_to(static_cast<Half*>(a.packed), &pack_narrow<Half>);
  } else {
    pack_to(static_cast<PackedWord*>(a.packed), &pack_half<Half>);
  }
}

template <class Half>
constexpr WideningKernel<Half> widening_kernel() {
  if constexpr (kWidensInRegisters<Half>) {
    return {
        .element_bytes = sizeof(Half), .pack = &pack_for_widening<Half>, .run = &run_narrow<Half>};
  } else {
    return {.element_bytes = sizeof(float), .pack = &pack_for_widening<Half>, .run = &run<float>};
  }
}

}  // namespace
}  // namespace kiln::cpu
