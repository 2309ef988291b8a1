// Computes convolutions by plain loops: slow, for shapes that oneDNN rejects and at process exit.
#include "backends/cpu/onednn/convolutions.h"

namespace kiln::cpu {
namespace {

using codegen::Convolution;
using codegen::ConvRole;
using codegen::PreparedConvolution;
using codegen::product;

class LoopConvolution final : public PreparedConvolution {
 public:
  explicit LoopConvolution(const Convolution& c) : c_(c) {}
  std::size_t scratch_bytes() const override { return 0; }
  std::size_t parts() const override { return 1; }
  std::string description() const override { return "plain loops"; }
  void start(const float*, void*) const override {}
  void finish(const float*, const float*, const float*, float*, void*) const override {}

  void run(std::size_t, const float* first, const float* second, const void*, const float* bias,
           float* result, void*) const override {
    const float* input = first;
    const float* filter = c_.role == ConvRole::Output ? second : first;
    const float* output = second;
    std::int64_t count = c_.batch * product(c_.sizes) * c_.groups * c_.channels;
    if (c_.role == ConvRole::Output) {
      count = c_.batch * product(c_.output_sizes) * c_.groups * c_.filters;
    }
    if (c_.role == ConvRole::Filter) {
      count = product(c_.windows) * c_.channels * c_.groups * c_.filters;
    }
    const std::int64_t filters = c_.groups * c_.filters;
    for (std::int64_t i = 0; i < count; ++i) result[i] = c_.bias ? bias[i % filters] : 0.0f;
    for (std::int64_t b = 0; b < c_.batch; ++b) {
      for (std::int64_t p = 0; p < product(c_.output_sizes); ++p) {
        for (std::int64_t w = 0; w < product(c_.windows); ++w) {
          const std::int64_t at = input_pixel(p, w);
          if (at >= 0)
            add_pixel(b * product(c_.sizes) + at, w, b * product(c_.output_sizes) + p, input,
                      filter, output, result);
        }
      }
    }
    for (std::int64_t i = 0; c_.relu && i < count; ++i) {
      if (result[i] <= 0) result[i] = 0;
      if (result[i] > c_.relu_bound) result[i] = c_.relu_bound;
    }
  }

 private:
  /// Returns the input pixel under element w of the window at output pixel p; -1 in the padding.
  std::int64_t input_pixel(std::int64_t p, std::int64_t w) const {
    std::int64_t element = 0, stride = 1;
    for (std::size_t i = c_.sizes.size(); i-- > 0;) {
      const std::int64_t at =
          p % c_.output_sizes[i] * c_.strides[i] + w % c_.windows[i] * c_.dilations[i] - c_.low[i];
      if (at < 0 || at >= c_.sizes[i]) return -1;
      element += at * stride;
      stride *= c_.sizes[i];
      p /= c_.output_sizes[i];
      w /= c_.windows[i];
    }
    return element;
  }

  /// Adds the products of one input pixel, one element of the window and one output pixel.
  void add_pixel(std::int64_t at, std::int64_t w, std::int64_t to, const float* input,
                 const float* filter, const float* output, float* result) const {
    const std::int64_t filters = c_.groups * c_.filters;
    for (std::int64_t o = 0; o < filters; ++o) {
      for (std::int64_t c = 0; c < c_.channels; ++c) {
        const std::int64_t i = at * c_.groups * c_.channels + o / c_.filters * c_.channels + c;
        const std::int64_t k = (w * c_.channels + c) * filters + o, y = to * filters + o;
        if (c_.role == ConvRole::Output) result[y] += input[i] * filter[k];
        if (c_.role == ConvRole::Input) result[i] += filter[k] * output[y];
        if (c_.role == ConvRole::Filter) result[k] += input[i] * output[y];
      }
    }
  }

  Convolution c_;
};

}  // namespace

std::shared_ptr<const PreparedConvolution> make_loop_convolution(const Convolution& convolution) {
  return std::make_shared<LoopConvolution>(convolution);
}

}  // namespace kiln::cpu
