// The loops of bfloat16 with AMX tiles of 16 rows of 16 words. tdpbf16ps adds the products of the
// upper and of the lower halves of a row of words to one sum each, from 0, in ascending order by
// fused multiply-adds; then it adds the two sums, and their sum to the element of the result.
// Subnormals count as 0. So the bits of a result differ from those of the other loops, but do not
// depend on the other sizes: each result adds up the same groups of 32 elements along k.
#pragma once

#include "backends/cpu/gemm/amx_packing_loops.h"

namespace kiln::cpu {
namespace {

constexpr long long kTileBytes = 64;  // of a row
/// Words along k of a block: a panel of rhs of 32 KiB stays in the L1 cache.
constexpr long long kBlockKOfTiles = 256;
/// Rows of lhs of a block: 256 KiB stay in the L2 cache while the panels change, beside as much of
/// rhs and of sums.
constexpr long long kCachedRows = 256;

/// Tile registers: sums of two rows of tiles by two columns, then operands.
enum TileRegister { kSums00, kSums01, kSums10, kSums11, kLeft0, kLeft1, kRight0, kRight1 };

/// Memory operand of ldtilecfg.
struct alignas(64) TileConfiguration {
  unsigned char palette = 1, start_row = 0, reserved[14] = {};
  unsigned short row_bytes[16] = {};
  unsigned char rows[16] = {};
};

/// Configures tiles for blocks of two rows of tiles of these heights; `second`: 0 for none.
inline void configure_tiles(int first, int second) {
  TileConfiguration c;
  const int heights[] = {first, first, second, second, first, second, kTile, kTile};
  for (int tile = kSums00; tile <= kRight1; ++tile) {
    c.row_bytes[tile] = heights[tile] > 0 ? kTileBytes : 0;
    c.rows[tile] = static_cast<unsigned char>(heights[tile]);
  }
  asm volatile("ldtilecfg %0" : : "m"(c));
}

// Not the compiler's intrinsics: those of GCC are macros of the register's digit, and do not say
// that tiles are loaded from memory. Strides are in bytes.
template <TileRegister kTo>
inline void load_tile(const void* from, long long stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(kTo) : "memory");
}
template <TileRegister kFrom>
inline void store_tile(void* to, long long stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(kFrom) : "memory");
}
template <TileRegister kSums, TileRegister kLeft, TileRegister kRight>
inline void add_products() {
  asm volatile("tdpbf16ps %%tmm%c0, %%tmm%c1, %%tmm%c2" : : "i"(kRight), "i"(kLeft), "i"(kSums));
}

/// The sums of one tile in memory, as wide as a tile.
using TileSums = float[kTile * kTile];

inline __mmask16 lanes_below(long long count) { return static_cast<__mmask16>((1u << count) - 1); }

/// Copies the sums of a tile to `to`.
inline void copy_sums(const HalfArguments& tile, TileSums& to) {
  const __mmask16 lanes = lanes_below(tile.n);
  for (long long r = 0; r < tile.m; ++r) {
    _mm512_storeu_ps(to + r * kTile, _mm512_maskz_loadu_ps(lanes, tile.sums + r * tile.sums_m));
  }
}

/// Stores a tile's sums to the result, rounded, or to the sums.
inline void store_sums(const HalfArguments& tile, const TileSums& from) {
  const __mmask16 lanes = lanes_below(tile.n);
  for (long long r = 0; r < tile.m; ++r) {
    const __m512 sums = _mm512_loadu_ps(from + r * kTile);
    if (tile.rounded) {
      store_rounded(sums, tile.rounded + r * tile.rounded_m, lanes);
    } else {
      _mm512_mask_storeu_ps(tile.sums + r * tile.sums_m, lanes, sums);
    }
  }
}

/// `a` with its sums and result moved by `row` and `column`.
inline HalfArguments result_at(HalfArguments a, long long row, long long column) {
  a.sums += row * a.sums_m + column;
  if (a.rounded) a.rounded += row * a.rounded_m + column;
  return a;
}

/// The sums and the result of one tile of a block.
template <TileRegister kSums>
inline HalfArguments tile_of(const HalfArguments& block) {
  constexpr long long kRow = kSums / 2 * kTile, kColumn = kSums % 2 * kTile;
  HalfArguments tile = result_at(block, kRow, kColumn);
  tile.m = smaller(kTile, block.m - kRow);
  tile.n = smaller(kTile, block.n - kColumn);
  return tile;
}

inline long long sums_stride(const HalfArguments& a) {
  return a.sums_m * static_cast<long long>(sizeof(float));
}

