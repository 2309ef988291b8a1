// Tests native convolutions whose parts are panels of the filter, and backward weights whose parts
// are channels, on each ISA of the machine, against plain sums.
#include "tests/backends/cpu_onednn/plain_sums.h"

#include "backends/cpu/convolution_table.h"
#include "backends/cpu/direct_convolution/backward_weights.h"
#include "backends/cpu/direct_convolution/forward_by_panels.h"
#include "backends/cpu/onednn/flipped_filter.h"

#include "core/types/at.h"

using namespace kiln;
using namespace kiln::test;

namespace {

constexpr std::int64_t kFilters = 96;  // whole panels of every ISA

/// x, filter and output of a convolution, with the one that its role computes by plain sums.
struct Tensors {
  Floats x, w, y;
};

Tensors tensors_of(const Convolution& c) {
  Tensors t{
      drawn(c.batch * codegen::product(c.sizes) * c.channels, c.role == ConvRole::Input),
      drawn(codegen::product(c.windows) * c.channels * c.filters, c.role == ConvRole::Filter),
      drawn(c.batch * codegen::product(c.output_sizes) * c.filters, c.role == ConvRole::Output)};
  by_sums(c, t.x, t.w, t.y);
  return t;
}

Convolution square(ConvRole role, std::int64_t batch, std::int64_t size, std::int64_t channels,
                   std::int64_t filters) {
  return {role,   batch,        1,      channels, filters, {size, size},
          {3, 3}, {size, size}, {1, 1}, {1, 1},   {1, 1}};
}

Floats by_panels(const Convolution& c, const Floats& first, const Floats& second,
                 std::size_t results, cpu::GemmIsa isa, const Floats& bias = {}) {
  const bool flipped = c.role == ConvRole::Input;
  const Convolution forward = flipped ? *cpu::as_forward_convolution(c) : c;
  Floats found(results, 7.0f);
  using enum cpu::PanelFilter;
  const auto filter = flipped ? Flipped : Packing;
  run(*cpu::make_forward_by_panels(forward, filter, isa), false, c, first, second, found, bias);
  if (flipped) return found;
  Floats packed(results, 7.0f);
  run(*cpu::make_forward_by_panels(c, Prepacked, isa), true, c, first, second, packed, bias);
  CHECK(packed == found);
  return found;
}

}  // namespace

TEST_CASE("convolution by panels: agrees with plain sums", "[native]") {
  for (const cpu::GemmIsa isa : isas()) {
    const auto check_forward = [&](Convolution c) {
      INFO("ISA " << static_cast<int>(isa) << ", " << c.channels << " channels, stride "
                  << c.strides[0] << ", dilation " << c.dilations[0]);
      Tensors t = tensors_of(c);
      const Floats plain = by_panels(c, t.x, t.w, t.y.size(), isa);
      check_near(plain, t.y);
      Floats bias = drawn(c.filters, false);
      c.bias = c.relu = true;
      c.relu_bound = 0.75f;
      for (std::size_t i = 0; i < plain.size(); ++i) {
        const float sum = plain[i] + bias[i % at(c.filters)];
        t.y[i] = sum <= 0 ? 0.0f : sum > c.relu_bound ? c.relu_bound : sum;
      }
      CHECK(by_panels(c, t.x, t.w, t.y.size(), isa, bias) == t.y);
    };
    check_forward(square(ConvRole::Output, 1, 7, 64, kFilters));
    check_forward(square(ConvRole::Output, 3, 5, 18, 2 * kFilters));
    check_forward(of(ConvRole::Output, 1, 1, 16, kFilters, 2, 1));
    check_forward(of(ConvRole::Output, 1, 1, 16, kFilters, 1, 3));
    Convolution projection{ConvRole::Output, 2,      1,      40,     kFilters, {9, 8},
                           {1, 1},           {5, 4}, {2, 2}, {1, 1}, {0, 0}};
    check_forward(projection);
    const auto check_data = [&](const Convolution& c) {
      INFO("ISA " << static_cast<int>(isa) << ", backward data, dilation " << c.dilations[0]);
      const Tensors t = tensors_of(c);
      check_near(by_panels(c, t.w, t.y, t.x.size(), isa), t.x);
    };
    check_data(square(ConvRole::Input, 1, 7, kFilters, 64));
    check_data(of(ConvRole::Input, 2, 1, 2 * kFilters, 16, 1, 1));
    check_data(of(ConvRole::Input, 1, 1, kFilters, 24, 1, 2));
  }
}

