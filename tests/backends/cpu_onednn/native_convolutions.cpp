// Tests the native loops of convolutions, on each ISA of the machine, against plain sums.
#include "tests/backends/cpu_onednn/plain_sums.h"

#include "backends/cpu/convolution_table.h"
#include "backends/cpu/direct_convolution/backward_weights.h"
#include "backends/cpu/direct_convolution/depthwise.h"
#include "backends/cpu/direct_convolution/forward.h"
#include "backends/cpu/onednn/flipped_filter.h"

#include "core/types/at.h"

using namespace kiln;
using namespace kiln::test;

namespace {

using cpu::ConvolutionImplementation;

ConvolutionImplementation choice(const Convolution& c, cpu::GemmIsa isa) {
  return cpu::convolution_row(c, /*packed=*/false, isa).implementation;
}
bool is_forward(const Convolution& c, cpu::GemmIsa isa) {
  return choice(c, isa) == ConvolutionImplementation::Forward;
}
bool is_depthwise(const Convolution& c) {
  return choice(c, cpu::GemmIsa::Baseline) == ConvolutionImplementation::Depthwise;
}
bool is_backward_weights(const Convolution& c, cpu::GemmIsa isa) {
  return choice(c, isa) == ConvolutionImplementation::BackwardWeights;
}

}  // namespace

TEST_CASE("forward convolution: native loops agree with plain sums", "[native]") {
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
    run(*cpu::make_forward(c, false, isa), false, c, x, w, found);
    check_near(found, plain);
    bias[0] = NAN;
    c.bias = c.relu = true;
    c.relu_bound = c.filters % 2 == 0 ? 0.75f : INFINITY;
    for (std::size_t i = 0; i < plain.size(); ++i) {
      const float sum = found[i] + bias[i % at(c.filters)];
      plain[i] = sum <= 0 ? 0.0f : sum > c.relu_bound ? c.relu_bound : sum;
    }
    const auto same = [&] {
      return std::equal(found.begin(), found.end(), plain.begin(), [](float a, float b) {
        return a == b || (std::isnan(a) && std::isnan(b));
      });
    };
    const auto kept = cpu::make_forward(c, /*packed=*/true, isa);
    CHECK((kept->packed_bytes() == 0) == (c.channels == 1));
    for (const bool packed : {false, true}) {
      std::fill(found.begin(), found.end(), 7.0f);
      run(packed ? *kept : *cpu::make_forward(c, false, isa), packed && c.channels > 1, c, x, w,
          found, bias);
      CHECK(same());
    }
  };
  for (const cpu::GemmIsa isa : isas()) {
    for (const std::int64_t filters : {8, 16, 32, 37, 53}) {
      check_native(of(ConvRole::Output, 3, 1, 1, filters, 1, 1), isa);
      check_native(of(ConvRole::Output, 3, 1, 5, filters, 1, 1), isa);
    }
    check_native(of(ConvRole::Output, 65, 1, 1, 32, 1, 1), isa);  // in parts
    check_native(of(ConvRole::Output, 2, 1, 3, 21, 2, 1), isa);
    check_native(of(ConvRole::Output, 2, 1, 3, 40, 1, 3), isa);
    for (const std::int64_t channels : {1, 6}) {
      Convolution wide = of(ConvRole::Output, 2, 1, channels, 35, 1, 1);
      wide.low = {4, 5};  // some windows have only padding
      wide.output_sizes = {26, 28};
      check_native(wide, isa);
      wide.dilations = {2, 3};
      wide.strides = {2, 3};
      wide.output_sizes = {13, 9};
      check_native(wide, isa);
    }
    CHECK(cpu::make_forward(of(ConvRole::Output, 65, 1, 1, 32, 1, 1), false, isa)->parts() > 1);
    Convolution image = of(ConvRole::Output, 1, 1, 1, 32, 1, 1);  // as many parts as oneDNN's
    image.sizes = {28, 28};
    image.windows = {3, 3};
    image.low = {0, 0};
    image.output_sizes = {26, 26};
    CHECK(cpu::make_forward(image, false, isa)->parts() == 8);
    for (const std::int64_t channels : {16, 300}) {
      Convolution square = of(ConvRole::Output, 3, 1, channels, 48, 1, 1);  // three panels of AVX2
      square.windows = {3, 3};
      square.low = {1, 1};
      square.output_sizes = {20, 19};
      check_native(square, isa);
      square.sizes = square.output_sizes = {7, 7};
      check_native(square, isa);
    }
    // One part: a group has the rows of both images, and columns at the border have many tiles.
    const Convolution tall{ConvRole::Output, 2,       1,      2,      40,    {30, 3},
                           {3, 3},           {30, 3}, {1, 1}, {1, 1}, {1, 1}};
    CHECK(cpu::make_forward(tall, false, isa)->parts() == 1);
    check_native(tall, isa);
    const Convolution strided{ConvRole::Output, 16,     1,      16,     40,    {66, 64},
                              {3, 3},           {9, 8}, {8, 8}, {1, 1}, {1, 1}};
    check_native(strided, isa);  // parts of 9 rows, in groups of 4 rows
    const Convolution line{ConvRole::Output, 3, 1, 5, 40, {19}, {3}, {19}, {1}, {1}, {1}};
    const Convolution flat{ConvRole::Output, 3,       1,      5,      40,    {1, 19},
                           {1, 3},           {1, 19}, {1, 1}, {1, 1}, {0, 1}};
    const Floats x = drawn(3 * 19 * 5, false), w = drawn(3 * 5 * 40, false);
    Floats of_line(at(3 * 19 * 40)), of_flat(of_line.size());
    run(*cpu::make_forward(line, false, isa), false, line, x, w, of_line);
    run(*cpu::make_forward(flat, false, isa), false, flat, x, w, of_flat);
    CHECK(of_line == of_flat);
    check_native(flat, isa);
  }
}

