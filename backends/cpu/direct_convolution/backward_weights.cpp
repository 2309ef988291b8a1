// A tile of sums (a few channels by 64 filters with AVX-512, 16 with AVX2) stays in registers while
// the loop runs over a block of rows of pixels that fits the L1 cache; the next tiles, then the
// next element of the window reread that block. A part is a range of images with partial sums of
// its own, which finish() adds in order; or, with few images, a range of channels, whose sums are
// rows of the result.
#include "backends/cpu/direct_convolution/backward_weights.h"

#include "backends/cpu/direct_convolution/axis.h"
#include "backends/cpu/direct_convolution/backward_weights_block.h"

#include <algorithm>
#include <cstring>

namespace kiln::cpu {
namespace {

using codegen::Convolution;

constexpr std::int64_t kMaxParts = 8, kPartWork = 1 << 20;
constexpr std::int64_t kMinChannelsOfPart = 12;  // two tiles
/// Size of a block of rows of pixels, or of a part of a long row: at most kL1Floats floats of the
/// output's gradient, which each tile and element of the window rereads, but at least kMinPixels
/// pixels.
constexpr std::int64_t kL1Floats = 7 << 10, kMinPixels = 48;

const BackwardWeightsBlock& loops_of(GemmIsa isa) {
  return isa >= GemmIsa::Avx512 ? kBackwardWeightsBlockAvx512 : kBackwardWeightsBlockAvx2;
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
  BackwardWeights(const Convolution& c, GemmIsa isa)
      : c_(c), rows_(axis_of(c, 1)), columns_(axis_of(c, 0)), run_block_(loops_of(isa).run) {
    filter_floats_ = rows_.window * columns_.window * c.channels * c.filters;
    const std::int64_t work = c.batch * rows_.outputs * columns_.outputs * filter_floats_;
    const std::int64_t wanted = std::clamp(work / kPartWork, std::int64_t{1}, kMaxParts);
    const std::int64_t channel_parts =
        std::clamp(c.channels / kMinChannelsOfPart, std::int64_t{1}, wanted);
    by_channels_ = channel_parts >= c.batch && (c.batch < wanted || c.batch == 1);
    images_ = (c.batch + wanted - 1) / wanted;
    parts_ = by_channels_ ? channel_parts : (c.batch + images_ - 1) / images_;
    block_rows_ = std::max(kL1Floats / (columns_.outputs * c.filters),
                           (kMinPixels + columns_.outputs - 1) / columns_.outputs);
    block_columns_ =
        block_rows_ > 1 ? columns_.outputs : std::max(kL1Floats / c.filters, kMinPixels);
  }

  std::size_t scratch_bytes() const override {
    return by_channels_ ? 0 : static_cast<std::size_t>(parts_ * filter_floats_) * sizeof(float);
  }
  std::size_t parts() const override { return static_cast<std::size_t>(parts_); }
  std::string description() const override { return "native loops"; }
  void start(const float*, void*) const override {}

  void run(std::size_t part_index, const float* x, const float* dy, const void*, const float*,
           float* result, void* scratch) const override {
    const auto part = static_cast<std::int64_t>(part_index);
    if (by_channels_) {
      const Range channels{c_.channels * part / parts_, c_.channels * (part + 1) / parts_};
      return sum_images({0, c_.batch}, channels, x, dy, result);
    }
    const Range images{part * images_, std::min((part + 1) * images_, c_.batch)};
    sum_images(images, {0, c_.channels}, x, dy, sums_of(part, scratch));
  }

  void finish(const float*, const float*, const float*, float* result,
              void* scratch) const override {
    if (by_channels_) return;
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

  /// Computes the sums of `channels` over `images`.
  void sum_images(Range images, Range channels, const float* x, const float* dy,
                  float* sums) const {
    for (std::int64_t element = 0; element < rows_.window * columns_.window; ++element) {
      std::memset(
          sums + (element * c_.channels + channels.begin) * c_.filters, 0,
          static_cast<std::size_t>((channels.end - channels.begin) * c_.filters) * sizeof(float));
    }
    const std::int64_t image = rows_.size * columns_.size * c_.channels;
    const std::int64_t output = rows_.outputs * columns_.outputs * c_.filters;
    for (std::int64_t b = images.begin; b < images.end; ++b) {
      for (std::int64_t row = 0; row < rows_.outputs; row += block_rows_) {
        const Range rows{row, std::min(row + block_rows_, rows_.outputs)};
        for (std::int64_t column = 0; column < columns_.outputs; column += block_columns_) {
          const Range columns{column, std::min(column + block_columns_, columns_.outputs)};
          add_window(rows, columns, channels, x + b * image, dy + b * output, sums);
        }
      }
    }
  }

  /// Adds what a block of the output's gradient contributes to each element of the window.
  void add_window(Range rows, Range columns, Range channels, const float* x, const float* dy,
                  float* sums) const {
    for (std::int64_t i = 0; i < rows_.window; ++i) {
      const std::int64_t above = i * rows_.dilation - rows_.low;
      const Range down = outputs_within(above, rows_.stride, rows_.size, rows);
      for (std::int64_t j = 0; j < columns_.window; ++j) {
        const std::int64_t left = j * columns_.dilation - columns_.low;
        const Range across = outputs_within(left, columns_.stride, columns_.size, columns);
        if (down.begin >= down.end || across.begin >= across.end) continue;
        PixelRows pixels;
        pixels.channels = channels.end - channels.begin;
        pixels.filters = c_.filters;
        pixels.rows = down.end - down.begin;
        pixels.count = across.end - across.begin;
        pixels.x_pixel = columns_.stride * c_.channels;
        pixels.x_row = rows_.stride * columns_.size * c_.channels;
        pixels.dy_pixel = c_.filters;
        pixels.dy_row = columns_.outputs * c_.filters;
        pixels.x = x + (down.begin * rows_.stride + above) * columns_.size * c_.channels +
                   (across.begin * columns_.stride + left) * c_.channels + channels.begin;
        pixels.dy = dy + down.begin * pixels.dy_row + across.begin * c_.filters;
        const std::int64_t element = i * columns_.window + j;
        run_block_(pixels, sums + (element * c_.channels + channels.begin) * c_.filters);
      }
    }
  }

  Convolution c_;
  Axis rows_, columns_;  // the last axis is the row of pixels; the one before it, the rows
  RunBackwardWeightsBlock run_block_;
  bool by_channels_ = false;
  std::int64_t filter_floats_ = 0, images_ = 0, parts_ = 0, block_rows_ = 0, block_columns_ = 0;
};

}  // namespace

std::shared_ptr<const codegen::PreparedConvolution> make_backward_weights(const Convolution& c,
                                                                          GemmIsa isa) {
  return std::make_shared<BackwardWeights>(c, isa);
}

}  // namespace kiln::cpu
