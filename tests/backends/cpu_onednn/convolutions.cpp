// Tests convolutions that are divided into parts, in each role, against plain sums: unequal parts,
// filters packed before and during the run, groups, strides, dilations.
#include "tests/support/catch.h"

#include "backends/cpu/direct_convolution/backward_weights.h"
#include "backends/cpu/direct_convolution/depthwise.h"
#include "backends/cpu/direct_convolution/forward.h"
#include "backends/cpu/onednn/convolutions.h"

#include "core/types/at.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>

using namespace kiln;
using codegen::Convolution;
using codegen::ConvRole;
using Floats = std::vector<float>;

namespace {

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

Convolution of(ConvRole role, std::int64_t batch, std::int64_t groups, std::int64_t channels,
               std::int64_t filters, std::int64_t stride, std::int64_t dilation) {
  Convolution c{role, batch, groups, channels, filters, {20, 19}, {3, 2}, {}, {stride, 1},
                {dilation, 1}, {1, 0}};
  c.output_sizes = {(20 + 2 - 2 * dilation - 1) / stride + 1, 19};  // one padding column
  return c;
}

/// Adds the plain sums to the tensor of the role, of the three tensors.
void by_sums(const Convolution& c, std::vector<float>& x, std::vector<float>& w,
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
                const auto from = static_cast<std::size_t>(
                    ((b * c.sizes[0] + row) * c.sizes[1] + column) * in +
                    o / c.filters * c.channels + k);
                const auto weight = static_cast<std::size_t>(
                    ((p * c.windows[1] + q) * c.channels + k) * out + o);
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

Floats drawn(std::int64_t count, bool zero) {
  static std::mt19937 generator(3);
  std::uniform_real_distribution<float> draw(-1, 1);
  Floats values(static_cast<std::size_t>(count));
  for (float& value : values) value = zero ? 0.0f : draw(generator);
  return values;
}

void run(const codegen::PreparedConvolution& prepared, bool packed, const Convolution& c,
         const Floats& first, const Floats& second, Floats& result, const Floats& bias = {}) {
  Buffer scratch(prepared.scratch_bytes()), kernel(prepared.packed_bytes());
  const Floats& weights = c.role == ConvRole::Output ? second : first;
  if (packed) {
    prepared.pack(weights.data(), kernel.data());
  } else {
    prepared.start(weights.data(), scratch.data());
  }
  for (std::size_t part = prepared.parts(); part-- > 0;) {
    prepared.run(part, first.data(), second.data(), packed ? kernel.data() : nullptr,
                 bias.empty() ? nullptr : bias.data(), result.data(), scratch.data());
  }
  prepared.finish(first.data(), second.data(), bias.empty() ? nullptr : bias.data(), result.data(),
                  scratch.data());
  CHECK(scratch.is_within_size());
  CHECK(kernel.is_within_size());
}

void check_near(const Floats& found, const Floats& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::abs(found[i] - expected[i]) <= 2e-5f * (10 + std::abs(expected[i]))) continue;
    FAIL_CHECK("element " << i << ": " << found[i] << " for " << expected[i]);
    return;
  }
}

/// The ISAs of the native loops that this machine has.
std::vector<cpu::GemmIsa> isas() {
  std::vector<cpu::GemmIsa> out{cpu::GemmIsa::Baseline};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    out.push_back(cpu::GemmIsa::Avx2);
  }
  if (__builtin_cpu_supports("avx512dq")) out.push_back(cpu::GemmIsa::Avx512);
  return out;
}

