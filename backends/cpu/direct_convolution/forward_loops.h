// The loops of forward convolutions of few channels for one ISA. Vectors run along the filters; the
// sums of a tile of neighbouring pixels and up to two vectors of filters stay in registers while
// all taps are added. Each forward_block_<isa>.cpp includes this header once.
#pragma once

#include "backends/cpu/direct_convolution/forward_block.h"
#include "backends/cpu/direct_convolution/window_loops.h"

namespace kiln::cpu {
namespace {

/// Vectors and pixels of a tile. Its sums, the factors and a pixel are in registers at a time.
constexpr int kVectors = 2, kPixels = (kRegisters - kVectors - 1) / kVectors;

/// Distance of prefetches of y, in floats.
constexpr int kAhead = 1024;

/// The operands of a tile: the taps of `row_taps` rows of the window outside the padding.
struct Tile {
  const float* x;  // under the first such tap, at the first pixel
  const float* filter;
  const float* bias;  // or null
  float* y;
  long long row_taps, column_taps;
  int lanes;  // of the only vector, if it is not whole
};

/// sums += `count` products with consecutive numbers of each pixel and rows of the filter.
/// kStep: stride from pixel to pixel in x; 0: `step`.
template <int kCount, int kWidth, int kStep, bool kWhole>
inline void add_products(const ForwardBlock& b, const float* x, const float* filter,
                         long long count, long long step, int lanes,
                         Vector<float> (&sums)[kCount][kWidth]) {
  if constexpr (kStep != 0) step = kStep;
  for (long long k = 0; k < count; ++k, ++x, filter += b.filters) {
    asm("" : "+r"(x));  // otherwise GCC moves pixels from iteration to iteration, on the stack
    Vector<float> factors[kWidth];
    _Pragma("GCC unroll 4") for (int v = 0; v < kWidth; ++v) {
      factors[v] = load<kWhole>(filter + v * kLanes<float>, lanes);
    }
    _Pragma("GCC unroll 16") for (int p = 0; p < kCount; ++p) {
      Vector<float> pixel = x[p * step] - Vector<float>{};
      asm("" : "+v"(pixel));  // keeps it in a register for all factors
      _Pragma("GCC unroll 4") for (int v = 0; v < kWidth; ++v) sums[p][v] += pixel * factors[v];
    }
  }
}

template <int kCount, int kWidth, bool kWhole>
inline void store_tile(const ForwardBlock& b, const Tile& tile,
                       Vector<float> (&sums)[kCount][kWidth]) {
  const Vector<float> zero = {};
  _Pragma("GCC unroll 4") for (int v = 0; v < kWidth; ++v) {
    const int at = v * kLanes<float>;
    if (tile.bias) {
      const auto bias = load<kWhole>(tile.bias + at, tile.lanes);
      _Pragma("GCC unroll 16") for (int p = 0; p < kCount; ++p) sums[p][v] += bias;
    }
    if (b.relu) {
      _Pragma("GCC unroll 16") for (int p = 0; p < kCount; ++p) {
        sums[p][v] = sums[p][v] <= zero ? zero : sums[p][v];
      }
    }
    _Pragma("GCC unroll 16") for (int p = 0; p < kCount; ++p) {
      store<kWhole>(sums[p][v], tile.y + p * b.filters + at, tile.lanes);
    }
  }
}

/// Prefetches numbers of y that later tiles write. Always inlined: GCC removes calls of functions
/// that only prefetch.
template <int kCount, int kWidth>
__attribute__((always_inline)) inline void prefetch(const ForwardBlock& b, const float* y) {
  constexpr int kLines = kWidth * kVectorBytes / kLineBytes;
  y += kAhead;
  _Pragma("GCC unroll 16") for (int p = 0; p < kCount; ++p, y += b.filters) {
    _Pragma("GCC unroll 4") for (int v = 0; v < kLines; ++v) {
      __builtin_prefetch(y + v * kLine<float>, 1);
    }
  }
}

template <int kCount, int kWidth, int kStep, bool kWhole>
void run_tile(const ForwardBlock& b, const Tile& tile) {
  Vector<float> sums[kCount][kWidth] = {};
  prefetch<kCount, kWidth>(b, tile.y);
  const long long step = b.columns.stride * b.channels;
  const float* x = tile.x;
  const float* filter = tile.filter;
  for (long long i = 0; i < tile.row_taps; ++i) {
    if (b.columns.dilation == 1) {
      add_products<kCount, kWidth, kStep, kWhole>(b, x, filter, tile.column_taps * b.channels,
                                                  step, tile.lanes, sums);
    } else {
      for (long long j = 0; j < tile.column_taps; ++j) {
        add_products<kCount, kWidth, kStep, kWhole>(
            b, x + j * b.columns.dilation * b.channels, filter + j * b.columns.tap, b.channels,
            step, tile.lanes, sums);
      }
    }
    x += b.rows.dilation * b.columns.size * b.channels;
    filter += b.rows.tap;
  }
  store_tile<kCount, kWidth, kWhole>(b, tile, sums);
}

/// Computes the tile at all filters.
template <int kCount, int kStep>
void run_filters(const ForwardBlock& b, Tile tile) {
  constexpr int kLength = kLanes<float>;
  long long left = b.filters;
  const auto advance = [&](int by) {
    left -= by;
    tile.filter += by;
    tile.y += by;
    if (tile.bias) tile.bias += by;
  };
  for (; left >= kVectors * kLength; advance(kVectors * kLength)) {
    run_tile<kCount, kVectors, kStep, true>(b, tile);
  }
  if (left >= kLength) {
    run_tile<kCount, 1, kStep, true>(b, tile);
    advance(kLength);
  }
  tile.lanes = static_cast<int>(left);
  if (left != 0) run_tile<kCount, 1, kStep, false>(b, tile);
}

/// Computes a tile of `count` pixels.
template <int kCount, int kStep>
void run_pixels(const ForwardBlock& b, const Tile& tile, long long count) {
  if constexpr (kCount > 1) {
    if (count < kCount) return run_pixels<kCount - 1, kStep>(b, tile, count);
  }
  run_filters<kCount, kStep>(b, tile);
}

/// One row of y.
void run_row(const ForwardBlock& b, long long number) {
  const WindowAxis& columns = b.columns;
  const Interval rows = taps_at(b.rows, number), inner = inner_outputs(columns);
  const long long step = columns.stride * b.channels;
  const long long x_row = columns.size * b.channels;
  const long long above = number * b.rows.stride - b.rows.low + rows.begin * b.rows.dilation;
  const float* x = rows.begin < rows.end ? b.x + above * x_row : b.x;
  for (long long pixel = 0; pixel < columns.outputs;) {
    const bool is_inner = pixel >= inner.begin && pixel < inner.end;
    const Interval taps = taps_at(columns, pixel);
    const long long left = pixel * columns.stride - columns.low + taps.begin * columns.dilation;
    const Tile tile{.x = taps.begin < taps.end ? x + left * b.channels : x,
                    .filter = b.filter + rows.begin * b.rows.tap + taps.begin * columns.tap,
                    .bias = b.bias,
                    .y = b.y + (number * columns.outputs + pixel) * b.filters,
                    .row_taps = rows.end - rows.begin,
                    .column_taps = taps.end - taps.begin,
                    .lanes = 0};
    long long count = 1;
    if (is_inner) {  // tiles of equal size, not whole tiles and a small rest
      const long long rest = inner.end - pixel, tiles = (rest + kPixels - 1) / kPixels;
      count = (rest + tiles - 1) / tiles;
    }
    if (step == 1) {
      run_pixels<kPixels, 1>(b, tile, count);
    } else {
      run_pixels<kPixels, 0>(b, tile, count);
    }
    pixel += count;
  }
}

void run_block(const ForwardBlock& b) {
  for (long long row = b.begin; row < b.end; ++row) run_row(b, row);
}

}  // namespace
}  // namespace kiln::cpu
