// The loops of backward weights for one ISA: the sums of a tile of a few channels and a few vectors
// of filters stay in registers while the loop runs over all pixels. Each
// backward_weights_block_<isa>.cpp includes this header once.
#pragma once

#include "backends/cpu/direct_convolution/backward_weights_block.h"
#include "backends/cpu/gemm/isa_vectors.h"

namespace kiln::cpu {
namespace {

/// Channels and vectors of a tile: 24 sums of 32 registers, or 12 of 16.
constexpr int kTileChannels = 6, kTileVectors = kRegisters / 8;

#define KILN_EACH_SUM                                         \
  _Pragma("GCC unroll 8") for (int r = 0; r < kChannels; ++r) \
      _Pragma("GCC unroll 8") for (int v = 0; v < kVectors; ++v)

template <int kChannels, int kVectors>
void add_outer_products(const PixelRows& p, float* sums) {
  constexpr int kLength = kLanes<float>;
  Vector<float> total[kChannels][kVectors];
  KILN_EACH_SUM total[r][v] = load_unaligned(sums + r * p.filters + v * kLength);
  for (long long row = 0; row < p.rows; ++row) {
    const float* x = p.x + row * p.x_row;
    const float* dy = p.dy + row * p.dy_row;
    for (long long i = 0; i < p.count; ++i, x += p.x_pixel, dy += p.dy_pixel) {
      Vector<float> factors[kVectors];
      _Pragma("GCC unroll 8") for (int v = 0; v < kVectors; ++v) {
        factors[v] = load_unaligned(dy + v * kLength);
      }
      KILN_EACH_SUM total[r][v] += x[r] * factors[v];
    }
  }
  KILN_EACH_SUM store_unaligned<float>(total[r][v], sums + r * p.filters + v * kLength);
}

#undef KILN_EACH_SUM

/// Computes a tile of `channels` channels and `vectors` vectors.
template <int kChannels, int kVectors>
void run_tile(const PixelRows& p, long long channels, long long vectors, float* sums) {
  if constexpr (kChannels > 1) {
    if (channels < kChannels) {
      return run_tile<kChannels - 1, kVectors>(p, channels, vectors, sums);
    }
  }
  if constexpr (kVectors > 1) {
    if (vectors < kVectors) return run_tile<kChannels, kVectors - 1>(p, channels, vectors, sums);
  }
  add_outer_products<kChannels, kVectors>(p, sums);
}

/// `sums` is (channels, filters). Channels are split into tiles of nearly equal height.
void run_block(const PixelRows& pixels, float* sums) {
  constexpr int kLength = kLanes<float>, kColumns = kTileVectors * kLength;
  const long long tiles = (pixels.channels + kTileChannels - 1) / kTileChannels;
  PixelRows tile = pixels;
  for (long long f = 0; f < pixels.filters; f += kColumns) {
    const long long vectors = smaller(kTileVectors, (pixels.filters - f) / kLength);
    tile.dy = pixels.dy + f;
    for (long long t = 0; t < tiles; ++t) {
      const long long c = pixels.channels * t / tiles, next = pixels.channels * (t + 1) / tiles;
      tile.x = pixels.x + c;
      run_tile<kTileChannels, kTileVectors>(tile, next - c, vectors, sums + c * pixels.filters + f);
    }
  }
}

}  // namespace
}  // namespace kiln::cpu