void check(const Convolution& c) {
  const std::int64_t pixels = c.output_sizes[0] * c.output_sizes[1], size = c.sizes[0] * c.sizes[1];
  const std::int64_t window = c.windows[0] * c.windows[1];
  Floats x = drawn(c.batch * size * c.groups * c.channels, c.role == ConvRole::Input);
  Floats w = drawn(window * c.channels * c.groups * c.filters, c.role == ConvRole::Filter);
  Floats y = drawn(c.batch * pixels * c.groups * c.filters, c.role == ConvRole::Output);
  const Floats first = c.role == ConvRole::Input ? w : x;
  const Floats second = c.role == ConvRole::Output ? w : y;
  by_sums(c, x, w, y);
  const Floats& expected = c.role == ConvRole::Input ? x : c.role == ConvRole::Filter ? w : y;
  Floats plain(expected.size(), 7.0f), packed = plain;
  const auto once = cpu::make_convolution(c, /*packed=*/false);
  INFO(once->description() << ", " << once->parts() << " parts");
  run(*once, false, c, first, second, plain);
  check_near(plain, expected);
  CHECK(once->description().rfind("oneDNN", 0) == 0);
  if (c.role == ConvRole::Filter) return;
  const auto kept = cpu::make_convolution(c, /*packed=*/true);
  const bool is_in_place = kept->description().find("filter in place") != std::string::npos;
  CHECK((kept->packed_bytes() == 0) == is_in_place);
  run(*kept, !is_in_place, c, first, second, packed);
  CHECK(packed == plain);
}

}  // namespace

TEST_CASE("convolution: parts agree with plain sums") {
  for (const ConvRole role : {ConvRole::Input, ConvRole::Filter, ConvRole::Output}) {
    INFO("role " << static_cast<int>(role));
    check(of(role, 9, 1, 16, 32, 1, 1));
    check(of(role, 9, 1, 3, 5, 2, 1));
    check(of(role, 1, 1, 1, 1, 1, 2));
    check(of(role, 4, 8, 1, 1, 1, 1));
    check(of(role, 3, 2, 4, 3, 2, 2));
  }
  CHECK(cpu::make_convolution(of(ConvRole::Output, 9, 1, 16, 32, 1, 1), false)->parts() == 5);
}

TEST_CASE("convolution: strided filters of one element stay within their scratch") {
  const auto strided = [](ConvRole role, std::int64_t batch, std::int64_t groups,
                          std::int64_t channels, std::int64_t filters, ir::Ints strides) {
    return Convolution{role, batch, groups, channels, filters, {64, 64}, {1, 1},
                       {63 / strides[0] + 1, 63 / strides[1] + 1}, strides, {1, 1}, {0, 0}};
  };
  for (const ConvRole role : {ConvRole::Input, ConvRole::Filter, ConvRole::Output}) {
    INFO("role " << static_cast<int>(role));
    check(strided(role, 1, 1, 3, 8, {2, 2}));
    check(strided(role, 3, 1, 1, 1, {2, 2}));
    check(strided(role, 2, 1, 13, 13, {1, 3}));
    check(strided(role, 2, 2, 5, 4, {2, 1}));
    check(strided(role, 2, 1, 17, 4, {2, 2}));
    check(strided(role, 2, 1, 16, 32, {2, 2}));
  }
}

TEST_CASE("convolution: rows of few images are parts, with the bits of whole images") {
  const auto check_rows = [](Convolution c, std::size_t parts) {
    check(c);
    const auto by_rows = cpu::make_convolution(c, false);
    INFO(by_rows->description() << ", " << c.batch << " images, " << c.channels << " to "
                                << c.filters << ", stride " << c.strides[0] << ", dilation "
                                << c.dilations[0]);
    CHECK(by_rows->parts() == parts);
    Convolution many = c;
    many.batch = 8 * c.batch;
    const auto by_images = cpu::make_convolution(many, false);
    if (by_images->description() != by_rows->description()) return;
    const Floats w = drawn(6 * c.channels * c.groups * c.filters, false);
    Floats x = drawn(c.batch * 20 * 19 * c.groups * c.channels, false);
    const std::int64_t pixels = c.batch * c.output_sizes[0] * c.output_sizes[1];
    Floats found(static_cast<std::size_t>(pixels * c.groups * c.filters));
    run(*by_rows, false, c, x, w, found);
    const std::size_t once = x.size();
    for (int i = 1; i < 8; ++i) x.insert(x.end(), x.begin(), x.begin() + std::ptrdiff_t(once));
    Floats whole(8 * found.size());
    run(*by_images, false, many, x, w, whole);
    whole.resize(found.size());
    CHECK(found == whole);
  };
  check_rows(of(ConvRole::Output, 1, 1, 64, 64, 1, 1), 8);
  check_rows(of(ConvRole::Output, 1, 1, 32, 64, 1, 1), 4);
  check_rows(of(ConvRole::Output, 3, 1, 48, 64, 1, 2), 9);
  check_rows(of(ConvRole::Output, 2, 1, 64, 64, 2, 1), 8);
  Convolution wide = of(ConvRole::Output, 1, 1, 64, 64, 1, 1);  // more padding than some blocks
  wide.low = {6, 1};
  wide.output_sizes = {28, 20};
  CHECK(cpu::make_convolution(wide, false)->parts() == 1);
  check(wide);
}