TEST_CASE("forward convolution: the padding is skipped", "[native]") {
  for (const cpu::GemmIsa isa : isas()) {
    const Convolution c = of(ConvRole::Output, 2, 1, 16, 32, 1, 1);
    const Floats x = drawn(2 * 20 * 19 * 16, false);
    const Floats w = drawn(6 * 16 * 32, false);
    const auto finite = [&](std::size_t tap) {  // whether each pixel is, where the tap is infinite
      Floats filter = w, found(at(2 * 20 * 19 * 32));
      filter[tap * 16 * 32] = INFINITY;
      run(*cpu::make_forward(c, false, isa), false, c, x, filter, found);
      std::vector<bool> pixels;
      for (std::size_t i = 0; i < found.size(); i += 32) pixels.push_back(std::isfinite(found[i]));
      return pixels;
    };
    const std::vector<bool> above = finite(0), right = finite(1);
    for (std::size_t pixel = 0; pixel < above.size(); ++pixel) {
      REQUIRE(above[pixel] == (pixel / 19 % 20 == 0));
      REQUIRE(right[pixel] == (pixel % 19 == 18 || pixel / 19 % 20 == 0));
    }
  }
}

TEST_CASE("backward data: a native forward convolution of the flipped filter", "[native]") {
  const auto check_flipped = [](Convolution c, cpu::GemmIsa isa) {
    INFO("ISA " << static_cast<int>(isa) << ", dilation " << c.dilations[0]);
    const auto forward = cpu::as_forward_convolution(c);
    REQUIRE(forward);
    const std::int64_t pixels = c.batch * c.output_sizes[0] * c.output_sizes[1];
    Floats x = drawn(c.batch * c.sizes[0] * c.sizes[1] * c.channels, true);
    Floats w = drawn(c.windows[0] * c.windows[1] * c.channels * c.filters, false);
    Floats y = drawn(pixels * c.filters, false);
    by_sums(c, x, w, y);
    Floats found[2];
    for (const bool packed : {false, true}) {
      found[packed].assign(x.size(), 7.0f);
      const auto data = cpu::make_flipped_filter_convolution(
          c, packed, cpu::make_forward(*forward, packed, isa), false);
      run(*data, packed, c, w, y, found[packed]);
    }
    check_near(found[0], x);
    CHECK(found[0] == found[1]);
  };
  for (const cpu::GemmIsa isa : isas()) {
    Convolution c = of(ConvRole::Input, 3, 1, 48, 16, 1, 1);  // window 3 x 2
    check_flipped(c, isa);
    c = of(ConvRole::Input, 3, 1, 48, 16, 1, 2);
    check_flipped(c, isa);
    c.dilations = {1, 1};
    c.windows = {3, 3};
    c.low = {1, 1};
    c.output_sizes = {20, 19};
    check_flipped(c, isa);
  }
}

