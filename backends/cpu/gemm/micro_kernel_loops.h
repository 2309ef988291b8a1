// The micro-kernel. The sums of a tile (a few rows by a few vectors of columns) stay in registers
// while the loop runs along k: each step loads the vectors of one row of rhs and multiplies each by
// one broadcast element of every row of lhs (an outer product). Rows are split into tiles of nearly
// equal height, so that no tile is much smaller than the others; matmuls of few rows get wider
// tiles, which read rhs in longer runs.
#pragma once

#include "backends/cpu/gemm/gemv_loops.h"
#include "backends/cpu/gemm/isa_vectors.h"
#include "backends/cpu/gemm/tile_rows.h"

namespace kiln::cpu {
namespace {

/// Extents of a block along k and m: its parts of rhs and of lhs stay in the L1 and L2 caches.
constexpr long long kBlockK = 512;
constexpr int kBlockRows = 98;
template <class T>
constexpr bool kIsFloat = T(0.5) != T(0);
/// Whether tiles prefetch the next block and pack their own panel. Only floats in vectors of a
/// whole cache line: other loops compute slower than memory delivers. With AVX2, these instructions
/// cost up to a third of the speed (tools/kiln/bench/results/cpu-native-gemm.md, Zen 3).
template <class T>
constexpr bool kOverlapsMemory = kIsFloat<T> && kVectorBytes == kLineBytes;
template <class T>
constexpr int kBlock = kOverlapsMemory<T> ? kPanel<T> : 4 * kPanel<T>;
/// Memory work that a tile does in its loop along k: prefetching the next block, a pair of cache
/// lines every two steps; the same and packing its own panel of rhs; or prefetching rhs a few rows
/// ahead.
enum class TileExtra { None, Prefetch, PrefetchAndPack, PrefetchRows };

/// Steps along k in an iteration of a tall tile, or of one that prefetches.
constexpr int kUnrolledSteps = 2;

/// Spreads the prefetch of a block over the iterations along k, in fixed point: each advances by
/// `step` / 65536 pairs of cache lines. There is no branch, which would cost the loops a fifth of
/// their speed.
struct PrefetchCursor {
  const char* at;
  unsigned long long done, step;  // in 65536ths of a pair of lines
  unsigned long long last_of_run;
  long long stride;  // from run to run, in bytes
  int run_shift;  // log2 of the pairs of lines of a run

  void advance() {
    const unsigned long long line_pair = done >> 16;
    const long long run = static_cast<long long>(line_pair >> run_shift);
    const char* from = at + run * stride + (line_pair & last_of_run) * (2 * kLineBytes);
    __builtin_prefetch(from, 0, 2);
    __builtin_prefetch(from + kLineBytes, 0, 2);
    done += step;
  }
};

/// The operands of one tile, or of all tiles of one block that share their columns.
template <class T>
struct Tile {
  const T* lhs;
  const T* rhs;
  const T* bias;  // of the columns; null: none, or an earlier block along k added it
  T* result;
  long long k, lhs_m, lhs_k, rhs_k, result_m;
  long long panel;  // elements from one panel of rhs to the next
  int n;  // columns
  bool accumulate;  // add to the result of an earlier block along k
  bool relu;  // this is the last block along k
  PrefetchCursor* cursor;  // or null
  long long ahead;  // elements from a row of rhs to the row prefetched with it, or 0
  T* pack_to;  // the first tile of rows packs the panel here; null: no packing
};

/// Loads vector v of a row of the tile; the last one may be partial.
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

/// Addresses the rows of lhs of a tile by an offset per row.
template <class T>
class RowOffsets {
 public:
  RowOffsets(const T* first, long long stride) : first_(first), stride_(stride) {}
  /// The current element of row `r`.
  T operator[](int r) const { return first_[r * stride_]; }
  void advance(long long elements) { first_ += elements; }