TEST_CASE("one-channel convolution: native loops agree with plain sums") {
  const auto check_native = [](Convolution c, cpu::GemmIsa isa) {
    INFO("ISA " << static_cast<int>(isa) << ", " << c.batch << " images, " << c.channels << " to "
                << c.filters << ", stride " << c.strides[0] << ", dilation " << c.dilations[0]
                << ", low " << c.low[0]);
    const std::int64_t pixels = c.batch * c.output_sizes[0] * c.output_sizes[1];
    const Floats x = drawn(c.batch * c.sizes[0] * c.sizes[1] * c.channels, false);
    const Floats w = drawn(c.windows[0] * c.windows[1] * c.channels * c.filters, false);
    Floats bias = drawn(c.filters, false), plain(at(pixels * c.filters));
    Floats found(plain.size(), 7.0f), of_x = x, of_w = w;
    by_sums(c, of_x, of_w, plain);
    run(*cpu::make_forward(c, isa), false, c, x, w, found);
    check_near(found, plain);
    bias[0] = NAN;
    c.bias = c.relu = true;
    for (std::size_t i = 0; i < plain.size(); ++i) {
      const float sum = found[i] + bias[i % at(c.filters)];
      plain[i] = sum <= 0 ? 0.0f : sum;
    }
    run(*cpu::make_forward(c, isa), false, c, x, w, found, bias);
    CHECK(std::equal(found.begin(), found.end(), plain.begin(), [](float a, float b) {
      return a == b || (std::isnan(a) && std::isnan(b));
    }));
  };
  for (const cpu::GemmIsa isa : isas()) {
    for (const std::int64_t filters : {8, 16, 32, 37, 53}) {
      check_native(of(ConvRole::Output, 3, 1, 1, filters, 1, 1), isa);
    }
    check_native(of(ConvRole::Output, 65, 1, 1, 32, 1, 1), isa);  // in parts
    check_native(of(ConvRole::Output, 2, 1, 3, 21, 2, 1), isa);
    check_native(of(ConvRole::Output, 2, 1, 3, 40, 1, 3), isa);
    Convolution wide = of(ConvRole::Output, 2, 1, 1, 35, 1, 1);  // some windows have only padding
    wide.low = {4, 5};
    wide.output_sizes = {26, 28};
    check_native(wide, isa);
    wide.dilations = {2, 3};
    wide.strides = {2, 3};
    wide.output_sizes = {13, 9};
    check_native(wide, isa);
    CHECK(cpu::make_forward(of(ConvRole::Output, 65, 1, 1, 32, 1, 1), isa)->parts() > 1);
    Convolution image = of(ConvRole::Output, 1, 1, 1, 32, 1, 1);  // as many parts as oneDNN's
    image.sizes = {28, 28};
    image.windows = {3, 3};
    image.low = {0, 0};
    image.output_sizes = {26, 26};
    CHECK(cpu::make_forward(image, isa)->parts() == 8);
  }
  CHECK(cpu::takes_forward(of(ConvRole::Output, 2, 1, 1, 8, 1, 1)));
  CHECK_FALSE(cpu::takes_forward(of(ConvRole::Input, 2, 1, 1, 8, 1, 1)));
  CHECK_FALSE(cpu::takes_forward(of(ConvRole::Output, 2, 2, 1, 8, 1, 1)));
}

