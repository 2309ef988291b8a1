// The loops of one ISA level: vectors run along the channels, and the sums of some neighbouring
// pixels stay in registers while the window's taps are added. Rows are computed a few columns and
// channels at a time, whose rows of x stay in the first cache from one row of y to the next. Each
// depthwise_block_*.cpp includes this once.
#pragma once

#include "backends/cpu/direct_convolution/depthwise_block.h"
#include "backends/cpu/tiled/level_vectors.h"

namespace kiln::cpu {
namespace {

/// Pixels of a tile: a sum for every second register.
constexpr int kPixels = kRegisters / 2;
/// Channels that are computed together, and floats of all rows under the window and of the result:
/// two thirds of a first cache of 48 KiB.
constexpr long long kChannels = 64, kNearFloats = 8 << 10;

/// Taps begin .. end - 1 of an axis of the window.
struct Taps {
  long long begin, end;
};

/// The taps of a row of y that are not in the padding, at channels first .. end - 1.
struct Row {
  const float* x;  // of the first one of them
  const float* filter;
  float* y;
  long long count;   // of such taps
  long long x_tap;   // from tap to tap
  long long first, end;
};

template <bool kWhole>
inline Vector<float> load(const float* from, int lanes) {
  if constexpr (kWhole) return load_unaligned(from);
  return load_some(from, lanes);
}

template <bool kWhole>
inline void store(const Vector<float>& from, float* to, int lanes) {
  if constexpr (kWhole) return store_unaligned<float>(from, to);
  store_some<float>(from, to, lanes);
}

/// sums += a row of the window, of kTaps taps at a stride and a dilation of 1.
template <int kCount, int kTaps>
inline void add_taps(const DepthwiseBlock& b, const float* x, const float* filter,
                     Vector<float> (&sums)[kCount]) {
  Vector<float> factors[kTaps];
  _Pragma("GCC unroll 4") for (int j = 0; j < kTaps; ++j) {
    factors[j] = load_unaligned(filter + j * b.columns.tap);
  }
  _Pragma("GCC unroll 32") for (int q = 0; q < kCount + kTaps - 1; ++q) {
    auto pixel = load_unaligned(x + q * b.channels);
    asm("" : "+v"(pixel));  // in a register: else every multiply-add loads it again
    _Pragma("GCC unroll 4") for (int j = 0; j < kTaps; ++j) {
      if (q >= j && q - j < kCount) sums[q - j] += pixel * factors[j];
    }
  }
}

/// sums += those taps of a row of the window.
template <int kCount, bool kWhole>
inline void add_taps(const DepthwiseBlock& b, const float* x, const float* filter,
                     long long count, int lanes, Vector<float> (&sums)[kCount]) {
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
    _Pragma("GCC unroll 16") for (int p = 0; p < kCount; ++p) {
      sums[p] = sums[p] <= zero ? zero : sums[p];
    }
  }
  _Pragma("GCC unroll 16") for (int p = 0; p < kCount; ++p, y += b.channels) {
    store<kWhole>(sums[p], y, lanes);
  }
}

/// Prefetches the pixels that the next row of y reads for the first time, with those between tiles
/// that a window of 3 has, and those that it writes. `x`: of the last row under the window. Inlined
/// always: GCC leaves out calls of functions that only prefetch.
template <int kCount>
__attribute__((always_inline)) inline void fetch_next(const DepthwiseBlock& b, const float* x,
                                                      const float* y) {
  constexpr int kBetween = 2;
  const long long step = b.columns.stride * b.channels;
  for (long long row = 0; row < b.rows.stride; ++row) {
    x += b.columns.size * b.channels;
    _Pragma("GCC unroll 18") for (int p = 0; p < kCount + kBetween; ++p) {
      __builtin_prefetch(x + p * step);
    }
  }
  y += b.columns.places * b.channels;
  _Pragma("GCC unroll 16") for (int p = 0; p < kCount; ++p) {
    __builtin_prefetch(y + p * b.channels, 1);
  }
}

/// The pixels from `place` on, in the channels from `channel` on. kTaps: of add_taps; 0: `taps`.
template <int kCount, int kTaps, bool kWhole>
inline void run_tile(const DepthwiseBlock& b, const Row& row, long long place, Taps taps,
                     long long channel, int lanes) {
  Vector<float> sums[kCount] = {};
  const long long left = place * b.columns.stride - b.columns.low + taps.begin * b.columns.dilation;
  const float* x = row.x + left * b.channels + channel;
  const float* filter = row.filter + taps.begin * b.columns.tap + channel;
  float* y = row.y + place * b.channels + channel;
  fetch_next<kCount>(b, x + (row.count - 1) * row.x_tap, y);
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
void run_channels(const DepthwiseBlock& b, const Row& row, long long place, Taps taps) {
  constexpr int kWidth = kLanes<float>;
  long long channel = row.first;
  for (; channel + kWidth <= row.end; channel += kWidth) {
    run_tile<kCount, kTaps, true>(b, row, place, taps, channel, kWidth);
  }
  const int rest = static_cast<int>(row.end - channel);
  if (rest != 0) run_tile<kCount, 0, false>(b, row, place, taps, channel, rest);
}

/// `count` pixels, in tiles of kCount and one of the rest; all taps are inside.
template <int kCount>
void run_pixels(const DepthwiseBlock& b, const Row& row, long long place, long long count) {
  const DepthwiseAxis& c = b.columns;
  const bool is_plain = c.taps == 3 && c.stride == 1 && c.dilation == 1;
  for (; count >= kCount; count -= kCount, place += kCount) {
    if (is_plain) {
      run_channels<kCount, 3>(b, row, place, {0, 3});
    } else {
      run_channels<kCount, 0>(b, row, place, {0, c.taps});
    }
  }
  if constexpr (kCount > 1) {
    if (count > 0) run_pixels<kCount - 1>(b, row, place, count);
  }
}

inline long long ceil_of(long long numerator, long long denominator) {
  return numerator <= 0 ? 0 : (numerator + denominator - 1) / denominator;
}

inline long long larger(long long a, long long b) { return a < b ? b : a; }

/// The taps of a place that are not in the padding.
Taps taps_at(const DepthwiseAxis& axis, long long place) {
  const long long first = place * axis.stride - axis.low;
  const long long begin = smaller(axis.taps, ceil_of(-first, axis.dilation));
  return {begin, larger(begin, smaller(axis.taps, ceil_of(axis.size - first, axis.dilation)))};
}

/// Places with all taps outside of the padding.
Taps inner_places(const DepthwiseAxis& axis) {
  const long long reach = (axis.taps - 1) * axis.dilation;
  const long long first = smaller(axis.places, ceil_of(axis.low, axis.stride));
  const long long last = ceil_of(axis.size - reach + axis.low, axis.stride);
  return {first, larger(first, smaller(axis.places, last))};
}

void run_row(const DepthwiseBlock& b, const Row& row, Taps places) {
  const Taps inner = inner_places(b.columns);
  long long place = places.begin;
  for (; place < smaller(inner.begin, places.end); ++place) {
    run_channels<1, 0>(b, row, place, taps_at(b.columns, place));
  }
  const long long last = smaller(inner.end, places.end);
  if (place < last) run_pixels<kPixels>(b, row, place, last - place);
  place = larger(place, last);
  for (; place < places.end; ++place) {
    run_channels<1, 0>(b, row, place, taps_at(b.columns, place));
  }
}

Row row_at(const DepthwiseBlock& b, long long number, long long first, long long end) {
  const Taps taps = taps_at(b.rows, number);
  const long long x_row = b.columns.size * b.channels;
  const long long above = number * b.rows.stride - b.rows.low + taps.begin * b.rows.dilation;
  Row row{b.x, b.filter + taps.begin * b.rows.tap, b.y + number * b.columns.places * b.channels,
          taps.end - taps.begin, b.rows.dilation * x_row, first, end};
  if (row.count > 0) row.x += above * x_row;
  return row;
}

void run_block(const DepthwiseBlock& b) {
  const long long near = kNearFloats / ((b.rows.taps + 1) * smaller(b.channels, kChannels));
  const long long width = larger(kPixels, near / kPixels * kPixels);
  for (long long place = 0; place < b.columns.places; place += width) {
    const Taps places{place, smaller(place + width, b.columns.places)};
    for (long long channel = 0; channel < b.channels; channel += kChannels) {
      const long long end = smaller(channel + kChannels, b.channels);
      for (long long row = b.begin; row < b.end; ++row) {
        run_row(b, row_at(b, row, channel, end), places);
      }
    }
  }
}

}  // namespace
}  // namespace kiln::cpu
