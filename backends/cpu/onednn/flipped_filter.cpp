// Packing flips the filter; where the forward convolution has a packed filter, the flipped one is
// then packed for it.
#include "backends/cpu/onednn/flipped_filter.h"

#include "backends/cpu/onednn/convolutions.h"
#include "backends/cpu/process_exit/library_guard.h"

#include <immintrin.h>

#include <utility>

namespace kiln::cpu {
namespace {

using codegen::Convolution;
using codegen::ConvRole;
using codegen::PreparedConvolution;
using codegen::product;

/// Transposes a rows x columns matrix, by blocks of 4 x 4.
void transpose(const float* from, float* to, std::int64_t rows, std::int64_t columns) {
  std::int64_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    std::int64_t j = 0;
    for (; j + 4 <= columns; j += 4) {
      const float* block = from + i * columns + j;
      __m128 a = _mm_loadu_ps(block), b = _mm_loadu_ps(block + columns);
      __m128 c = _mm_loadu_ps(block + 2 * columns), d = _mm_loadu_ps(block + 3 * columns);
      _MM_TRANSPOSE4_PS(a, b, c, d);
      float* column = to + j * rows + i;
      _mm_storeu_ps(column, a);
      _mm_storeu_ps(column + rows, b);
      _mm_storeu_ps(column + 2 * rows, c);
      _mm_storeu_ps(column + 3 * rows, d);
    }
    for (; j < columns; ++j) {
      for (std::int64_t k = i; k < i + 4; ++k) to[j * rows + k] = from[k * columns + j];
    }
  }
  for (; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
  }
}

class FlippedFilterConvolution final : public PreparedConvolution {
 public:
  FlippedFilterConvolution(const Convolution& c, bool packed,
                           std::shared_ptr<const PreparedConvolution> forward, bool uses_onednn)
      : c_(c),
        packed_(packed),
        uses_onednn_(uses_onednn),
        window_(product(c.windows)),
        forward_(std::move(forward)) {
    const auto bytes = static_cast<std::size_t>(window_ * c.channels * c.filters) * sizeof(float);
    flipped_bytes_ = (bytes + 63) / 64 * 64;
  }

  /// The packed filter, then the flipped one: packing allocates nothing.
  std::size_t packed_bytes() const override {
    return packed_ ? forward_bytes() + flipped_bytes_ : 0;
  }
  std::size_t scratch_bytes() const override { return flipped_bytes_ + forward_->scratch_bytes(); }
  std::size_t parts() const override { return forward_->parts(); }
  std::string description() const override {
    const std::string whole = forward_->description();
    return whole.substr(0, whole.find(',')) + " forward, " +
           (packed_ ? "flipped filter prepacked" : "flipping and packing the filter");
  }

  bool packs_like(const codegen::Packer& other) const override {
    const auto* flipped = dynamic_cast<const FlippedFilterConvolution*>(&other);
    return flipped && flipped->window_ == window_ && flipped->c_.channels == c_.channels &&
           flipped->c_.filters == c_.filters && flipped->packed_bytes() == packed_bytes() &&
           flipped->forward_->packed_bytes() == forward_->packed_bytes() &&
           (forward_->packed_bytes() == 0 || flipped->forward_->packs_like(*forward_));
  }
  std::size_t retained_bytes() const override { return sizeof(*this) + forward_->retained_bytes(); }

  void pack(const void* plain, void* packed) const override {
    const auto* filter = static_cast<const float*>(plain);
    if (forward_->packed_bytes() == 0) return flip(filter, static_cast<float*>(packed));
    auto* flipped = reinterpret_cast<float*>(static_cast<std::byte*>(packed) + forward_bytes());
    flip(filter, flipped);
    forward_->pack(flipped, packed);
  }

  void start(const float* filter, void* scratch) const override {
    flip(filter, static_cast<float*>(scratch));
    forward_->start(static_cast<float*>(scratch), behind(scratch));
  }

  void run(std::size_t part, const float*, const float* dy, const void* packed, const float*,
           float* result, void* scratch) const override {
    const bool is_flipped_only = packed && forward_->packed_bytes() == 0;
    const void* filter = is_flipped_only ? packed : scratch;
    forward_->run(part, dy, static_cast<const float*>(filter), is_flipped_only ? nullptr : packed,
                  nullptr, result, behind(scratch));
  }

  /// If oneDNN computes `forward_` and the process exits: the whole gradient, by plain loops.
  void finish(const float* filter, const float* dy, const float*, float* result,
              void*) const override {
    if (!uses_onednn_) return;
    const LibraryGuard guard;
    if (guard) return;
    make_loop_convolution(c_)->run(0, filter, dy, nullptr, nullptr, result, nullptr);
  }

 private:
  void flip(const float* filter, float* to) const {
    const std::int64_t matrix = c_.channels * c_.filters;
    for (std::int64_t w = 0; w < window_; ++w) {
      transpose(filter + w * matrix, to + (window_ - 1 - w) * matrix, c_.channels, c_.filters);
    }
  }
  std::size_t forward_bytes() const { return (forward_->packed_bytes() + 63) / 64 * 64; }
  void* behind(void* scratch) const { return static_cast<std::byte*>(scratch) + flipped_bytes_; }

  Convolution c_;
  bool packed_, uses_onednn_;
  std::int64_t window_;
  std::shared_ptr<const PreparedConvolution> forward_;
  std::size_t flipped_bytes_ = 0;
};

}  // namespace

std::optional<Convolution> as_forward_convolution(const Convolution& c) {
  if (c.role != ConvRole::Input || c.groups != 1) return std::nullopt;
  Convolution forward = c;
  forward.role = ConvRole::Output;
  std::swap(forward.channels, forward.filters);
  std::swap(forward.sizes, forward.output_sizes);
  for (std::size_t i = 0; i < c.sizes.size(); ++i) {
    forward.low[i] = (c.windows[i] - 1) * c.dilations[i] - c.low[i];
    const std::int64_t high = c.sizes[i] - c.output_sizes[i] + c.low[i];  // padding of `forward`
    if (c.strides[i] != 1 || forward.low[i] < 0 || high < 0) return std::nullopt;
  }
  return forward;
}

std::shared_ptr<const PreparedConvolution> make_flipped_filter_convolution(
    const Convolution& c, bool packed, std::shared_ptr<const PreparedConvolution> forward,
    bool uses_onednn) {
  return std::make_shared<FlippedFilterConvolution>(c, packed, std::move(forward), uses_onednn);
}

}  // namespace kiln::cpu
