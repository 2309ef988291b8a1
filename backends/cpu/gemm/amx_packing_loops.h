// Packs operands for AMX tiles: of rhs, panels two tiles wide; of lhs, blocks of two rows of tiles.
#pragma once

#include "backends/cpu/gemm/bf16_packing_loops.h"

namespace kiln::cpu {
namespace {

/// Rows of a tile, and the words of a row.
constexpr int kTile = 16;
/// Rows that are multiplied together: two rows of tiles.
constexpr int kLhsBlockRows = 2 * kTile;

inline long long whole_tile_words(long long k) { return ((k + 1) / 2 + kTile - 1) / kTile * kTile; }

void pack_tiles(const PackArguments<BFloat16Bits, PackedWord>& a) {
  const long long words = whole_tile_words(a.k), used = (a.k + 1) / 2;
  pack_pairs_of(a, words);
  if (used == words) return;
  for (long long column = 0; column < a.n; column += kPanel<unsigned>) {
    PackedWord* to = a.packed + column * words + used * kPanel<unsigned>;
    for (long long i = 0; i < (words - used) * kPanel<unsigned>; ++i) to[i].bf16_pair = 0;
  }
}

/// Prepares the words [word, word + kTile) of 16 rows of an lhs that is contiguous along m.
inline void transpose_tile(const HalfLhsArguments<BFloat16Bits>& a, long long row, long long word,
                           PackedWord* to) {
  unsigned lines[kTile * kTile];
  for (int u = 0; u < kTile; ++u) {
    const long long d = 2 * (word + u);
    Bits pairs = {};
    if (d < a.k) {
      const BFloat16Bits* first = a.lhs + d * a.lhs_k + row;
      pairs = (Bits)load_pairs(first, d + 1 < a.k ? first + a.lhs_k : nullptr, kLhsPad);
    }
    store_unaligned<unsigned>(pairs, lines + u * kTile);
  }
  for (int column = 0; column < kTile; column += kChunk<unsigned>) {
    Vector<unsigned> rows[kChunk<unsigned>];
    _Pragma("GCC unroll 4") for (int i = 0; i < kChunk<unsigned>; ++i) {
      rows[i] = load_chunks(lines + i * kTile + column, kTile);
    }
    transpose_chunks<unsigned>(rows);
    _Pragma("GCC unroll 4") for (int i = 0; i < kChunk<unsigned>; ++i) {
      store_unaligned<unsigned>(rows[i], &to[(column + i) * kTile].bf16_pair);
    }
  }
}

/// Prepares up to kTile words of one row.
inline void prepare_row(const HalfLhsArguments<BFloat16Bits>& a, long long row, long long word,
                        PackedWord* to) {
  const long long d = 2 * word, count = smaller(2 * kTile, a.k - d);
  const BFloat16Bits* from = a.lhs + row * a.lhs_m + d * a.lhs_k;
  for (long long u = (count + 1) / 2; u < kTile; ++u) to[u].bf16_pair = 0;
  if (a.lhs_k == 1) return pair_run(from, to, count, kLhsPad);
  for (long long u = 0; 2 * u < count; ++u, from += 2 * a.lhs_k) {
    const BFloat16Bits* second = 2 * u + 1 < count ? from + a.lhs_k : nullptr;
    pair_runs(from, second, a.lhs_k, to + u, 1, kLhsPad);
  }
}

/// Prepares lhs so that the tiles of a block of rows are contiguous in the order of their use.
void prepare_tiles(const HalfLhsArguments<BFloat16Bits>& a) {
  const long long words = whole_tile_words(a.k), height = smaller(kLhsBlockRows, a.m);
  const auto at = [&](long long row, long long word) {
    const long long in_block = row % height;
    return a.prepared + (row - in_block) * words + word * height + in_block * kTile;
  };
  const long long whole = a.lhs_m == 1 && a.lhs_k != 1 ? a.m / kTile * kTile : 0;
  for (long long row = 0; row < whole; row += kTile) {
    for (long long word = 0; word < words; word += kTile) {
      transpose_tile(a, row, word, at(row, word));
    }
  }
  for (long long row = whole; row < a.m; ++row) {
    for (long long word = 0; word < words; word += kTile) {
      prepare_row(a, row, word, at(row, word));
    }
  }
}

}  // namespace
}  // namespace kiln::cpu
