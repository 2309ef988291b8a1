// The loops of forward convolutions for one ISA. Vectors run along the filters; the sums of a tile
// of neighbouring pixels and up to two vectors of filters stay in registers while all taps are
// added. Each forward_block_<isa>.cpp includes this header once.
#pragma once

#include "backends/cpu/direct_convolution/forward_block.h"
#include "backends/cpu/direct_convolution/window_loops.h"
#include "backends/cpu/gemm/tile_rows.h"

namespace kiln::cpu {
namespace {

/// Vectors and pixels of a tile. Its sums, the factors and a pixel are in registers at a time.
constexpr int kVectors = 2, kPixels = (kRegisters - kVectors - 1) / kVectors;
static_assert(kPixels <= TileRows<float>::kMaxRows);

/// Distance of prefetches of y, in floats.
constexpr int kAhead = 1024;

/// The operands of a tile: neighbouring pixels of a row or a column of y that read the same taps.
/// `row_taps` rows of the window are not in the padding; each is `runs` runs of contiguous elements
/// of x and of rows of the filter.
struct Tile {
  const float* x;  // the first element of the first pixel
  const float* filter;
  const float* bias;  // or null
  float* y;
  long long row_taps, runs, run;  // run: elements of a run
  long long x_step, y_step;  // strides from pixel to pixel
  long long filters;  // left in the panel, from the tile's first one
};

/// The current element of each pixel of a tile. kStep: the stride from pixel to pixel, or 0 if it
/// is known only at run time.
template <int kStep>
class Pixels {
 public:
  Pixels(const float* first, long long) : at_(first) {}
  float operator[](int p) const { return at_[p * kStep]; }
  void advance() {
    ++at_;
    asm("" : "+r"(at_));  // otherwise GCC moves pixels from iteration to iteration, on the stack
  }

 private:
  const float* at_;
};

template <>
class Pixels<0> {
 public:
  Pixels(const float* first, long long step) : rows_(first, step) {}
  float operator[](int p) const { return rows_[p]; }
  void advance() { rows_.advance(1); }

