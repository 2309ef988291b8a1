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
/// Whether the product fetches and packs on the way: small vectors are slower than memory, and
/// their panels are less than a line of it wide.
constexpr bool kOnTheWay = kPanel >= kLine;
constexpr int kBlock = kOnTheWay ? kPanel : 4 * kPanel;
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
    __builtin_prefetch(at + run * stride + (line & last_of_run) * kLine * sizeof(float), 0, 2);
    done += step;
  }
};

struct Tile {
  const float* lhs;
  const float* rhs;
  const float* bias;  // of the columns; null: none, or an earlier block of the depth had it
  float* result;
  long long depth, lhs_row, lhs_depth, rhs_depth, result_row;
  long long panel;  // of rhs: from one panel's columns to the next one's
  int columns;      // that there are
  bool accumulate;  // on what the result holds, from an earlier block of the depth
  bool relu;        // this is the last block
  Fetching* fetching;  // or null
  long long ahead;     // elements from a row of rhs to the one fetched meanwhile, or 0
  float* pack_to;      // where the first rows put the panel, for the other ones; null: nowhere
};

/// Vector number v of a row of the tile; the last one may be a part.
template <int kVectors, bool kWhole>
inline Vector load(const float* row, int v, int columns) {
  if (!kWhole && v == kVectors - 1) return load_some(row + v * kLanes, columns - v * kLanes);
  return *reinterpret_cast<const Unaligned*>(row + v * kLanes);
}

template <int kVectors, bool kWhole>
inline void store(const Vector& from, float* row, int v, int columns) {
  if (kWhole || v < kVectors - 1) {
    *reinterpret_cast<Unaligned*>(row + v * kLanes) = from;
    return;
  }
  store_some(from, row + v * kLanes, columns - v * kLanes);
}

// Every loop over the tile is unrolled, or the sums would live in memory.
#define KILN_EACH_SUM                                      \
  _Pragma("GCC unroll 16") for (int r = 0; r < kRows; ++r) \
      _Pragma("GCC unroll 16") for (int v = 0; v < kVectors; ++v)

/// REQUIRES: kWhole or (kVectors - 1) * kLanes < columns < kVectors * kLanes.
template <int kRows, int kVectors, bool kWhole, Beside kBeside = Beside::Nothing>
void multiply(const Tile& tile) {
  constexpr bool kPacks = kBeside == Beside::FetchAndPack;
  constexpr bool kFetches = kOnTheWay && (kPacks || kBeside == Beside::Fetch);
  Fetching fetching = kFetches ? *tile.fetching : Fetching{};
  Vector sums[kRows][kVectors];
  KILN_EACH_SUM sums[r][v] = Vector{};
  if (tile.bias) {
    KILN_EACH_SUM sums[r][v] = load<kVectors, kWhole>(tile.bias, v, tile.columns);
  }
  if (tile.accumulate) {
    KILN_EACH_SUM {
      sums[r][v] = load<kVectors, kWhole>(tile.result + r * tile.result_row, v, tile.columns);
    }
  }
  const float* left = tile.lhs;
  const float* right = tile.rhs;
  for (long long d = 0; d < tile.depth; ++d, left += tile.lhs_depth, right += tile.rhs_depth) {
    if (kFetches) fetching.advance();
    Vector factors[kVectors];
    _Pragma("GCC unroll 16") for (int v = 0; v < kVectors; ++v) {
      const float* panel = right + v / kPanelVectors * tile.panel - v / kPanelVectors * kPanel;
      factors[v] = load<kVectors, kWhole>(panel, v, tile.columns);
      if (kBeside == Beside::Ahead) __builtin_prefetch(panel + v * kLanes + tile.ahead);
      if (kPacks) *reinterpret_cast<Vector*>(tile.pack_to + d * kPanel + v * kLanes) = factors[v];
    }
    KILN_EACH_SUM sums[r][v] += left[r * tile.lhs_row] * factors[v];
  }
  if (kFetches) tile.fetching->done = fetching.done;
  if (tile.relu) {
    const Vector zero = {};
    KILN_EACH_SUM sums[r][v] = sums[r][v] <= zero ? zero : sums[r][v];
  }
  KILN_EACH_SUM {
    store<kVectors, kWhole>(sums[r][v], tile.result + r * tile.result_row, v, tile.columns);
  }
}
#undef KILN_EACH_SUM