TEST_CASE("forward convolution: which ones are native", "[native]") {
  using enum cpu::GemmIsa;
  const auto square = [](std::int64_t batch, std::int64_t channels, std::int64_t filters) {
    return Convolution{ConvRole::Output, batch,    1,      channels, filters, {28, 28},
                       {3, 3},           {28, 28}, {1, 1}, {1, 1},   {1, 1}};
  };
  for (const cpu::GemmIsa isa : {Baseline, Avx2, Avx512, Amx}) {
    CHECK(is_forward(of(ConvRole::Output, 2, 1, 1, 8, 1, 1), isa));
    CHECK_FALSE(is_forward(of(ConvRole::Input, 2, 1, 1, 8, 1, 1), isa));
    CHECK_FALSE(is_forward(of(ConvRole::Output, 2, 2, 1, 8, 1, 1), isa));
    CHECK(is_forward(square(1, 16, 16), isa) == (isa == Avx2));
    CHECK_FALSE(is_forward(square(1, 8, 16), isa));
    CHECK_FALSE(is_forward(square(1, 16, 24), isa));
  }
  Convolution c = square(1, 16, 16);
  c.output_sizes = {22, 23};  // pixels
  CHECK_FALSE(is_forward(c, Avx2));
  c.batch = 2;
  CHECK(is_forward(c, Avx2));
  for (const std::int64_t window : {1, 5, 7}) {
    c.windows = {window, window};
    CHECK(is_forward(c, Avx2) == (window == 5));
  }
  for (const std::int64_t batch : {7, 8}) {  // rows
    const Convolution line{ConvRole::Output, batch, 1, 16, 16, {99}, {3}, {99}, {1}, {1}, {1}};
    CHECK(is_forward(line, Avx2) == (batch == 8));
  }
  const ir::Ints three{9, 9, 9}, ones{1, 1, 1};
  CHECK_FALSE(is_forward(
      {ConvRole::Output, 2, 1, 16, 16, three, {3, 3, 3}, three, ones, ones, ones}, Avx2));
}

TEST_CASE("depthwise convolution: native loops agree with plain sums", "[native]") {
  const auto check_native = [](Convolution c, cpu::GemmIsa isa) {
    INFO("role " << static_cast<int>(c.role) << ", ISA " << static_cast<int>(isa) << ", " << c.batch
                 << " images, " << c.groups << " channels, stride " << c.strides[0] << ", dilation "
                 << c.dilations[0]);
    REQUIRE(is_depthwise(c));
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
    Convolution flat{ConvRole::Output, 3,       40,     1,      1,     {1, 19},
                     {1, 3},           {1, 19}, {1, 1}, {1, 1}, {0, 1}};
    const Floats x = drawn(3 * 19 * 40, false), w = drawn(3 * 40, false);
    Floats of_line(x.size()), of_flat(x.size());
    run(*cpu::make_depthwise(line, isa), false, line, x, w, of_line);
    run(*cpu::make_depthwise(flat, isa), false, flat, x, w, of_flat);
    CHECK(of_line == of_flat);
  }
  CHECK_FALSE(is_depthwise(of(ConvRole::Filter, 2, 16, 1, 1, 1, 1)));
  CHECK_FALSE(is_depthwise(of(ConvRole::Input, 2, 16, 1, 1, 2, 1)));
  CHECK_FALSE(is_depthwise(of(ConvRole::Output, 2, 16, 1, 2, 1, 1)));
  CHECK_FALSE(is_depthwise(of(ConvRole::Output, 2, 7, 1, 1, 1, 1)));
}

