// A tile of sums (a few channels by up to 64 filters) stays in registers while the loop runs over a
// block of rows of pixels that fits the L1 cache; the next tiles, then the next element of the
// window reread that block. Each part of the batch has its own sums; finish() adds them in order.
#include "backends/cpu/direct_convolution/backward_weights.h"

#include "backends/cpu/direct_convolution/axis.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

namespace kiln::cpu {
namespace {

using codegen::Convolution;
using codegen::ConvRole;

constexpr int kLanes = 16, kMaxVectors = 4, kMaxRows = 6;
constexpr std::int64_t kMinChannels = 8, kMaxParts = 8, kPartWork = 1 << 20;
/// Size of a block of rows of pixels: at most kL1Floats floats of the output's gradient, which each
/// tile and element of the window rereads, but at least kMinPixels pixels.
constexpr std::int64_t kL1Floats = 7 << 10, kMinPixels = 48;

/// Rows of pixels under one element of the window; strides in elements.
struct Pixels {
  const float* x;
  const float* dy;
  std::int64_t rows, count;  // pixels in a row
  std::int64_t x_row, x_pixel, dy_row, dy_pixel;
};

#define KILN_AVX512 __attribute__((target("avx512f")))
#define KILN_EACH_SUM                                     \
  _Pragma("GCC unroll 8") for (int r = 0; r < kRows; ++r) \
      _Pragma("GCC unroll 8") for (int v = 0; v < kVectors; ++v)

/// sums[channel][filter] += the sum of x[channel] * dy[filter] over the pixels.
template <int kRows, int kVectors>
KILN_AVX512 void add_outer_products(const Pixels& p, float* sums, std::int64_t stride) {
  __m512 total[kRows][kVectors];
  KILN_EACH_SUM total[r][v] = _mm512_loadu_ps(sums + r * stride + v * kLanes);
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const float* x = p.x + row * p.x_row;
    const float* dy = p.dy + row * p.dy_row;
    for (std::int64_t i = 0; i < p.count; ++i, x += p.x_pixel, dy += p.dy_pixel) {
      __m512 factors[kVectors];
      _Pragma("GCC unroll 8") for (int v = 0; v < kVectors; ++v) {
        factors[v] = _mm512_loadu_ps(dy + v * kLanes);
      }
      KILN_EACH_SUM {
        total[r][v] = _mm512_fmadd_ps(_mm512_set1_ps(x[r]), factors[v], total[r][v]);
      }
    }
  }
  KILN_EACH_SUM _mm512_storeu_ps(sums + r * stride + v * kLanes, total[r][v]);
}

#undef KILN_EACH_SUM

using Add = void (*)(const Pixels& pixels, float* sums, std::int64_t stride);

template <int kVectors>
Add add_of_rows(int rows) {
  static constexpr Add kRows[kMaxRows] = {
      add_outer_products<1, kVectors>, add_outer_products<2, kVectors>,
      add_outer_products<3, kVectors>, add_outer_products<4, kVectors>,
      add_outer_products<5, kVectors>, add_outer_products<6, kVectors>};
  return kRows[rows - 1];
}

Add add_of(int rows, int vectors) {
  switch (vectors) {
    case 1: return add_of_rows<1>(rows);
    case 2: return add_of_rows<2>(rows);
    case 3: return add_of_rows<3>(rows);
    default: return add_of_rows<kMaxVectors>(rows);
  }
}

/// Adds the products of all channels and filters; `sums` is (channels, filters).
void add_tiles(Pixels pixels, std::int64_t channels, std::int64_t filters, float* sums) {
  const std::int64_t tiles = (channels + kMaxRows - 1) / kMaxRows;
  const float *x = pixels.x, *dy = pixels.dy;
  for (std::int64_t f = 0; f < filters; f += kMaxVectors * kLanes) {
    const auto vectors =
        static_cast<int>(std::min<std::int64_t>(kMaxVectors, (filters - f) / kLanes));
    pixels.dy = dy + f;
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::int64_t c = channels * t / tiles, next = channels * (t + 1) / tiles;
      pixels.x = x + c;
      add_of(static_cast<int>(next - c), vectors)(pixels, sums + c * filters + f, filters);
    }
  }
}

/// Output positions along an axis at which the element of the window at `offset` is not in the
/// padding.
struct Range {
  std::int64_t begin, end;
};
Range outputs_within(std::int64_t offset, std::int64_t stride, std::int64_t size, Range outputs) {
  const std::int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const std::int64_t last = size - 1 - offset < 0 ? -1 : (size - 1 - offset) / stride;
  return {std::max(outputs.begin, first), std::min(outputs.end, last + 1)};
}

