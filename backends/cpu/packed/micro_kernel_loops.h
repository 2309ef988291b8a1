// The loops of a micro-kernel: a small file for each level of instructions includes this and names
// the result. Tiles of a few rows by two vectors of columns stay in registers while the depth goes
// by: each step loads two vectors of the packed panel and multiplies them by one number of every
// row. Rows are cut into tiles of nearly equal height.
#include "backends/cpu/packed/micro_kernel.h"

namespace kiln::cpu {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16, kMostRows = 12;
#elif defined(__AVX2__)
constexpr int kLanes = 8, kMostRows = 6;
#else
constexpr int kLanes = 4, kMostRows = 4;
#endif
constexpr int kPanel = 2 * kLanes;
/// Depth and rows of a block: its part of a panel and of lhs stay in the near caches.
constexpr long long kDepthBlock = 512, kRowBlock = 96;

typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));
typedef float Unaligned __attribute__((vector_size(kLanes * sizeof(float)), aligned(4)));

struct Tile {
  const float* lhs;
  const float* panel;
  const float* bias;  // of the panel; null: none, or an earlier block of the depth had it
  float* result;
  long long depth, lhs_row, lhs_depth, result_row;
  int columns;      // of the panel that there are
  bool accumulate;  // on what the result holds, from an earlier block of the depth
  bool relu;        // this is the last block
};

void load(const float* from, int columns, Vector (&to)[2]) {
  if (columns == kPanel) {
    to[0] = *reinterpret_cast<const Unaligned*>(from);
    to[1] = *reinterpret_cast<const Unaligned*>(from + kLanes);
    return;
  }
  for (int i = 0; i < columns; ++i) to[i / kLanes][i % kLanes] = from[i];
}

void store(const Vector (&from)[2], int columns, float* to) {
  if (columns == kPanel) {
    *reinterpret_cast<Unaligned*>(to) = from[0];
    *reinterpret_cast<Unaligned*>(to + kLanes) = from[1];
    return;
  }
  for (int i = 0; i < columns; ++i) to[i] = from[i / kLanes][i % kLanes];
}

template <int kRows>
void multiply(const Tile& tile) {
  Vector sums[kRows][2] = {};
  for (int r = 0; r < kRows; ++r) {
    if (tile.bias) load(tile.bias, tile.columns, sums[r]);
    if (tile.accumulate) load(tile.result + r * tile.result_row, tile.columns, sums[r]);
  }
  const float* left = tile.lhs;
  const float* right = tile.panel;
  for (long long d = 0; d < tile.depth; ++d, left += tile.lhs_depth, right += kPanel) {
    const Vector first = *reinterpret_cast<const Vector*>(right);
    const Vector second = *reinterpret_cast<const Vector*>(right + kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const float factor = left[r * tile.lhs_row];
      sums[r][0] += factor * first;
      sums[r][1] += factor * second;
    }
  }
  const Vector zero = {};
  for (int r = 0; r < kRows; ++r) {
    if (tile.relu) {
      for (Vector& sum : sums[r]) sum = sum <= zero ? zero : sum;
    }
    store(sums[r], tile.columns, tile.result + r * tile.result_row);
  }
}

template <int kRows>
void multiply_rows(const Tile& tile, int rows) {
  if constexpr (kRows == 1) {
    multiply<1>(tile);
  } else {
    if (rows == kRows) return multiply<kRows>(tile);
    multiply_rows<kRows - 1>(tile, rows);
  }
}

/// All rows of one block with one panel.
void multiply_panel(Tile tile, long long rows) {
  const long long tiles = (rows + kMostRows - 1) / kMostRows;
  long long done = 0;
  for (long long t = 0; t < tiles; ++t) {
    const long long next = rows * (t + 1) / tiles;
    multiply_rows<kMostRows>(tile, static_cast<int>(next - done));
    tile.lhs += (next - done) * tile.lhs_row;
    tile.result += (next - done) * tile.result_row;
    done = next;
  }
}

long long smaller(long long a, long long b) { return a < b ? a : b; }

void run(const MicroKernelArguments& a) {
  for (long long row = 0; row < a.rows; row += kRowBlock) {
    const long long rows = smaller(kRowBlock, a.rows - row);
    for (long long d = 0; d < a.depth; d += kDepthBlock) {
      const long long depth = smaller(kDepthBlock, a.depth - d);
      for (long long column = 0; column < a.columns; column += kPanel) {
        Tile tile;
        tile.lhs = a.lhs + row * a.lhs_row + d * a.lhs_depth;
        tile.panel = a.packed + column * a.depth + d * kPanel;
        tile.bias = a.bias && d == 0 ? a.bias + column : nullptr;
        tile.result = a.result + row * a.result_row + column;
        tile.depth = depth;
        tile.lhs_row = a.lhs_row;
        tile.lhs_depth = a.lhs_depth;
        tile.result_row = a.result_row;
        tile.columns = static_cast<int>(smaller(kPanel, a.columns - column));
        tile.accumulate = d != 0;
        tile.relu = a.relu && d + depth == a.depth;
        multiply_panel(tile, rows);
      }
    }
  }
}

}  // namespace
}  // namespace kiln::cpu