TEST_CASE("convolution by panels: parts, and which convolutions it takes", "[native]") {
  using enum cpu::GemmIsa;
  const Convolution c = square(ConvRole::Output, 1, 7, 512, 512);
  const auto is_by_panels = [](const Convolution& d, cpu::GemmIsa isa) {
    return cpu::convolution_row(d, /*packed=*/false, isa).implementation ==
           cpu::ConvolutionImplementation::ForwardByPanels;
  };
  for (const cpu::GemmIsa isa : isas()) {
    CHECK(cpu::make_forward_by_panels(c, cpu::PanelFilter::Packing, isa)->parts() == 16);
    CHECK(cpu::make_forward_by_panels(square(ConvRole::Output, 1, 2, 16, kFilters),
                                      cpu::PanelFilter::Packing, isa)
              ->parts() == 1);
  }
  for (const cpu::GemmIsa isa : {Baseline, Avx2, Avx512, Amx}) {
    CHECK(is_by_panels(c, isa) == (isa == Avx2));
  }
  const auto takes = [&](auto change) {
    Convolution changed = c;
    change(changed);
    return is_by_panels(changed, Avx2);
  };
  CHECK_FALSE(takes([](Convolution& d) { d.role = ConvRole::Input; }));
  CHECK_FALSE(takes([](Convolution& d) { d.groups = 2; }));
  CHECK_FALSE(takes([](Convolution& d) { d.channels = 8; }));
  CHECK_FALSE(takes([](Convolution& d) { d.filters = 72; }));
  CHECK_FALSE(takes([](Convolution& d) { d.filters = 48; }));
  CHECK_FALSE(takes([](Convolution& d) { d.windows = {6, 6}; }));
  CHECK_FALSE(takes([](Convolution& d) { d.windows = {1, 1}; }));
  CHECK(takes([](Convolution& d) { d.windows = {1, 1}, d.strides = {2, 1}; }));
  CHECK(takes([](Convolution& d) { d.batch = 10; }));
  CHECK_FALSE(takes([](Convolution& d) { d.batch = 11; }));  // 539 pixels
}

TEST_CASE("backward weights: of few images by channels", "[native]") {
  for (const cpu::GemmIsa isa : isas()) {
    if (isa == cpu::GemmIsa::Baseline) continue;
    const auto check_native = [&](const Convolution& c, std::size_t parts) {
      INFO("ISA " << static_cast<int>(isa) << ", " << c.batch << " images, " << c.channels
                  << " channels");
      const auto native = cpu::make_backward_weights(c, isa);
      CHECK(native->parts() == parts);
      CHECK(native->scratch_bytes() == 0);
      const Tensors t = tensors_of(c);
      Floats found(t.w.size(), 7.0f);
      run(*native, false, c, t.x, t.y, found);
      check_near(found, t.w);
    };
    check_native(square(ConvRole::Filter, 1, 7, 130, 128), 6);
    check_native(square(ConvRole::Filter, 2, 9, 30, 96), 2);
    check_native(square(ConvRole::Filter, 7, 20, 100, 64), 8);
    for (const auto& [batch, channels] : {std::pair<int, int>{8, 100}, {4, 16}}) {
      const auto by_images =
          cpu::make_backward_weights(square(ConvRole::Filter, batch, 32, channels, 64), isa);
      CHECK(by_images->parts() == static_cast<std::size_t>(batch));
      CHECK(by_images->scratch_bytes() != 0);
    }
  }
}