 private:
  const T* first_;
  const long long stride_;
};

/// General-purpose registers that are left for the offsets of rows.
constexpr int kMaxRowOffsets = 8;
/// Whether a tile addresses its rows by two bases (tile_rows.h) and runs two steps along k in an
/// iteration: fewer instructions besides multiply-adds. On Intel's cores with two units for vectors
/// of 64 bytes, integer arithmetic competes with multiply-adds for ports 0 and 5 (by llvm-mca; not
/// measured on such a core).
template <class T, int kRows>
constexpr bool kIsTall = kOverlapsMemory<T> && kRows > kMaxRowOffsets;

/// Whether a tile has so few rows that GCC would load each vector of rhs again for every row, as
/// the operand in memory of a multiply-add. Loads limit these tiles.
template <int kRows>
constexpr bool kIsLow = kRows == 2 || kRows == 3;

template <class T, int kRows>
inline auto rows_of_lhs(const T* first, long long stride) {
  if constexpr (kIsTall<T, kRows>) {
    static_assert(kRows <= TileRows<T>::kMaxRows);
    return TileRows<T>(first, stride);
  } else {
    return RowOffsets<T>(first, stride);
  }
}

// Every loop over the tile is unrolled; otherwise the compiler would keep the sums in memory.
#define KILN_EACH_SUM                                      \
  _Pragma("GCC unroll 16") for (int r = 0; r < kRows; ++r) \
      _Pragma("GCC unroll 16") for (int v = 0; v < kVectors; ++v)

/// Computes one tile. REQUIRES: kWhole or (kVectors - 1) * kLanes < n < kVectors * kLanes. Not
/// inlined: the caller's variables would take registers from the loop along k.
template <class T, int kRows, int kVectors, bool kWhole, TileExtra kExtra = TileExtra::None>
[[gnu::noinline]] void multiply(const Tile<T>& tile) {
  constexpr bool kPacks = kExtra == TileExtra::PrefetchAndPack;
  constexpr bool kPrefetches = kOverlapsMemory<T> && (kPacks || kExtra == TileExtra::Prefetch);
  constexpr int kSteps = kPrefetches || kIsTall<T, kRows> ? kUnrolledSteps : 1;
  PrefetchCursor cursor = kPrefetches ? *tile.cursor : PrefetchCursor{};
  Vector<T> sums[kRows][kVectors];
  KILN_EACH_SUM sums[r][v] = Vector<T>{};
  if (tile.bias) {
    KILN_EACH_SUM sums[r][v] = load<T, kVectors, kWhole>(tile.bias, v, tile.n);
  }
  if (tile.accumulate) {
    KILN_EACH_SUM {
      sums[r][v] = load<T, kVectors, kWhole>(tile.result + r * tile.result_m, v, tile.n);
    }
  }
  auto left = rows_of_lhs<T, kRows>(tile.lhs, tile.lhs_m);
  const T* right = tile.rhs;
  T* packed = tile.pack_to;
  const auto step = [&]() __attribute__((always_inline)) {
    Vector<T> factors[kVectors];
    _Pragma("GCC unroll 16") for (int v = 0; v < kVectors; ++v) {
      const T* panel = right + v / kPanelVectors * (tile.panel - kPanel<T>);
      factors[v] = load<T, kVectors, kWhole>(panel, v, tile.n);
      if (kIsLow<kRows>) asm("" : "+v"(factors[v]));
      if (kExtra == TileExtra::PrefetchRows) __builtin_prefetch(panel + v * kLanes<T> + tile.ahead);
      if (kPacks) *reinterpret_cast<Vector<T>*>(packed + v * kLanes<T>) = factors[v];
    }
    KILN_EACH_SUM sums[r][v] += left[r] * factors[v];
    left.advance(tile.lhs_k);
    right += tile.rhs_k;
    if (kPacks) packed += kPanel<T>;
  };
  for (long long iterations = tile.k / kSteps; iterations > 0; --iterations) {
    if (kPrefetches) cursor.advance();
    _Pragma("GCC unroll 2") for (int i = 0; i < kSteps; ++i) step();
  }
  if (tile.k % kSteps != 0) step();
  if (kPrefetches) tile.cursor->done = cursor.done;
  if (tile.relu) {
    KILN_EACH_SUM sums[r][v] = without_negative<T>(sums[r][v]);
  }
  KILN_EACH_SUM {
    store<T, kVectors, kWhole>(sums[r][v], tile.result + r * tile.result_m, v, tile.n);
  }
}
#undef KILN_EACH_SUM

/// Computes a tile with as few vectors as its columns need.
template <class T, int kRows, int kVectors>
void multiply_columns(const Tile<T>& tile) {
  if constexpr (kVectors > 1) {
    if (tile.n <= (kVectors - 1) * kLanes<T>) {
      return multiply_columns<T, kRows, kVectors - 1>(tile);
    }
  }
  const bool whole = tile.n == kVectors * kLanes<T>;
  if constexpr (kVectors == kPanelVectors && kOverlapsMemory<T>) {
    if (whole && tile.pack_to) {
      return multiply<T, kRows, kVectors, true, TileExtra::PrefetchAndPack>(tile);
    }
    if (whole && tile.cursor) return multiply<T, kRows, kVectors, true, TileExtra::Prefetch>(tile);
  }
  if constexpr (kIsFloat<T>) {
    if (whole && tile.ahead != 0)
      return multiply<T, kRows, kVectors, true, TileExtra::PrefetchRows>(tile);
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

/// Computes all rows of a block, in tiles of nearly equal height of at most kMaxHeight.
template <class T, int kMaxHeight, int kVectors>
void multiply_block(Tile<T> tile, long long rows) {
  const long long tiles = (rows + kMaxHeight - 1) / kMaxHeight;
  long long done = 0;
  for (long long t = 0; t < tiles; ++t) {
    const long long next = rows * (t + 1) / tiles;
    multiply_rows<T, kMaxHeight, kVectors>(tile, static_cast<int>(next - done));
    tile.lhs += (next - done) * tile.lhs_m;
    tile.result += (next - done) * tile.result_m;
    done = next;
    if (!tile.pack_to) continue;
    tile.rhs = tile.pack_to;
    tile.rhs_k = kPanel<T>;
    tile.pack_to = nullptr;
  }
}

/// Returns the width of tiles in vectors. Few rows have wide tiles: more independent sums, and
/// longer runs of rhs. Sums and vectors of rhs leave an eighth of the registers free; otherwise the
/// compiler would spill the sums.
constexpr int vectors_of_tile(long long rows) {
  if (rows <= 2) return rows == 1 ? kRegisters / 2 : kRegisters / 4;
  if (rows >= kMaxRows) return kPanelVectors;
  const int max = 3 * kRegisters / 16, vectors = 7 * kRegisters / 8 / static_cast<int>(rows + 1);
  return vectors < kPanelVectors ? kPanelVectors : vectors > max ? max : vectors;
}

/// Matmuls of at most kFewRows rows have wide tiles.
constexpr int kFewRows = kRegisters / 4;

template <class T, int kRows>
void multiply_few(const Tile<T>& tile, long long rows) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return multiply_few<T, kRows - 1>(tile, rows);
  }
  multiply_columns<T, kRows, vectors_of_tile(kRows)>(tile);
}

template <class T>
void multiply_tile(const Tile<T>& tile, long long rows) {
  if (rows <= kFewRows) return multiply_few<T, kFewRows>(tile, rows);
  multiply_block<T, kMaxRows, kPanelVectors>(tile, rows);
}

/// Spreads the prefetch evenly over all iterations of all tiles. Without one, the cursor stays on
/// lhs, which is in the cache.
template <class T>
PrefetchCursor prefetch_cursor(const MicroKernelArguments<T>& a) {
  PrefetchCursor f{.at = reinterpret_cast<const char*>(a.lhs),
                   .done = 0,
                   .step = 0,
                   .last_of_run = 0,
                   .stride = 0,
                   .run_shift = 0};
  if (!kOverlapsMemory<T> || a.prefetch.runs == 0) return f;
  f.at = reinterpret_cast<const char*>(a.prefetch.at);
  while ((2LL << f.run_shift) < a.prefetch.lines) ++f.run_shift;
  f.last_of_run = (1ULL << f.run_shift) - 1;
  f.stride = a.prefetch.stride;
  const long long line_pairs = a.prefetch.runs << f.run_shift;
  const long long tiles = (a.m + kMaxRows - 1) / kMaxRows;
  const long long panels = (a.n + kPanel<T> - 1) / kPanel<T>;
  const long long iterations = tiles * panels * larger(a.k / kUnrolledSteps, 1);
  f.step = static_cast<unsigned long long>((line_pairs << 16) / iterations);
  return f;
}

/// The number of rows of rhs to prefetch ahead, for tiles that read rhs once: more for a large rhs,
/// whose rows come from memory.
template <class T>
long long prefetch_rows(const MicroKernelArguments<T>& a) {
  constexpr long long kFar = (1 << 23) / sizeof(T), kNear = (1 << 16) / sizeof(T);
  if (a.packed || a.m <= 2 || a.m > kMaxRows) return 0;
  const long long elements = a.k * a.n;
  if (elements > kFar) return 24;
  return elements > kNear && a.m <= kFewRows ? 4 : 0;
}

template <class T>
void run(const MicroKernelArguments<T>& a) {
  if (is_gemv(a)) return run_gemv(a);
  const int vectors = vectors_of_tile(a.m);
  const int across = a.packed ? vectors / kPanelVectors * kPanelVectors : vectors;  // whole panels
  const long long width = across * kLanes<T>;
  Tile<T> tile;
  tile.lhs_m = a.lhs_m;
  tile.lhs_k = a.lhs_k;
  tile.rhs_k = a.packed ? kPanel<T> : a.rhs_stride;
  tile.panel = a.packed ? a.k * kPanel<T> : kPanel<T>;
  tile.result_m = a.result_m;
  PrefetchCursor cursor = prefetch_cursor(a);
  tile.cursor = cursor.step != 0 ? &cursor : nullptr;
  tile.ahead = prefetch_rows(a) * a.rhs_stride;
  tile.pack_to = nullptr;
  const long long blocks = (a.m + kBlockRows - 1) / kBlockRows;
  for (long long block = 0; block < blocks; ++block) {
    const long long row = a.m * block / blocks;
    const long long rows = a.m * (block + 1) / blocks - row;
    for (long long d = 0; d < a.k; d += kBlockK) {
      tile.lhs = a.lhs + row * a.lhs_m + d * a.lhs_k;
      tile.k = smaller(kBlockK, a.k - d);
      tile.accumulate = a.accumulate || d != 0;
      tile.relu = a.relu && d + tile.k == a.k;
      for (long long column = 0; column < a.n; column += width) {
        const T* block = a.rhs + d * tile.rhs_k;
        tile.rhs = block + (a.packed ? column * a.k : column);
        tile.bias = a.bias && d == 0 ? a.bias + column : nullptr;
        tile.result = a.result + row * a.result_m + column;
        tile.n = static_cast<int>(smaller(width, a.n - column));
        multiply_tile(tile, rows);
      }
    }
  }
}

/// Multiplies by one panel of a plain rhs; the first tile of rows packs it for the others.
template <class T>
void run_and_pack(const MicroKernelArguments<T>& a, T* packed) {
  PrefetchCursor cursor = prefetch_cursor(a);
  const Tile<T> tile{.lhs = a.lhs,
                     .rhs = a.rhs,
                     .bias = a.bias,
                     .result = a.result,
                     .k = a.k,
                     .lhs_m = a.lhs_m,
                     .lhs_k = a.lhs_k,
                     .rhs_k = a.rhs_stride,
                     .result_m = a.result_m,
                     .panel = kPanel<T>,
                     .n = kPanel<T>,
                     .accumulate = a.accumulate,
                     .relu = a.relu,
                     .cursor = &cursor,
                     .ahead = 0,
                     .pack_to = packed};
  multiply_block<T, kMaxRows, kPanelVectors>(tile, a.m);
}

}  // namespace
}  // namespace kiln::cpu