class BackwardWeights final : public codegen::PreparedConvolution {
 public:
  explicit BackwardWeights(const Convolution& c)
      : c_(c), rows_(axis_of(c, 1)), columns_(axis_of(c, 0)) {
    filter_floats_ = rows_.window * columns_.window * c.channels * c.filters;
    const std::int64_t work = c.batch * rows_.outputs * columns_.outputs * filter_floats_;
    const std::int64_t parts =
        std::min(c.batch, std::clamp(work / kPartWork, std::int64_t{1}, kMaxParts));
    images_ = (c.batch + parts - 1) / parts;
    parts_ = (c.batch + images_ - 1) / images_;
    block_rows_ = std::max(kL1Floats / (columns_.outputs * c.filters),
                           (kMinPixels + columns_.outputs - 1) / columns_.outputs);
    block_rows_ = std::max(block_rows_, std::int64_t{1});
  }

  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(parts_ * filter_floats_) * sizeof(float);
  }
  std::size_t parts() const override { return static_cast<std::size_t>(parts_); }
  std::string description() const override { return "native loops"; }
  void start(const float*, void*) const override {}

  void run(std::size_t part, const float* x, const float* dy, const void*, const float*, float*,
           void* scratch) const override {
    float* sums = sums_of(static_cast<std::int64_t>(part), scratch);
    std::memset(sums, 0, static_cast<std::size_t>(filter_floats_) * sizeof(float));
    const std::int64_t first = static_cast<std::int64_t>(part) * images_;
    const std::int64_t image = rows_.size * columns_.size * c_.channels;
    const std::int64_t output = rows_.outputs * columns_.outputs * c_.filters;
    for (std::int64_t b = first; b < std::min(first + images_, c_.batch); ++b) {
      for (std::int64_t row = 0; row < rows_.outputs; row += block_rows_) {
        const Range rows{row, std::min(row + block_rows_, rows_.outputs)};
        add_window(rows, x + b * image, dy + b * output, sums);
      }
    }
  }

  void finish(const float*, const float*, const float*, float* result,
              void* scratch) const override {
    std::memcpy(result, sums_of(0, scratch),
                static_cast<std::size_t>(filter_floats_) * sizeof(float));
    for (std::int64_t part = 1; part < parts_; ++part) {
      const float* more = sums_of(part, scratch);
      for (std::int64_t i = 0; i < filter_floats_; ++i) result[i] += more[i];
    }
  }

 private:
  float* sums_of(std::int64_t part, void* scratch) const {
    return static_cast<float*>(scratch) + part * filter_floats_;
  }

  /// Adds what rows of the output's gradient contribute to each element of the window.
  void add_window(Range rows, const float* x, const float* dy, float* sums) const {
    for (std::int64_t i = 0; i < rows_.window; ++i) {
      const std::int64_t above = i * rows_.dilation - rows_.low;
      const Range down = outputs_within(above, rows_.stride, rows_.size, rows);
      for (std::int64_t j = 0; j < columns_.window; ++j) {
        const std::int64_t left = j * columns_.dilation - columns_.low;
        const Range across =
            outputs_within(left, columns_.stride, columns_.size, {0, columns_.outputs});
        if (down.begin >= down.end || across.begin >= across.end) continue;
        Pixels pixels;
        pixels.rows = down.end - down.begin;
        pixels.count = across.end - across.begin;
        pixels.x_pixel = columns_.stride * c_.channels;
        pixels.x_row = rows_.stride * columns_.size * c_.channels;
        pixels.dy_pixel = c_.filters;
        pixels.dy_row = columns_.outputs * c_.filters;
        pixels.x = x + (down.begin * rows_.stride + above) * columns_.size * c_.channels +
                   (across.begin * columns_.stride + left) * c_.channels;
        pixels.dy = dy + down.begin * pixels.dy_row + across.begin * c_.filters;
        const std::int64_t element = i * columns_.window + j;
        add_tiles(pixels, c_.channels, c_.filters, sums + element * c_.channels * c_.filters);
      }
    }
  }

  Convolution c_;
  Axis rows_, columns_;  // the last axis is the row of pixels; the one before it, the rows
  std::int64_t filter_floats_ = 0, images_ = 0, parts_ = 0, block_rows_ = 0;
};

}  // namespace

bool takes_backward_weights(const Convolution& c) {
  return c.role == ConvRole::Filter && c.groups == 1 && c.sizes.size() <= 2 &&
         c.channels >= kMinChannels && c.filters % kLanes == 0;
}

std::shared_ptr<const codegen::PreparedConvolution> make_backward_weights(const Convolution& c) {
  return std::make_shared<BackwardWeights>(c);
}

}  // namespace kiln::cpu