TEST_CASE("depthwise convolution: native loops agree with plain sums") {
  const auto check_native = [](Convolution c, cpu::GemmIsa isa) {
    INFO("role " << static_cast<int>(c.role) << ", ISA " << static_cast<int>(isa) << ", " << c.batch
                 << " images, " << c.groups << " channels, stride " << c.strides[0] << ", dilation "
                 << c.dilations[0]);
    REQUIRE(cpu::takes_depthwise(c));
    const bool forward = c.role == ConvRole::Output;
    const std::int64_t pixels = c.batch * c.output_sizes[0] * c.output_sizes[1];
    Floats x = drawn(c.batch * 20 * 19 * c.groups, !forward);
    Floats w = drawn(c.windows[0] * c.windows[1] * c.groups, false);
    Floats y = drawn(pixels * c.groups, forward);
    const Floats first = forward ? x : w, second = forward ? w : y;
    by_sums(c, x, w, y);
    Floats found((forward ? y : x).size(), 7.0f);
    run(*cpu::make_depthwise(c, isa), false, c, first, second, found);
    check_near(found, forward ? y : x);
  };
  for (const cpu::GemmIsa isa : isas()) {
    for (const std::int64_t channels : {8, 16, 37, 150}) {
      check_native(of(ConvRole::Output, 3, channels, 1, 1, 1, 1), isa);
      check_native(of(ConvRole::Input, 3, channels, 1, 1, 1, 1), isa);
    }
    check_native(of(ConvRole::Output, 2, 19, 1, 1, 2, 1), isa);
    check_native(of(ConvRole::Output, 2, 24, 1, 1, 1, 3), isa);
    check_native(of(ConvRole::Input, 2, 24, 1, 1, 1, 3), isa);
    Convolution square = of(ConvRole::Output, 5, 33, 1, 1, 1, 1);
    square.windows = {3, 3};
    square.low = {1, 1};
    square.output_sizes = {20, 19};
    check_native(square, isa);
    square.role = ConvRole::Input;
    check_native(square, isa);
    square.low = {4, 5};  // windows in the padding alone, on both sides
    square.output_sizes = {26, 28};
    check_native(square, isa);
    square.role = ConvRole::Output;
    check_native(square, isa);
    square.low = {1, 1};
    square.strides = {2, 3};
    square.output_sizes = {10, 7};
    check_native(square, isa);
    Convolution line{ConvRole::Output, 3, 40, 1, 1, {19}, {3}, {19}, {1}, {1}, {1}};
    Convolution flat{ConvRole::Output, 3, 40, 1, 1, {1, 19}, {1, 3}, {1, 19}, {1, 1}, {1, 1},
                     {0, 1}};
    const Floats x = drawn(3 * 19 * 40, false), w = drawn(3 * 40, false);
    Floats of_line(x.size()), of_flat(x.size());
    run(*cpu::make_depthwise(line, isa), false, line, x, w, of_line);
    run(*cpu::make_depthwise(flat, isa), false, flat, x, w, of_flat);
    CHECK(of_line == of_flat);
  }
  CHECK_FALSE(cpu::takes_depthwise(of(ConvRole::Filter, 2, 16, 1, 1, 1, 1)));
  CHECK_FALSE(cpu::takes_depthwise(of(ConvRole::Input, 2, 16, 1, 1, 2, 1)));
  CHECK_FALSE(cpu::takes_depthwise(of(ConvRole::Output, 2, 16, 1, 2, 1, 1)));
  CHECK_FALSE(cpu::takes_depthwise(of(ConvRole::Output, 2, 7, 1, 1, 1, 1)));
}

TEST_CASE("depthwise convolution: padding is skipped, bias and relu are applied") {
  Convolution c = of(ConvRole::Output, 3, 37, 1, 1, 1, 1);
  const auto isa =
      __builtin_cpu_supports("avx512dq") ? cpu::GemmIsa::Avx512 : cpu::GemmIsa::Baseline;
  const Floats x = drawn(3 * 20 * 19 * 37, false);
  Floats w = drawn(6 * 37, false), bias = drawn(37, false), plain(x.size()), found(x.size());
  w[0] = INFINITY;  // multiplies the padding above and left of pixels
  bias[1] = NAN;
  run(*cpu::make_depthwise(c, isa), false, c, x, w, plain);
  CHECK(std::isfinite(plain[0]));
  c.bias = c.relu = true;
  run(*cpu::make_depthwise(c, isa), false, c, x, w, found, bias);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const float sum = plain[i] + bias[i % 37], want = sum <= 0 ? 0.0f : sum;
    if (std::isnan(want) ? std::isnan(found[i]) : found[i] == want) continue;
    FAIL_CHECK("element " << i << ": " << found[i] << ", not " << want);
    break;
  }
}

