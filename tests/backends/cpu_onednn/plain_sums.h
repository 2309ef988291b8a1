// Convolutions by plain sums, random operands, and runs of prepared convolutions with buffers of
// their own.
#pragma once

#include "tests/support/catch.h"

#include "backends/codegen/host/prepared/convolution.h"
#include "backends/cpu/gemm/native_gemm.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <random>
#include <vector>

namespace kiln::test {

using codegen::Convolution;
using codegen::ConvRole;
using Floats = std::vector<float>;

/// Memory between guard words: a library may write beyond the size that it asked for.
struct Buffer {
  explicit Buffer(std::size_t bytes) : size_(bytes), bytes_(bytes + 64 + kMarked, kMark) {}
  void* data() {
    void* begin = bytes_.data();
    std::size_t space = bytes_.size();
    return std::align(64, size_, begin, space);
  }
  bool is_within_size() {
    std::byte* end = static_cast<std::byte*>(data()) + size_;
    return std::all_of(end, bytes_.data() + bytes_.size(),
                       [](std::byte byte) { return byte == kMark; });
  }

 private:
  static constexpr std::size_t kMarked = 1 << 19;
  static constexpr std::byte kMark{0xA5};
  std::size_t size_;
  std::vector<std::byte> bytes_;
};

/// A convolution of 20 x 19 pixels with a 3 x 2 window: one row of padding at the top and at the
/// bottom, one column at the right.
inline Convolution of(ConvRole role, std::int64_t batch, std::int64_t groups, std::int64_t channels,
                      std::int64_t filters, std::int64_t stride, std::int64_t dilation) {
  Convolution c{role,   batch, groups,      channels,      filters, {20, 19},
                {3, 2}, {},    {stride, 1}, {dilation, 1}, {1, 0}};
  c.output_sizes = {(20 + 2 - 2 * dilation - 1) / stride + 1, 19};  // one padding column
  return c;
}

/// Adds the convolution to the tensor that the role computes. x, w, y: input, filter, output.
inline void by_sums(const Convolution& c, std::vector<float>& x, std::vector<float>& w,
                    std::vector<float>& y) {
  const std::int64_t in = c.groups * c.channels, out = c.groups * c.filters;
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t i = 0; i < c.output_sizes[0]; ++i) {
      for (std::int64_t j = 0; j < c.output_sizes[1]; ++j) {
        for (std::int64_t p = 0; p < c.windows[0]; ++p) {
          for (std::int64_t q = 0; q < c.windows[1]; ++q) {
            const std::int64_t row = i * c.strides[0] + p * c.dilations[0] - c.low[0];
            const std::int64_t column = j * c.strides[1] + q * c.dilations[1] - c.low[1];
            if (row < 0 || row >= c.sizes[0] || column < 0 || column >= c.sizes[1]) continue;
            for (std::int64_t o = 0; o < out; ++o) {
              for (std::int64_t k = 0; k < c.channels; ++k) {
                const auto from =
                    static_cast<std::size_t>(((b * c.sizes[0] + row) * c.sizes[1] + column) * in +
                                             o / c.filters * c.channels + k);
                const auto weight =
                    static_cast<std::size_t>(((p * c.windows[1] + q) * c.channels + k) * out + o);
                const auto to = static_cast<std::size_t>(
                    ((b * c.output_sizes[0] + i) * c.output_sizes[1] + j) * out + o);
                if (c.role == ConvRole::Output) y[to] += x[from] * w[weight];
                if (c.role == ConvRole::Input) x[from] += w[weight] * y[to];
                if (c.role == ConvRole::Filter) w[weight] += x[from] * y[to];
              }
            }
          }
        }
      }
    }
  }
}

/// Random elements, or zeros.
inline Floats drawn(std::int64_t count, bool zero) {
  static std::mt19937 generator(3);
  std::uniform_real_distribution<float> draw(-1, 1);
  Floats values(static_cast<std::size_t>(count));
  for (float& value : values) value = zero ? 0.0f : draw(generator);
  return values;
}

/// Computes `result`. `packed`: packs the filter before the run.
inline void run(const codegen::PreparedConvolution& prepared, bool packed, const Convolution& c,
                const Floats& first, const Floats& second, Floats& result,
                const Floats& bias = {}) {
  Buffer scratch(prepared.scratch_bytes()), filter(prepared.packed_bytes());
  const Floats& weights = c.role == ConvRole::Output ? second : first;
  if (packed) {
    prepared.pack(weights.data(), filter.data());
  } else {
    prepared.start(weights.data(), scratch.data());
  }
  for (std::size_t part = prepared.parts(); part-- > 0;) {
    prepared.run(part, first.data(), second.data(), packed ? filter.data() : nullptr,
                 bias.empty() ? nullptr : bias.data(), result.data(), scratch.data());
  }
  prepared.finish(first.data(), second.data(), bias.empty() ? nullptr : bias.data(), result.data(),
                  scratch.data());
  CHECK(scratch.is_within_size());
  CHECK(filter.is_within_size());
}

inline void check_near(const Floats& found, const Floats& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::abs(found[i] - expected[i]) <= 2e-5f * (10 + std::abs(expected[i]))) continue;
    FAIL_CHECK("element " << i << ": " << found[i] << " for " << expected[i]);
    return;
  }
}

/// The ISAs of the native loops that this machine has.
inline std::vector<cpu::GemmIsa> isas() {
  std::vector<cpu::GemmIsa> out{cpu::GemmIsa::Baseline};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    out.push_back(cpu::GemmIsa::Avx2);
  }
  if (__builtin_cpu_supports("avx512dq")) out.push_back(cpu::GemmIsa::Avx512);
  return out;
}

}  // namespace kiln::test
