// The loops of depthwise convolutions for one ISA. Vectors run along the channels; the sums of a
// tile of neighbouring pixels and vectors stay in registers while taps are added. A block of
// columns and channels is computed row after row, so that its rows of x stay in the L1 cache from
// one row of y to the next. Each depthwise_block_<isa>.cpp includes this header once.
#pragma once

#include "backends/cpu/direct_convolution/depthwise_block.h"
#include "backends/cpu/direct_convolution/window_loops.h"

namespace kiln::cpu {
namespace {

/// Sums of a tile: half of the registers.
constexpr int kSums = kRegisters / 2;
constexpr int kLineVectors = kLineBytes / kVectorBytes;
/// Vectors of a tile of that many pixels.
constexpr int vectors_of(int pixels) { return kSums / pixels < 8 ? kSums / pixels : 8; }
/// Channels of a block, and floats of a block's rows of x under the window and of y: two thirds of
/// an L1 cache of 32 KiB. One image of 56 x 56 x 64 takes 0.036 ms, with 8 Ki floats 0.041 (Zen 4).
constexpr long long kChannels = 64, kL1Floats = 5 << 10;
/// The same where x has more channels and a cache line several vectors. Pixels are then so far
/// apart that their lines share few sets of the L1 cache: tiles have whole lines of channels,
/// blocks all channels, in half of an L2 cache of 256 KiB. 14 x 14 x 512 takes 0.085 ms in a
/// network, with blocks of 64 channels 0.098, with tiles of one vector, too, 0.153 (Zen 3).
constexpr long long kL2Floats = 32 << 10;

bool is_wide(const DepthwiseBlock& b) { return kLineVectors > 1 && b.channels > kChannels; }

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
template <int kTaps, int kCount, int kWidth>
inline void add_taps(const DepthwiseBlock& b, const float* x, const float* filter,
                     Vector<float> (&sums)[kCount][kWidth]) {
  constexpr int kLength = kLanes<float>;
  Vector<float> factors[kTaps][kWidth];
  _Pragma("GCC unroll 4") for (int j = 0; j < kTaps; ++j) {
    _Pragma("GCC unroll 8") for (int v = 0; v < kWidth; ++v) {
      factors[j][v] = load_unaligned(filter + j * b.columns.tap + v * kLength);
    }
  }
  _Pragma("GCC unroll 32") for (int q = 0; q < kCount + kTaps - 1; ++q) {
    _Pragma("GCC unroll 8") for (int v = 0; v < kWidth; ++v) {
      auto x_pixel = load_unaligned(x + q * b.channels + v * kLength);
      asm("" : "+v"(x_pixel));  // in a register; otherwise every multiply-add loads it again
      _Pragma("GCC unroll 4") for (int j = 0; j < kTaps; ++j) {
        if (q >= j && q - j < kCount) sums[q - j][v] += x_pixel * factors[j][v];
      }
    }
  }
}

/// sums += `count` taps of a row of the window. `lanes`: of a partial vector.
template <bool kWhole, int kCount, int kWidth>
inline void add_taps(const DepthwiseBlock& b, const float* x, const float* filter, long long count,
                     int lanes, Vector<float> (&sums)[kCount][kWidth]) {
  constexpr int kLength = kLanes<float>;
  const long long step = b.columns.stride * b.channels;
  for (long long j = 0; j < count; ++j) {
    _Pragma("GCC unroll 8") for (int v = 0; v < kWidth; ++v) {
      const auto factor = load<kWhole>(filter + v * kLength, lanes);
      _Pragma("GCC unroll 16") for (int p = 0; p < kCount; ++p) {
        sums[p][v] += load<kWhole>(x + p * step + v * kLength, lanes) * factor;
      }
    }
    x += b.columns.dilation * b.channels;
    filter += b.columns.tap;
  }
}

template <bool kWhole, int kCount, int kWidth>
inline void store_tile(const DepthwiseBlock& b, long long channel, float* y, int lanes,
                       Vector<float> (&sums)[kCount][kWidth]) {
  const Vector<float> zero = {}, bound = b.relu_bound - zero;
  _Pragma("GCC unroll 8") for (int v = 0; v < kWidth; ++v) {
    const int at = v * kLanes<float>;
    if (b.bias) {
      const auto bias = load<kWhole>(b.bias + channel + at, lanes);
      _Pragma("GCC unroll 16") for (int p = 0; p < kCount; ++p) sums[p][v] += bias;
    }
    if (b.relu) {
      _Pragma("GCC unroll 16") for (int p = 0; p < kCount; ++p) {
        sums[p][v] = sums[p][v] <= zero ? zero : sums[p][v];
        sums[p][v] = sums[p][v] > bound ? bound : sums[p][v];
      }
    }
    _Pragma("GCC unroll 16") for (int p = 0; p < kCount; ++p) {
      store<kWhole>(sums[p][v], y + p * b.channels + at, lanes);
    }
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

/// Computes the tile of kCount pixels from `pixel` on and kWidth vectors of channels from `channel`
/// on. kTaps: of add_taps; 0: uses `taps`.
template <int kCount, int kWidth, int kTaps, bool kWhole>
inline void run_tile(const DepthwiseBlock& b, const Row& row, long long pixel, Interval taps,
                     long long channel, int lanes) {
  Vector<float> sums[kCount][kWidth] = {};
  const long long left = pixel * b.columns.stride - b.columns.low + taps.begin * b.columns.dilation;
  const float* x = row.x + left * b.channels + channel;
  const float* filter = row.filter + taps.begin * b.columns.tap + channel;
  float* y = row.y + pixel * b.channels + channel;
  prefetch_next<kCount>(b, x + (row.count - 1) * row.x_tap, y);
  for (long long i = 0; i < row.count; ++i, x += row.x_tap, filter += b.rows.tap) {
    if constexpr (kTaps != 0) {
      add_taps<kTaps>(b, x, filter, sums);
    } else {
      add_taps<kWhole>(b, x, filter, taps.end - taps.begin, lanes, sums);
    }
  }
  store_tile<kWhole>(b, channel, y, lanes, sums);
}

/// Computes the channels from `channel` on, in tiles of kWidth vectors, then of half as many.
template <int kCount, int kTaps, int kWidth>
void run_vectors(const DepthwiseBlock& b, const Row& row, long long pixel, Interval taps,
                 long long channel) {
  constexpr int kLength = kLanes<float>;
  for (; channel + kWidth * kLength <= row.end; channel += kWidth * kLength) {
    run_tile<kCount, kWidth, kTaps, true>(b, row, pixel, taps, channel, kLength);
  }
  if constexpr (kWidth > 1) {
    run_vectors<kCount, kTaps, kWidth / 2>(b, row, pixel, taps, channel);
  } else {
    const int rest = static_cast<int>(row.end - channel);
    if (rest != 0) run_tile<kCount, 1, 0, false>(b, row, pixel, taps, channel, rest);
  }
}

template <int kCount, int kTaps>
void run_channels(const DepthwiseBlock& b, const Row& row, long long pixel, Interval taps) {
  run_vectors<kCount, kTaps, vectors_of(kCount)>(b, row, pixel, taps, row.first);
}

/// Computes `count` pixels without padding, in tiles of kCount and one of the rest.
template <int kCount>
void run_pixels(const DepthwiseBlock& b, const Row& row, long long pixel, long long count) {
  const WindowAxis& c = b.columns;
  // The factors of three taps and a pixel are in registers, too.
  constexpr int kTaps = 3 * vectors_of(kCount) + kSums < kRegisters ? 3 : 0;
  const bool is_plain = kTaps != 0 && c.taps == kTaps && c.stride == 1 && c.dilation == 1;
  for (; count >= kCount; count -= kCount, pixel += kCount) {
    if (is_plain) {
      run_channels<kCount, kTaps>(b, row, pixel, {0, kTaps});
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
  if (pixel < last && is_wide(b)) {
    run_pixels<kSums / 2>(b, row, pixel, last - pixel);
  } else if (pixel < last) {
    run_pixels<kSums>(b, row, pixel, last - pixel);
  }
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
  const long long channels = is_wide(b) ? b.channels : kChannels;
  const long long floats = is_wide(b) ? kL2Floats : kL1Floats;
  const long long fitting = floats / ((b.rows.taps + 1) * smaller(b.channels, channels));
  const long long width = larger(kSums, fitting / kSums * kSums);
  for (long long pixel = 0; pixel < b.columns.outputs; pixel += width) {
    const Interval pixels{pixel, smaller(pixel + width, b.columns.outputs)};
    for (long long channel = 0; channel < b.channels; channel += channels) {
      const long long end = smaller(channel + channels, b.channels);
      for (long long row = b.begin; row < b.end; ++row) {
        run_row(b, row_at(b, row, channel, end), pixels);
      }
    }
  }
}

}  // namespace
}  // namespace kiln::cpu