TEST_CASE("backward weights: native loops agree with plain sums") {
  if (!__builtin_cpu_supports("avx512f")) return;
  const auto check_own = [](Convolution c) {
    INFO(c.batch << " images, " << c.channels << " to " << c.filters);
    REQUIRE(cpu::takes_backward_weights(c));
    Floats x = drawn(c.batch * 20 * 19 * c.channels, false);
    Floats w = drawn(6 * c.channels * c.filters, true);
    Floats y = drawn(c.batch * c.output_sizes[0] * c.output_sizes[1] * c.filters, false);
    by_sums(c, x, w, y);
    Floats found(w.size(), 7.0f);
    const auto own = cpu::make_backward_weights(c);
    run(*own, false, c, x, y, found);
    check_near(found, w);
  };
  check_own(of(ConvRole::Filter, 9, 1, 16, 32, 1, 1));
  check_own(of(ConvRole::Filter, 1, 1, 8, 16, 2, 1));
  check_own(of(ConvRole::Filter, 3, 1, 13, 48, 1, 2));
  check_own(of(ConvRole::Filter, 2, 1, 11, 144, 2, 2));
  Convolution wide = of(ConvRole::Filter, 2, 1, 9, 64, 1, 1);  // padding on every side
  wide.low = {2, 1};
  wide.output_sizes = {22, 20};
  check_own(wide);
  Convolution flat{ConvRole::Filter, 3, 1, 8, 16, {1, 19}, {1, 2}, {1, 19}, {1, 1}, {1, 1}, {0, 1}};
  Convolution line{ConvRole::Filter, 3, 1, 8, 16, {19}, {2}, {19}, {1}, {1}, {1}};
  const Floats x = drawn(3 * 19 * 8, false), dy = drawn(3 * 19 * 16, false);
  Floats of_flat(2 * 8 * 16), of_line(2 * 8 * 16);
  run(*cpu::make_backward_weights(flat), false, flat, x, dy, of_flat);
  run(*cpu::make_backward_weights(line), false, line, x, dy, of_line);
  CHECK(of_flat == of_line);
  CHECK_FALSE(cpu::takes_backward_weights(of(ConvRole::Filter, 2, 2, 16, 16, 1, 1)));
  CHECK_FALSE(cpu::takes_backward_weights(of(ConvRole::Filter, 2, 1, 16, 20, 1, 1)));
  CHECK_FALSE(cpu::takes_backward_weights(of(ConvRole::Output, 2, 1, 16, 16, 1, 1)));
}

TEST_CASE("convolution: bias and relu, by the library and by native loops") {
  for (const std::int64_t filters : {1, 5, 16, 37}) {
    INFO(filters << " filters");
    Convolution c = of(ConvRole::Output, 3, 1, 4, filters, 1, 1);
    const Floats x = drawn(3 * 20 * 19 * 4, false), w = drawn(6 * 4 * filters, false);
    Floats bias = drawn(filters, false), plain(3 * 20 * 19 * static_cast<std::size_t>(filters));
    bias[0] = NAN;
    Floats found = plain, by_loops = plain;
    run(*cpu::make_convolution(c, false), false, c, x, w, plain);
    c.bias = c.relu = true;
    run(*cpu::make_convolution(c, false), false, c, x, w, found, bias);
    run(*cpu::make_loop_convolution(c), false, c, x, w, by_loops, bias);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      const float sum = plain[i] + bias[i % bias.size()], want = sum <= 0 ? 0.0f : sum;
      if (std::isnan(want) ? std::isnan(found[i]) && std::isnan(by_loops[i])
                           : found[i] == want && std::abs(by_loops[i] - want) < 1e-4f) continue;
      FAIL_CHECK("element " << i << ": " << found[i] << " and " << by_loops[i] << ", not " << want);
      break;
    }
  }
}
