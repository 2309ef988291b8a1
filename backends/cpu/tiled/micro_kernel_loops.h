// The loops of a micro-kernel: a small file for each level of instructions includes this and names
// the result. Tiles of a few rows by a few vectors of columns stay in registers while the depth
// goes by: each step loads vectors of rhs and multiplies them by one number of every row. Rows are
// cut into tiles of nearly equal height; few rows have wider tiles, which read rhs in longer runs.
#pragma once

#include "backends/cpu/tiled/level_vectors.h"
#include "backends/cpu/tiled/one_row_loops.h"

namespace kiln::cpu {
namespace {

/// Depth and rows of a block: its part of rhs and of lhs stay in the near caches.
constexpr long long kDepthBlock = 512, kRowBlock = 98;
template <class T>
constexpr bool kIsFloat = T(0.5) != T(0);
/// Whether the loops prefetch, and pack while they compute. Small vectors are slower than memory,
/// and their panels are less than a cache line wide; multiplying integers is slower, too.
template <class T>
constexpr bool kOnTheWay = kIsFloat<T> && kPanelVectors * kVectorBytes >= kLineBytes;
template <class T>
constexpr int kBlock = kOnTheWay<T> ? kPanel<T> : 4 * kPanel<T>;
/// What a tile does beside its sums: fetches the next block a line at a time, packs its own rows of
/// rhs, too, or fetches rhs a few rows ahead.
enum class Beside { Nothing, Fetch, FetchAndPack, Ahead };

/// How far a fetch has come, in 65536ths of lines, and goes with each step of the depth. The loops
/// of a product do it without a branch, which would cost them a fifth of their speed.
struct Fetching {
  const char* at;
  unsigned long long done, step;
  unsigned long long last_of_run;
  long long stride;  // from run to run, in bytes
  int run_shift;     // log2 of the lines of a run

