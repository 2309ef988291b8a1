// The loops of depthwise convolutions for one ISA. Vectors run along the channels; the sums of a
// tile of neighbouring pixels stay in registers while taps are added. A block of columns and
// channels is computed row after row, so that its rows of x stay in the L1 cache from one row of y
// to the next. Each depthwise_block_<isa>.cpp includes this header once.
#pragma once

#include "backends/cpu/direct_convolution/depthwise_block.h"
#include "backends/cpu/direct_convolution/window_loops.h"

namespace kiln::cpu {
namespace {

/// Pixels of a tile: its sums take half of the registers.
constexpr int kPixels = kRegisters / 2;
/// Channels of a block, and floats of a block's rows of x under the window and of y: two thirds of
/// an L1 cache of 32 KiB. One image of 56 x 56 x 64 takes 0.036 ms, with 8 Ki floats 0.041 (Zen 4).
constexpr long long kChannels = 64, kL1Floats = 5 << 10;

/// The operands of one row of y without the taps in the padding, at channels first .. end - 1.
struct Row {
  const float* x;  // of the first such tap
  const float* filter;
  float* y;
  long long count;  // number of such taps
  long long x_tap;  // stride from tap to tap
  long long first, end;
};

/// sums += one row of the window, with kTaps taps, a stride and a dilation of 1: each pixel is
/// loaded once for all taps.
template <int kCount, int kTaps>
inline void add_taps(const DepthwiseBlock& b, const float* x, const float* filter,
                     Vector<float> (&sums)[kCount]) {
  Vector<float> factors[kTaps];
  _Pragma("GCC unroll 4") for (int j = 0; j < kTaps; ++j) {
    factors[j] = load_unaligned(filter + j * b.columns.tap);
  }
  _Pragma("GCC unroll 32") for (int q = 0; q < kCount + kTaps - 1; ++q) {
    auto x_pixel = load_unaligned(x + q * b.channels);
    asm("" : "+v"(x_pixel));  // keeps it in a register; otherwise every multiply-add loads it again
    _Pragma("GCC unroll 4") for (int j = 0; j < kTaps; ++j) {
      if (q >= j && q - j < kCount) sums[q - j] += x_pixel * factors[j];
    }
  }
}

/// sums += `count` taps of a row of the window.
template <int kCount, bool kWhole>
inline void add_taps(const DepthwiseBlock& b, const float* x, const float* filter, long long count,
                     int lanes, Vector<float> (&sums)[kCount]) {
  const long long step = b.columns.stride * b.channels;
  for (long long j = 0; j < count; ++j) {
    const auto factor = load<kWhole>(filter, lanes);
    _Pragma("GCC unroll 16") for (int p = 0; p < kCount; ++p) {
      sums[p] += load<kWhole>(x + p * step, lanes) * factor;
    }
    x += b.columns.dilation * b.channels;
    filter += b.columns.tap;
  }
}

template <int kCount, bool kWhole>
inline void store_tile(const DepthwiseBlock& b, long long channel, float* y, int lanes,
                       Vector<float> (&sums)[kCount]) {
  const Vector<float> zero = {};
  if (b.bias) {
    const auto bias = load<kWhole>(b.bias + channel, lanes);
    _Pragma("GCC unroll 16") for (int p = 0; p < kCount; ++p) sums[p] += bias;
  }
  if (b.relu) {
    const Vector<float> bound = b.relu_bound - zero;
    _Pragma("GCC unroll 16") for (int p = 0; p < kCount; ++p) {
      sums[p] = sums[p] <= zero ? zero : sums[p];
      sums[p] = sums[p] > bound ? bound : sums[p];
    }
  }
  _Pragma("GCC unroll 16") for (int p = 0; p < kCount; ++p, y += b.channels) {
    store<kWhole>(sums[p], y, lanes);
  }
}

/// Prefetches the pixels that the next row of y reads for the first time (with the two between
/// tiles that a window of 3 reads) and those that it writes. `x`: in the last row under the window.
/// Always inlined: GCC removes calls of functions that only prefetch.
template <int kCount>
__attribute__((always_inline)) inline void prefetch_next(const DepthwiseBlock& b, const float* x,
                                                         const float* y) {
  constexpr int kBetween = 2;
  const long long step = b.columns.stride * b.channels;
  for (long long row = 0; row < b.rows.stride; ++row) {
    x += b.columns.size * b.channels;
    _Pragma("GCC unroll 18") for (int p = 0; p < kCount + kBetween; ++p) {
      __builtin_prefetch(x + p * step);
    }
  }
  y += b.columns.outputs * b.channels;
  _Pragma("GCC unroll 16") for (int p = 0; p < kCount; ++p) {
    __builtin_prefetch(y + p * b.channels, 1);
  }
}

/// Computes the tile of pixels from `pixel` on, channels from `channel` on. kTaps: of add_taps; 0:
/// uses `taps`.
template <int kCount, int kTaps, bool kWhole>
inline void run_tile(const DepthwiseBlock& b, const Row& row, long long pixel, Interval taps,
                     long long channel, int lanes) {
  Vector<float> sums[kCount] = {};
  const long long left = pixel * b.columns.stride - b.columns.low + taps.begin * b.columns.dilation;
  const float* x = row.x + left * b.channels + channel;
  const float* filter = row.filter + taps.begin * b.columns.tap + channel;
  float* y = row.y + pixel * b.channels + channel;
  prefetch_next<kCount>(b, x + (row.count - 1) * row.x_tap, y);
  for (long long i = 0; i < row.count; ++i, x += row.x_tap, filter += b.rows.tap) {
    if constexpr (kTaps != 0) {
      add_taps<kCount, kTaps>(b, x, filter, sums);
    } else {
      add_taps<kCount, kWhole>(b, x, filter, taps.end - taps.begin, lanes, sums);
    }
  }
  store_tile<kCount, kWhole>(b, channel, y, lanes, sums);
}

template <int kCount, int kTaps>
void run_channels(const DepthwiseBlock& b, const Row& row, long long pixel, Interval taps) {
  constexpr int kWidth = kLanes<float>;
  long long channel = row.first;
  for (; channel + kWidth <= row.end; channel += kWidth) {
    run_tile<kCount, kTaps, true>(b, row, pixel, taps, channel, kWidth);
  }
  const int rest = static_cast<int>(row.end - channel);
  if (rest != 0) run_tile<kCount, 0, false>(b, row, pixel, taps, channel, rest);
}

/// Computes `count` pixels without padding, in tiles of kCount and one of the rest.
template <int kCount>
void run_pixels(const DepthwiseBlock& b, const Row& row, long long pixel, long long count) {
  const WindowAxis& c = b.columns;
  const bool is_plain = c.taps == 3 && c.stride == 1 && c.dilation == 1;
  for (; count >= kCount; count -= kCount, pixel += kCount) {
    if (is_plain) {
      run_channels<kCount, 3>(b, row, pixel, {0, 3});
    } else {
      run_channels<kCount, 0>(b, row, pixel, {0, c.taps});
    }
  }
  if constexpr (kCount > 1) {
    if (count > 0) run_pixels<kCount - 1>(b, row, pixel, count);
  }
}

void run_row(const DepthwiseBlock& b, const Row& row, Interval pixels) {
  const Interval inner = inner_outputs(b.columns);
  long long pixel = pixels.begin;
  for (; pixel < smaller(inner.begin, pixels.end); ++pixel) {
    run_channels<1, 0>(b, row, pixel, taps_at(b.columns, pixel));
  }
  const long long last = smaller(inner.end, pixels.end);
  if (pixel < last) run_pixels<kPixels>(b, row, pixel, last - pixel);
  pixel = larger(pixel, last);
  for (; pixel < pixels.end; ++pixel) {
    run_channels<1, 0>(b, row, pixel, taps_at(b.columns, pixel));
  }
}

Row row_at(const DepthwiseBlock& b, long long number, long long first, long long end) {
  const Interval taps = taps_at(b.rows, number);
  const long long x_row = b.columns.size * b.channels;
  const long long above = number * b.rows.stride - b.rows.low + taps.begin * b.rows.dilation;
  Row row{.x = b.x,
          .filter = b.filter + taps.begin * b.rows.tap,
          .y = b.y + number * b.columns.outputs * b.channels,
          .count = taps.end - taps.begin,
          .x_tap = b.rows.dilation * x_row,
          .first = first,
          .end = end};
  if (row.count > 0) row.x += above * x_row;
  return row;
}

void run_block(const DepthwiseBlock& b) {
  const long long fitting = kL1Floats / ((b.rows.taps + 1) * smaller(b.channels, kChannels));
  const long long width = larger(kPixels, fitting / kPixels * kPixels);
  for (long long pixel = 0; pixel < b.columns.outputs; pixel += width) {
    const Interval pixels{pixel, smaller(pixel + width, b.columns.outputs)};
    for (long long channel = 0; channel < b.channels; channel += kChannels) {
      const long long end = smaller(channel + kChannels, b.channels);
      for (long long row = b.begin; row < b.end; ++row) {
        run_row(b, row_at(b, row, channel, end), pixels);
      }
    }
  }
}

}  // namespace
}  // namespace kiln::cpu