/// As few vectors as the columns need.
template <int kRows, int kVectors>
void multiply_columns(const Tile& tile) {
  if constexpr (kVectors > 1) {
    if (tile.columns <= (kVectors - 1) * kLanes) {
      return multiply_columns<kRows, kVectors - 1>(tile);
    }
  }
  const bool whole = tile.columns == kVectors * kLanes;
  if constexpr (kVectors == kPanelVectors) {
    if (whole && tile.pack_to) return multiply<kRows, kVectors, true, Beside::FetchAndPack>(tile);
    if (whole && tile.fetching) return multiply<kRows, kVectors, true, Beside::Fetch>(tile);
  }
  if (whole && tile.ahead != 0) return multiply<kRows, kVectors, true, Beside::Ahead>(tile);
  if (whole) return multiply<kRows, kVectors, true>(tile);
  multiply<kRows, kVectors, false>(tile);
}

template <int kRows, int kVectors>
void multiply_rows(const Tile& tile, int rows) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return multiply_rows<kRows - 1, kVectors>(tile, rows);
  }
  multiply_columns<kRows, kVectors>(tile);
}

/// All rows of one block with the same columns.
template <int kMost, int kVectors>
void multiply_block(Tile tile, long long rows) {
  const long long tiles = (rows + kMost - 1) / kMost;
  long long done = 0;
  for (long long t = 0; t < tiles; ++t) {
    const long long next = rows * (t + 1) / tiles;
    multiply_rows<kMost, kVectors>(tile, static_cast<int>(next - done));
    tile.lhs += (next - done) * tile.lhs_row;
    tile.result += (next - done) * tile.result_row;
    done = next;
    if (!tile.pack_to) continue;
    tile.rhs = tile.pack_to;
    tile.rhs_depth = kPanel;
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

template <int kRows>
void multiply_few(const Tile& tile, long long rows) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return multiply_few<kRows - 1>(tile, rows);
  }
  multiply_columns<kRows, vectors_for(kRows)>(tile);
}

void multiply_tile(const Tile& tile, long long rows) {
  if (rows <= kFewRows) return multiply_few<kFewRows>(tile, rows);
  multiply_block<kMostRows, kPanelVectors>(tile, rows);
}

/// Spread evenly over all steps of all tiles. Nothing to fetch: memory that is there already.
Fetching fetching_of(const MicroKernelArguments& a) {
  Fetching f{reinterpret_cast<const char*>(a.lhs), 0, 0, 0, 0, 0};
  if (!kOnTheWay || a.fetch.runs == 0) return f;
  f.at = reinterpret_cast<const char*>(a.fetch.at);
  while ((1LL << f.run_shift) < a.fetch.lines) ++f.run_shift;
  f.last_of_run = (1ULL << f.run_shift) - 1;
  f.stride = a.fetch.stride * static_cast<long long>(sizeof(float));
  const long long lines = a.fetch.runs << f.run_shift;
  const long long tiles = (a.rows + kMostRows - 1) / kMostRows;
  const long long steps = tiles * ((a.columns + kPanel - 1) / kPanel) * a.depth;
  f.step = static_cast<unsigned long long>((lines << 16) / steps);
  return f;
}

/// How many rows of rhs a tile that goes over it once fetches ahead: those of a far one come late.
long long rows_ahead(const MicroKernelArguments& a) {
  constexpr long long kFar = 1 << 21, kNear = 1 << 14;
  if (a.packed || a.rows <= 2 || a.rows > kMostRows) return 0;
  const long long elements = a.depth * a.columns;
  if (elements > kFar) return 24;
  return elements > kNear && a.rows <= kFewRows ? 4 : 0;
}

void run(const MicroKernelArguments& a) {
  if (takes_row_by_row(a)) return run_row(a);
  const int vectors = vectors_for(a.rows);  // of a packed rhs: whole panels
  const long long width = kLanes * (a.packed ? vectors / kPanelVectors * kPanelVectors : vectors);
  Tile tile;
  tile.lhs_row = a.lhs_row;
  tile.lhs_depth = a.lhs_depth;
  tile.rhs_depth = a.packed ? kPanel : a.rhs_stride;
  tile.panel = a.packed ? a.depth * kPanel : kPanel;
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
        tile.rhs =
            a.packed ? a.rhs + column * a.depth + d * kPanel : a.rhs + column + d * a.rhs_stride;
        tile.bias = a.bias && d == 0 ? a.bias + column : nullptr;
        tile.result = a.result + row * a.result_row + column;
        tile.columns = static_cast<int>(smaller(width, a.columns - column));
        multiply_tile(tile, rows);
      }
    }
  }
}

