// The turned kernel is what is packed; where the library wants it in a layout of its own, it is
// turned first, then packed.
#include "backends/cpu/onednn/turned_convolution.h"

#include "backends/cpu/onednn/convolutions.h"
#include "backends/cpu/onednn/ending.h"

#include <immintrin.h>

#include <algorithm>
#include <utility>

namespace kiln::cpu {
namespace {

using codegen::Convolution;
using codegen::ConvRole;
using codegen::PreparedConvolution;

std::int64_t elements(const std::vector<std::int64_t>& sizes) {
  std::int64_t result = 1;
  for (const std::int64_t size : sizes) result *= size;
  return result;
}

/// rows x columns to columns x rows, by blocks of four.
void transpose(const float* from, float* to, std::int64_t rows, std::int64_t columns) {
  std::int64_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    std::int64_t j = 0;
    for (; j + 4 <= columns; j += 4) {
      const float* block = from + i * columns + j;
      __m128 a = _mm_loadu_ps(block), b = _mm_loadu_ps(block + columns);
      __m128 c = _mm_loadu_ps(block + 2 * columns), d = _mm_loadu_ps(block + 3 * columns);
      _MM_TRANSPOSE4_PS(a, b, c, d);
      float* place = to + j * rows + i;
      _mm_storeu_ps(place, a);
      _mm_storeu_ps(place + rows, b);
      _mm_storeu_ps(place + 2 * rows, c);
      _mm_storeu_ps(place + 3 * rows, d);
    }
    for (; j < columns; ++j) {
      for (std::int64_t k = i; k < i + 4; ++k) to[j * rows + k] = from[k * columns + j];
    }
  }
  for (; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
  }
}

class TurnedConvolution final : public PreparedConvolution {
 public:
  TurnedConvolution(const Convolution& c, bool packed,
                    std::shared_ptr<const PreparedConvolution> forward)
      : c_(c), packed_(packed), window_(elements(c.windows)), forward_(std::move(forward)) {
    const auto bytes = static_cast<std::size_t>(window_ * c.channels * c.filters) * sizeof(float);
    turned_bytes_ = (bytes + 63) / 64 * 64;
  }

  std::size_t packed_bytes() const override {
    return packed_ ? std::max(forward_->packed_bytes(), turned_bytes_) : 0;
  }
  std::size_t scratch_bytes() const override { return turned_bytes_ + forward_->scratch_bytes(); }
  std::size_t parts() const override { return forward_->parts(); }
  std::string description() const override {
    const std::string whole = forward_->description();
    return whole.substr(0, whole.find(',')) + " forward, " +
           (packed_ ? "turned kernel packed before" : "turning and packing the kernel");
  }

  void pack(const void* filter, void* packed) const override {
    const auto* kernel = static_cast<const float*>(filter);
    if (forward_->packed_bytes() == 0) return turn(kernel, static_cast<float*>(packed));
    std::vector<float> own(turned_bytes_ / sizeof(float));
    turn(kernel, own.data());
    forward_->pack(own.data(), packed);
  }

  void start(const float* kernel, void* scratch) const override {
    turn(kernel, static_cast<float*>(scratch));
    forward_->start(static_cast<float*>(scratch), behind(scratch));
  }

  void run(std::size_t part, const float*, const float* dy, const void* packed, const float*,
           float* result, void* scratch) const override {
    const bool turned_alone = packed && forward_->packed_bytes() == 0;
    const void* kernel = turned_alone ? packed : scratch;
    forward_->run(part, dy, static_cast<const float*>(kernel), turned_alone ? nullptr : packed,
                  nullptr, result, behind(scratch));
  }

  /// With the library there is nothing left to do.
  void finish(const float* kernel, const float* dy, const float*, float* result,
              void*) const override {
    const LibraryUse library;
    if (library) return;
    make_loop_convolution(c_)->run(0, kernel, dy, nullptr, nullptr, result, nullptr);
  }

 private:
  void turn(const float* kernel, float* to) const {
    const std::int64_t matrix = c_.channels * c_.filters;
    for (std::int64_t w = 0; w < window_; ++w) {
      transpose(kernel + w * matrix, to + (window_ - 1 - w) * matrix, c_.channels, c_.filters);
    }
  }
  void* behind(void* scratch) const { return static_cast<std::byte*>(scratch) + turned_bytes_; }

  Convolution c_;
  bool packed_;
  std::int64_t window_;
  std::shared_ptr<const PreparedConvolution> forward_;
  std::size_t turned_bytes_ = 0;
};

}  // namespace

std::optional<Convolution> turned(const Convolution& c) {
  if (c.role != ConvRole::Input || c.groups != 1) return std::nullopt;
  Convolution forward = c;
  forward.role = ConvRole::Output;
  std::swap(forward.channels, forward.filters);
  std::swap(forward.sizes, forward.places);
  for (std::size_t i = 0; i < c.sizes.size(); ++i) {
    forward.low[i] = (c.windows[i] - 1) * c.dilations[i] - c.low[i];
    const std::int64_t high = c.sizes[i] - c.places[i] + c.low[i];  // of the forward one
    if (c.strides[i] != 1 || forward.low[i] < 0 || high < 0) return std::nullopt;
  }
  return forward;
}

std::shared_ptr<const PreparedConvolution> make_turned_convolution(
    const Convolution& c, bool packed, std::shared_ptr<const PreparedConvolution> forward) {
  return std::make_shared<TurnedConvolution>(c, packed, std::move(forward));
}

}  // namespace kiln::cpu