 private:
  TileRows<float> rows_;
};

/// sums += a run: for each of its elements, those of the pixels times a row of the filter.
template <int kCount, int kWidth, int kStep, bool kWhole>
inline void add_run(const ForwardBlock& b, const Tile& tile, const float* x, const float* filter,
                    Vector<float> (&sums)[kCount][kWidth]) {
  const int lanes = static_cast<int>(tile.filters);
  Pixels<kStep> pixels(x, tile.x_step);
  for (long long k = 0; k < tile.run; ++k, pixels.advance(), filter += b.panel_filters) {
    Vector<float> factors[kWidth];
    _Pragma("GCC unroll 4") for (int v = 0; v < kWidth; ++v) {
      factors[v] = load<kWhole>(filter + v * kLanes<float>, lanes);
    }
    _Pragma("GCC unroll 16") for (int p = 0; p < kCount; ++p) {
      Vector<float> pixel = pixels[p] - Vector<float>{};
      asm("" : "+v"(pixel));  // keeps it in a register for all factors
      _Pragma("GCC unroll 4") for (int v = 0; v < kWidth; ++v) sums[p][v] += pixel * factors[v];
    }
  }
}

template <int kCount, int kWidth, bool kWhole>
inline void store_tile(const ForwardBlock& b, const Tile& tile,
                       Vector<float> (&sums)[kCount][kWidth]) {
  const Vector<float> zero = {}, bound = b.relu_bound - zero;
  const int lanes = static_cast<int>(tile.filters);
  _Pragma("GCC unroll 4") for (int v = 0; v < kWidth; ++v) {
    const int at = v * kLanes<float>;
    if (tile.bias) {
      const auto bias = load<kWhole>(tile.bias + at, lanes);
      _Pragma("GCC unroll 16") for (int p = 0; p < kCount; ++p) sums[p][v] += bias;
    }
    if (b.relu) {
      _Pragma("GCC unroll 16") for (int p = 0; p < kCount; ++p) {
        sums[p][v] = sums[p][v] <= zero ? zero : sums[p][v];
        sums[p][v] = sums[p][v] > bound ? bound : sums[p][v];
      }
    }
    _Pragma("GCC unroll 16") for (int p = 0; p < kCount; ++p) {
      store<kWhole>(sums[p][v], tile.y + p * tile.y_step + at, lanes);
    }
  }
}

/// Prefetches elements of y that later tiles along a row write. Always inlined: GCC removes calls
/// of functions that only prefetch.
template <int kCount, int kWidth>
__attribute__((always_inline)) inline void prefetch(const Tile& tile) {
  constexpr int kLines = kWidth * kVectorBytes / kLineBytes;
  const float* y = tile.y + kAhead;
  _Pragma("GCC unroll 16") for (int p = 0; p < kCount; ++p, y += tile.y_step) {
    _Pragma("GCC unroll 4") for (int v = 0; v < kLines; ++v) {
      __builtin_prefetch(y + v * kLine<float>, 1);
    }
  }
}

template <int kCount, int kWidth, int kStep, bool kWhole>
void run_tile(const ForwardBlock& b, const Tile& tile) {
  Vector<float> sums[kCount][kWidth] = {};
  prefetch<kCount, kWidth>(tile);
  const float* x = tile.x;
  const float* filter = tile.filter;
  for (long long i = 0; i < tile.row_taps; ++i) {
    for (long long j = 0; j < tile.runs; ++j) {
      add_run<kCount, kWidth, kStep, kWhole>(b, tile, x + j * b.columns.dilation * b.channels,
                                             filter + j * b.columns.tap, sums);
    }
    x += b.rows.dilation * b.columns.size * b.channels;
    filter += b.rows.tap;
  }
  store_tile<kCount, kWidth, kWhole>(b, tile, sums);
}

/// Computes the tile at all filters of the panel.
template <int kCount, int kStep>
void run_filters(const ForwardBlock& b, Tile tile) {
  constexpr int kLength = kLanes<float>;
  const auto advance = [&](int by) {
    tile.filters -= by;
    tile.filter += by;
    tile.y += by;
    if (tile.bias) tile.bias += by;
  };
  for (; tile.filters >= kVectors * kLength; advance(kVectors * kLength)) {
    run_tile<kCount, kVectors, kStep, true>(b, tile);
  }
  if (tile.filters >= kLength) {
    run_tile<kCount, 1, kStep, true>(b, tile);
    advance(kLength);
  }
  if (tile.filters != 0) run_tile<kCount, 1, kStep, false>(b, tile);
}

/// Computes a tile of `count` pixels.
template <int kCount, int kStep>
void run_pixels(const ForwardBlock& b, const Tile& tile, long long count) {
  if constexpr (kCount > 1) {
    if (count < kCount) return run_pixels<kCount - 1, kStep>(b, tile, count);
  }
  run_filters<kCount, kStep>(b, tile);
}

/// Computes `count` neighbouring pixels, in tiles of nearly equal size.
void run_line(const ForwardBlock& b, Tile tile, long long count) {
  const long long tiles = (count + kPixels - 1) / kPixels;
  for (long long t = 0, done = 0; t < tiles; ++t) {
    const long long next = count * (t + 1) / tiles, pixels = next - done;
    if (tile.x_step == 1) {
      run_pixels<kPixels, 1>(b, tile, pixels);
    } else {
      run_pixels<kPixels, 0>(b, tile, pixels);
    }
    tile.x += pixels * tile.x_step;
    tile.y += pixels * tile.y_step;
    done = next;
  }
}

/// The filters of a panel.
struct Panel {
  const float* filter;
  long long first, filters;
};

/// A tile in row `number` of all images that begins at column `pixel`.
Tile tile_at(const ForwardBlock& b, const Panel& panel, long long number, long long pixel) {
  const long long image = number / b.rows.outputs, row = number % b.rows.outputs;
  const Interval rows = taps_at(b.rows, row), columns = taps_at(b.columns, pixel);
  const long long row_taps = rows.end - rows.begin, column_taps = columns.end - columns.begin;
  const long long above = row * b.rows.stride - b.rows.low + rows.begin * b.rows.dilation;
  const long long left =
      pixel * b.columns.stride - b.columns.low + columns.begin * b.columns.dilation;
  const long long at = ((image * b.rows.size + above) * b.columns.size + left) * b.channels;
  const bool is_contiguous = b.columns.dilation == 1;
  return {.x = row_taps > 0 && column_taps > 0 ? b.x + at : b.x,
          .filter = panel.filter + rows.begin * b.rows.tap + columns.begin * b.columns.tap,
          .bias = b.bias ? b.bias + panel.first : nullptr,
          .y = b.y + (number * b.columns.outputs + pixel) * b.y_pixel + panel.first,
          .row_taps = row_taps,
          .runs = is_contiguous ? 1 : column_taps,
          .run = is_contiguous ? column_taps * b.channels : b.channels,
          .x_step = b.columns.stride * b.channels,
          .y_step = b.y_pixel,
          .filters = panel.filters};
}

/// Computes the columns `pixels`, which have taps in the padding, of rows first .. last - 1 of all
/// images. Rows that have all taps are neighbours in tiles along the column.
void run_edge(const ForwardBlock& b, const Panel& panel, long long first, long long last,
              Interval pixels) {
  const Interval inner = inner_outputs(b.rows);
  for (long long number = first; number < last && pixels.begin < pixels.end;) {
    const long long row = number % b.rows.outputs;
    const bool is_inner = row >= inner.begin && row < inner.end;
    const long long count = is_inner ? smaller(inner.end - row, last - number) : 1;
    for (long long pixel = pixels.begin; pixel < pixels.end; ++pixel) {
      Tile tile = tile_at(b, panel, number, pixel);
      tile.x_step = b.rows.stride * b.columns.size * b.channels;
      tile.y_step = b.columns.outputs * b.y_pixel;
      run_line(b, tile, count);
    }
    number += count;
  }
}

/// Computes rows first .. last - 1 of all images at the filters of a panel.
void run_rows(const ForwardBlock& b, const Panel& panel, long long first, long long last) {
  const Interval inner = inner_outputs(b.columns);
  for (long long number = first; number < last && inner.begin < inner.end; ++number) {
    run_line(b, tile_at(b, panel, number, inner.begin), inner.end - inner.begin);
  }
  run_edge(b, panel, first, last, {0, inner.begin});
  run_edge(b, panel, first, last, {inner.end, b.columns.outputs});
}

void run_block(const ForwardBlock& b) {
  const long long panel_elements = b.rows.taps * b.rows.tap;
  for (long long first = b.begin; first < b.end; first += b.group) {
    const long long last = smaller(first + b.group, b.end);
    Panel panel{.filter = b.filter, .first = 0, .filters = 0};
    for (; panel.first < b.filters; panel.first += b.panel_filters) {
      panel.filters = smaller(b.panel_filters, b.filters - panel.first);
      run_rows(b, panel, first, last);
      panel.filter += panel_elements;
    }
  }
}

}  // namespace
}  // namespace kiln::cpu