void run_panel(const MicroKernelArguments& a, float* packed) {
  Fetching fetching = fetching_of(a);
  const Tile tile{a.lhs, a.rhs, a.bias, a.result, a.depth, a.lhs_row, a.lhs_depth, a.rhs_stride,
                  a.result_row, kPanel, kPanel, a.accumulate, a.relu, &fetching, 0, packed};
  multiply_block<kMostRows, kPanelVectors>(tile, a.rows);
}

constexpr auto kRunPanel = kOnTheWay ? &run_panel : nullptr;

// ---- few rows by columns that lie together: sums along the depth in the lanes of vectors ----

constexpr int kLineRows = kRegisters / 8, kLineColumns = 4;

/// Lanes that are equal modulo 4, added up.
inline __m128 four_sums(const Vector& lanes) {
  __m128 parts[kLanes / 4];
  __builtin_memcpy(parts, &lanes, sizeof(parts));
  for (int width = kLanes / 8; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) parts[i] = _mm_add_ps(parts[i], parts[i + width]);
  }
  return parts[0];
}

/// The sum of the lanes of each of four vectors.
inline void add_up(const Vector (&from)[4], float (&to)[4]) {
  __m128 a = four_sums(from[0]), b = four_sums(from[1]);
  __m128 c = four_sums(from[2]), d = four_sums(from[3]);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  _mm_storeu_ps(to, _mm_add_ps(_mm_add_ps(a, b), _mm_add_ps(c, d)));
}

#define KILN_EACH_SUM                                     \
  _Pragma("GCC unroll 8") for (int r = 0; r < kRows; ++r) \
      _Pragma("GCC unroll 8") for (int c = 0; c < kColumns; ++c)

/// Always sums for kLineColumns columns, of which the last ones may be none.
template <int kRows, int kColumns>
void multiply_lines(const MicroKernelArguments& a, long long row, long long column) {
  const float* lhs = a.lhs + row * a.lhs_row;
  const float* rhs = a.rhs + column * a.rhs_stride;
  Vector sums[kRows][kLineColumns] = {};
  long long d = 0;
  for (; d + kLanes <= a.depth; d += kLanes) {
    Vector left[kRows];
    _Pragma("GCC unroll 8") for (int r = 0; r < kRows; ++r) {
      left[r] = *reinterpret_cast<const Unaligned*>(lhs + r * a.lhs_row + d);
    }
    _Pragma("GCC unroll 8") for (int c = 0; c < kColumns; ++c) {
      const Vector right = *reinterpret_cast<const Unaligned*>(rhs + c * a.rhs_stride + d);
      _Pragma("GCC unroll 8") for (int r = 0; r < kRows; ++r) sums[r][c] += left[r] * right;
    }
  }
  if (const int rest = static_cast<int>(a.depth - d); rest != 0) {
    KILN_EACH_SUM {
      sums[r][c] += load_some(lhs + r * a.lhs_row + d, rest) *
                    load_some(rhs + c * a.rhs_stride + d, rest);
    }
  }
  float found[kRows][kLineColumns];
  _Pragma("GCC unroll 8") for (int r = 0; r < kRows; ++r) add_up(sums[r], found[r]);
  KILN_EACH_SUM {
    const float sum = found[r][c] + (a.bias ? a.bias[column + c] : 0.0f);
    a.result[(row + r) * a.result_row + column + c] = a.relu && sum <= 0 ? 0.0f : sum;
  }
}
#undef KILN_EACH_SUM

template <int kRows, int kColumns>
void multiply_line_tile(const MicroKernelArguments& a, long long row, int rows, long long column,
                        int columns) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return multiply_line_tile<kRows - 1, kColumns>(a, row, rows, column, columns);
  }
  if constexpr (kColumns > 1) {
    if (columns < kColumns) {
      return multiply_line_tile<kRows, kColumns - 1>(a, row, rows, column, columns);
    }
  }
  multiply_lines<kRows, kColumns>(a, row, column);
}

void run_lines(const MicroKernelArguments& a) {
  for (long long column = 0; column < a.columns; column += kLineColumns) {
    const int columns = static_cast<int>(smaller(kLineColumns, a.columns - column));
    for (long long row = 0; row < a.rows; row += kLineRows) {
      const int rows = static_cast<int>(smaller(kLineRows, a.rows - row));
      multiply_line_tile<kLineRows, kLineColumns>(a, row, rows, column, columns);
    }
  }
}

}  // namespace
}  // namespace kiln::cpu