TEST_CASE("depthwise convolution: padding is skipped, bias and relu are applied", "[native]") {
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
  for (const float bound : {INFINITY, 0.75f}) {
    c.relu_bound = bound;
    run(*cpu::make_depthwise(c, isa), false, c, x, w, found, bias);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      const float sum = plain[i] + bias[i % 37];
      const float want = sum <= 0 ? 0.0f : sum > bound ? bound : sum;
      if (std::isnan(want) ? std::isnan(found[i]) : found[i] == want) continue;
      FAIL_CHECK("element " << i << ": " << found[i] << ", not " << want);
      break;
    }
  }
}

TEST_CASE("backward weights: native loops agree with plain sums", "[native]") {
  for (const cpu::GemmIsa isa : isas()) {
    if (isa == cpu::GemmIsa::Baseline) continue;
    const auto check_native = [&](Convolution c) {
      INFO("ISA " << static_cast<int>(isa) << ", " << c.batch << " images, " << c.channels << " to "
                  << c.filters);
      REQUIRE(is_backward_weights(c, isa));
      Floats x = drawn(c.batch * c.sizes[0] * c.sizes[1] * c.channels, false);
      Floats w = drawn(6 * c.channels * c.filters, true);
      Floats y = drawn(c.batch * c.output_sizes[0] * c.output_sizes[1] * c.filters, false);
      by_sums(c, x, w, y);
      Floats found(w.size(), 7.0f);
      const auto native = cpu::make_backward_weights(c, isa);
      run(*native, false, c, x, y, found);
      check_near(found, w);
    };
    check_native(of(ConvRole::Filter, 9, 1, 16, 32, 1, 1));
    check_native(of(ConvRole::Filter, 1, 1, 8, 16, 2, 1));
    check_native(of(ConvRole::Filter, 3, 1, 13, 48, 1, 2));
    check_native(of(ConvRole::Filter, 2, 1, 11, 144, 2, 2));
    if (isa == cpu::GemmIsa::Avx2) check_native(of(ConvRole::Filter, 2, 1, 10, 24, 1, 1));
    Convolution wide = of(ConvRole::Filter, 2, 1, 9, 64, 1, 1);  // padding on every side
    wide.low = {2, 1};
    wide.output_sizes = {22, 20};
    check_native(wide);
    wide.sizes = wide.output_sizes = {2, 500};  // rows longer than a block
    wide.low = {1, 1};
    check_native(wide);
    Convolution flat{ConvRole::Filter, 3,       1,      8,      16,    {1, 19},
                     {1, 2},           {1, 19}, {1, 1}, {1, 1}, {0, 1}};
    Convolution line{ConvRole::Filter, 3, 1, 8, 16, {19}, {2}, {19}, {1}, {1}, {1}};
    const Floats x = drawn(3 * 19 * 8, false), dy = drawn(3 * 19 * 16, false);
    Floats of_flat(2 * 8 * 16), of_line(2 * 8 * 16);
    run(*cpu::make_backward_weights(flat, isa), false, flat, x, dy, of_flat);
    run(*cpu::make_backward_weights(line, isa), false, line, x, dy, of_line);
    CHECK(of_flat == of_line);
    CHECK_FALSE(is_backward_weights(of(ConvRole::Filter, 2, 2, 16, 16, 1, 1), isa));
    CHECK_FALSE(is_backward_weights(of(ConvRole::Filter, 2, 1, 16, 20, 1, 1), isa));
    CHECK_FALSE(is_backward_weights(of(ConvRole::Filter, 2, 1, 16, 8, 1, 1), isa));
    CHECK_FALSE(is_backward_weights(of(ConvRole::Output, 2, 1, 16, 16, 1, 1), isa));
    Convolution pixel = of(ConvRole::Filter, 2, 1, 16, 16, 1, 1);
    pixel.windows = {1, 1};
    CHECK(is_backward_weights(pixel, isa) == (isa != cpu::GemmIsa::Avx2));
  }
  CHECK_FALSE(
      is_backward_weights(of(ConvRole::Filter, 2, 1, 16, 16, 1, 1), cpu::GemmIsa::Baseline));
}