template <TileRegister kSums>
inline void begin_sums(const HalfArguments& block) {
  const HalfArguments tile = tile_of<kSums>(block);
  if (!tile.accumulate) {
    asm volatile("tilezero %%tmm%c0" : : "i"(kSums));
  } else if (tile.n == kTile) {
    load_tile<kSums>(tile.sums, sums_stride(tile));
  } else {
    alignas(64) TileSums sums;
    copy_sums(tile, sums);
    load_tile<kSums>(sums, kTileBytes);
  }
}

template <TileRegister kSums>
inline void end_sums(const HalfArguments& block) {
  const HalfArguments tile = tile_of<kSums>(block);
  if (!tile.rounded && tile.n == kTile) return store_tile<kSums>(tile.sums, sums_stride(tile));
  alignas(64) TileSums sums;
  store_tile<kSums>(sums, kTileBytes);
  store_sums(tile, sums);
}

/// Computes a block of up to two by two tiles, of the configured heights.
template <bool kSecondRow, bool kSecondColumn>
void multiply_tiles(const HalfArguments& a) {
  begin_sums<kSums00>(a);
  if constexpr (kSecondColumn) begin_sums<kSums01>(a);
  if constexpr (kSecondRow) begin_sums<kSums10>(a);
  if constexpr (kSecondRow && kSecondColumn) begin_sums<kSums11>(a);
  for (long long d = 0; d < a.k; d += kTile) {
    const PackedWord* left = a.lhs + d * a.lhs_k;
    const PackedWord* right = a.rhs + d * kPanel<unsigned>;
    load_tile<kLeft0>(left, kTileBytes);
    load_tile<kRight0>(right, 2 * kTileBytes);
    add_products<kSums00, kLeft0, kRight0>();
    if constexpr (kSecondColumn) {
      load_tile<kRight1>(right + kTile, 2 * kTileBytes);
      add_products<kSums01, kLeft0, kRight1>();
    }
    if constexpr (kSecondRow) {
      load_tile<kLeft1>(left + kTile * kTile, kTileBytes);
      add_products<kSums10, kLeft1, kRight0>();
      if constexpr (kSecondColumn) add_products<kSums11, kLeft1, kRight1>();
    }
  }
  end_sums<kSums00>(a);
  if constexpr (kSecondColumn) end_sums<kSums01>(a);
  if constexpr (kSecondRow) end_sums<kSums10>(a);
  if constexpr (kSecondRow && kSecondColumn) end_sums<kSums11>(a);
}

void multiply_block(const HalfArguments& a) {
  const bool has_second_column = a.n > kTile;
  if (a.m > kTile) {
    return has_second_column ? multiply_tiles<true, true>(a) : multiply_tiles<true, false>(a);
  }
  return has_second_column ? multiply_tiles<false, true>(a) : multiply_tiles<false, false>(a);
}

/// Multiplies rows [begin, end) by all panels, `height` rows at a time. REQUIRES: tiles are
/// configured for blocks of that height; a.k <= kBlockKOfTiles. `packed_k`: the words along k of a
/// whole panel.
void run_tile_rows(const HalfArguments& a, long long packed_k, long long begin, long long end,
                   long long height) {
  for (long long column = 0; column < a.n; column += kPanel<unsigned>) {
    for (long long row = begin; row < end; row += height) {
      HalfArguments tiles = result_at(a, row, column);
      tiles.lhs = a.lhs + row * a.lhs_m;
      tiles.rhs = a.rhs + column * packed_k;
      tiles.m = height;
      tiles.n = smaller(kPanel<unsigned>, a.n - column);
      multiply_block(tiles);
    }
  }
}

/// Runs a range of rows block by block along k.
void run_tile_blocks(const HalfArguments& a, long long begin, long long end, long long height) {
  for (long long d = 0; d < a.k; d += kBlockKOfTiles) {
    HalfArguments block = a;
    block.lhs = a.lhs + d * a.lhs_k;
    block.rhs = a.rhs + d * kPanel<unsigned>;
    block.k = smaller(kBlockKOfTiles, a.k - d);
    block.accumulate = a.accumulate || d != 0;
    if (d + kBlockKOfTiles < a.k) block.rounded = nullptr;
    run_tile_rows(block, a.k, begin, end, height);
  }
}

void run_tiles(const HalfArguments& a) {
  const long long whole = a.m / kLhsBlockRows * kLhsBlockRows, rest = a.m - whole;
  if (whole > 0) configure_tiles(kTile, kTile);
  for (long long row = 0; row < whole; row += kCachedRows) {
    run_tile_blocks(a, row, smaller(row + kCachedRows, whole), kLhsBlockRows);
  }
  if (rest > 0) {
    const long long first = smaller(rest, kTile);
    configure_tiles(static_cast<int>(first), static_cast<int>(rest - first));
    run_tile_blocks(a, whole, a.m, rest);
  }
  asm volatile("tilerelease");
}

}  // namespace
}  // namespace kiln::cpu