  void advance() {
    const unsigned long long line = done >> 16;
    const long long run = static_cast<long long>(line >> run_shift);
    __builtin_prefetch(at + run * stride + (line & last_of_run) * kLineBytes, 0, 2);
    done += step;
  }
};

template <class T>
struct Tile {
  const T* lhs;
  const T* rhs;
  const T* bias;  // of the columns; null: none, or an earlier block of the depth had it
  T* result;
  long long depth, lhs_row, lhs_depth, rhs_depth, result_row;
  long long panel;  // of rhs: from one panel's columns to the next one's
  int columns;      // that there are
  bool accumulate;  // on what the result holds, from an earlier block of the depth
  bool relu;        // this is the last block
  Fetching* fetching;  // or null
  long long ahead;     // elements from a row of rhs to the one fetched meanwhile, or 0
  T* pack_to;      // where the first rows put the panel, for the other ones; null: nowhere
};

/// Vector number v of a row of the tile; the last one may be a part.
template <class T, int kVectors, bool kWhole>
inline Vector<T> load(const T* row, int v, int columns) {
  constexpr int kWidth = kLanes<T>;
  if (!kWhole && v == kVectors - 1) return load_some(row + v * kWidth, columns - v * kWidth);
  return load_unaligned(row + v * kWidth);
}

template <class T, int kVectors, bool kWhole>
inline void store(const Vector<T>& from, T* row, int v, int columns) {
  constexpr int kWidth = kLanes<T>;
  if (kWhole || v < kVectors - 1) return store_unaligned<T>(from, row + v * kWidth);
  store_some<T>(from, row + v * kWidth, columns - v * kWidth);
}

// Every loop over the tile is unrolled, or the sums would live in memory.
#define KILN_EACH_SUM                                      \
  _Pragma("GCC unroll 16") for (int r = 0; r < kRows; ++r) \
      _Pragma("GCC unroll 16") for (int v = 0; v < kVectors; ++v)

/// REQUIRES: kWhole or (kVectors - 1) * kLanes < columns < kVectors * kLanes.
template <class T, int kRows, int kVectors, bool kWhole, Beside kBeside = Beside::Nothing>
void multiply(const Tile<T>& tile) {
  constexpr bool kPacks = kBeside == Beside::FetchAndPack;
  constexpr bool kFetches = kOnTheWay<T> && (kPacks || kBeside == Beside::Fetch);
  Fetching fetching = kFetches ? *tile.fetching : Fetching{};
  Vector<T> sums[kRows][kVectors];
  KILN_EACH_SUM sums[r][v] = Vector<T>{};
  if (tile.bias) {
    KILN_EACH_SUM sums[r][v] = load<T, kVectors, kWhole>(tile.bias, v, tile.columns);
  }
  if (tile.accumulate) {
    KILN_EACH_SUM {
      sums[r][v] = load<T, kVectors, kWhole>(tile.result + r * tile.result_row, v, tile.columns);
    }
  }
  const T* left = tile.lhs;
  const T* right = tile.rhs;
  for (long long d = 0; d < tile.depth; ++d, left += tile.lhs_depth, right += tile.rhs_depth) {
    if (kFetches) fetching.advance();
    Vector<T> factors[kVectors];
    _Pragma("GCC unroll 16") for (int v = 0; v < kVectors; ++v) {
      const T* panel = right + v / kPanelVectors * (tile.panel - kPanel<T>);
      factors[v] = load<T, kVectors, kWhole>(panel, v, tile.columns);
      if (kBeside == Beside::Ahead) __builtin_prefetch(panel + v * kLanes<T> + tile.ahead);
      if (!kPacks) continue;
      *reinterpret_cast<Vector<T>*>(tile.pack_to + d * kPanel<T> + v * kLanes<T>) = factors[v];
    }
    KILN_EACH_SUM sums[r][v] += left[r * tile.lhs_row] * factors[v];
  }
  if (kFetches) tile.fetching->done = fetching.done;
  if (tile.relu) {
    KILN_EACH_SUM sums[r][v] = without_negative<T>(sums[r][v]);
  }
  KILN_EACH_SUM {
    store<T, kVectors, kWhole>(sums[r][v], tile.result + r * tile.result_row, v, tile.columns);
  }
}
#undef KILN_EACH_SUM

/// As few vectors as the columns need.
template <class T, int kRows, int kVectors>
void multiply_columns(const Tile<T>& tile) {
  if constexpr (kVectors > 1) {
    if (tile.columns <= (kVectors - 1) * kLanes<T>) {
      return multiply_columns<T, kRows, kVectors - 1>(tile);
    }
  }
  const bool whole = tile.columns == kVectors * kLanes<T>;
  if constexpr (kVectors == kPanelVectors && kOnTheWay<T>) {
    if (whole && tile.pack_to) {
      return multiply<T, kRows, kVectors, true, Beside::FetchAndPack>(tile);
    }
    if (whole && tile.fetching) return multiply<T, kRows, kVectors, true, Beside::Fetch>(tile);
  }
  if constexpr (kIsFloat<T>) {
    if (whole && tile.ahead != 0) return multiply<T, kRows, kVectors, true, Beside::Ahead>(tile);
  }
  if (whole) return multiply<T, kRows, kVectors, true>(tile);
  multiply<T, kRows, kVectors, false>(tile);
}

template <class T, int kRows, int kVectors>
void multiply_rows(const Tile<T>& tile, int rows) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return multiply_rows<T, kRows - 1, kVectors>(tile, rows);
  }
  multiply_columns<T, kRows, kVectors>(tile);
}

/// All rows of one block with the same columns.
template <class T, int kMost, int kVectors>
void multiply_block(Tile<T> tile, long long rows) {
  const long long tiles = (rows + kMost - 1) / kMost;
  long long done = 0;
  for (long long t = 0; t < tiles; ++t) {
    const long long next = rows * (t + 1) / tiles;
    multiply_rows<T, kMost, kVectors>(tile, static_cast<int>(next - done));
    tile.lhs += (next - done) * tile.lhs_row;
    tile.result += (next - done) * tile.result_row;
    done = next;
    if (!tile.pack_to) continue;
    tile.rhs = tile.pack_to;
    tile.rhs_depth = kPanel<T>;
    tile.pack_to = nullptr;
  }
}

/// Few rows have wide tiles: more sums at once, and longer runs of rhs. The sums and the vectors of
/// rhs leave an eighth of the registers free, or the sums would live in memory.
constexpr int vectors_for(long long rows) {
  if (rows <= 2) return rows == 1 ? kRegisters / 2 : kRegisters / 4;
  if (rows >= kMostRows) return kPanelVectors;
  const int most = 3 * kRegisters / 16, vectors = 7 * kRegisters / 8 / static_cast<int>(rows + 1);
  return vectors < kPanelVectors ? kPanelVectors : vectors > most ? most : vectors;
}

/// As many rows as have such tiles.
constexpr int kFewRows = kRegisters / 4;

template <class T, int kRows>
void multiply_few(const Tile<T>& tile, long long rows) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return multiply_few<T, kRows - 1>(tile, rows);
  }
  multiply_columns<T, kRows, vectors_for(kRows)>(tile);
}

template <class T>
void multiply_tile(const Tile<T>& tile, long long rows) {
  if (rows <= kFewRows) return multiply_few<T, kFewRows>(tile, rows);
  multiply_block<T, kMostRows, kPanelVectors>(tile, rows);
}

/// Spread evenly over all steps of all tiles. Nothing to fetch: memory that is there already.
template <class T>
Fetching fetching_of(const MicroKernelArguments<T>& a) {
  Fetching f{reinterpret_cast<const char*>(a.lhs), 0, 0, 0, 0, 0};
  if (!kOnTheWay<T> || a.fetch.runs == 0) return f;
  f.at = reinterpret_cast<const char*>(a.fetch.at);
  while ((1LL << f.run_shift) < a.fetch.lines) ++f.run_shift;
  f.last_of_run = (1ULL << f.run_shift) - 1;
  f.stride = a.fetch.stride;
  const long long lines = a.fetch.runs << f.run_shift;
  const long long tiles = (a.rows + kMostRows - 1) / kMostRows;
  const long long steps = tiles * ((a.columns + kPanel<T> - 1) / kPanel<T>) * a.depth;
  f.step = static_cast<unsigned long long>((lines << 16) / steps);
  return f;
}

/// How many rows of rhs a tile that goes over it once fetches ahead: those of a far one come late.
template <class T>
long long rows_ahead(const MicroKernelArguments<T>& a) {
  constexpr long long kFar = (1 << 23) / sizeof(T), kNear = (1 << 16) / sizeof(T);
  if (a.packed || a.rows <= 2 || a.rows > kMostRows) return 0;
  const long long elements = a.depth * a.columns;
  if (elements > kFar) return 24;
  return elements > kNear && a.rows <= kFewRows ? 4 : 0;
}

template <class T>
void run(const MicroKernelArguments<T>& a) {
  if (takes_row_by_row(a)) return run_row(a);
  const int vectors = vectors_for(a.rows);  // of a packed rhs: whole panels
  const int across = a.packed ? vectors / kPanelVectors * kPanelVectors : vectors;
  const long long width = across * kLanes<T>;
  Tile<T> tile;
  tile.lhs_row = a.lhs_row;
  tile.lhs_depth = a.lhs_depth;
  tile.rhs_depth = a.packed ? kPanel<T> : a.rhs_stride;
  tile.panel = a.packed ? a.depth * kPanel<T> : kPanel<T>;
  tile.result_row = a.result_row;
  Fetching fetching = fetching_of(a);
  tile.fetching = fetching.step != 0 ? &fetching : nullptr;
  tile.ahead = rows_ahead(a) * a.rhs_stride;
  tile.pack_to = nullptr;
  const long long blocks = (a.rows + kRowBlock - 1) / kRowBlock;
  for (long long block = 0; block < blocks; ++block) {
    const long long row = a.rows * block / blocks;
    const long long rows = a.rows * (block + 1) / blocks - row;
    for (long long d = 0; d < a.depth; d += kDepthBlock) {
      tile.lhs = a.lhs + row * a.lhs_row + d * a.lhs_depth;
      tile.depth = smaller(kDepthBlock, a.depth - d);
      tile.accumulate = a.accumulate || d != 0;
      tile.relu = a.relu && d + tile.depth == a.depth;
      for (long long column = 0; column < a.columns; column += width) {
        const T* block = a.rhs + d * tile.rhs_depth;
        tile.rhs = block + (a.packed ? column * a.depth : column);
        tile.bias = a.bias && d == 0 ? a.bias + column : nullptr;
        tile.result = a.result + row * a.result_row + column;
        tile.columns = static_cast<int>(smaller(width, a.columns - column));
        multiply_tile(tile, rows);
      }
    }
  }
}

template <class T>
void run_panel(const MicroKernelArguments<T>& a, T* packed) {
  Fetching fetching = fetching_of(a);
  const Tile<T> tile{a.lhs,     a.rhs,       a.bias,       a.result,      a.depth,
                     a.lhs_row, a.lhs_depth, a.rhs_stride, a.result_row,  kPanel<T>,
                     kPanel<T>, a.accumulate, a.relu,      &fetching,     0,
                     packed};
  multiply_block<T, kMostRows, kPanelVectors>(tile, a.rows);
}

}  // namespace
}  // namespace kiln::cpu
