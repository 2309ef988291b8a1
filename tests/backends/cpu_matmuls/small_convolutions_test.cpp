// Tests which implementation computes convolutions of few images, and gradients of pointwise ones
// against plain sums.
#include "tests/backends/cpu_onednn/plain_sums.h"
#include "tests/support/catch.h"

#include "backends/cpu/cpu_library.h"

#include <array>
#include <vector>

using namespace kiln;
using namespace kiln::test;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using codegen::RhsUse;
using cpu::CpuLibrary;
using cpu::GemmIsa;

namespace {

bool has_avx2() { return isas().size() > 1; }

}  // namespace

TEST_CASE("CpuLibrary: gradients of few images are computed in parts") {
  if (!has_avx2()) {
    WARN("left out: the processor has no AVX2");
    return;
  }
  CpuLibrary library(GemmIsa::Avx2);
  const auto prepared = [&](ConvRole role, std::int64_t batch, std::int64_t window,
                            std::int64_t stride, RhsUse use = RhsUse::Once) {
    Convolution c{role,
                  batch,
                  1,
                  256,
                  512,
                  {14, 14},
                  {window, window},
                  {14, 14},
                  {stride, stride},
                  {1, 1},
                  {window / 2, window / 2}};
    for (std::int64_t& size : c.output_sizes) size /= stride;
    return library.prepare_convolution(c, use);
  };
  for (const ConvRole role : {ConvRole::Input, ConvRole::Filter}) {
    const auto pointwise = prepared(role, 1, 1, 1);
    CHECK_THAT(pointwise->description(), EndsWith(", pointwise"));
    CHECK(pointwise->parts() == 8);
    CHECK_THAT(prepared(role, 8, 1, 1)->description(), StartsWith("oneDNN"));
    CHECK_THAT(prepared(role, 1, 1, 2)->description(), StartsWith("oneDNN"));
    CHECK(prepared(role, 1, 3, 1)->parts() == (role == ConvRole::Input ? 16 : 8));
  }
  CHECK_THAT(prepared(ConvRole::Output, 1, 1, 1)->description(), StartsWith("oneDNN"));
  const auto by_panels = StartsWith("native loops by panels");
  CHECK_THAT(prepared(ConvRole::Input, 1, 3, 1)->description(), by_panels);
  CHECK_THAT(prepared(ConvRole::Output, 1, 3, 2)->description(), by_panels);
  CHECK_THAT(prepared(ConvRole::Output, 1, 1, 2)->description(), by_panels);
  const auto packed = [&](ConvRole role, std::int64_t window) {
    return prepared(role, 1, window, 1, RhsUse::Kept)->description();
  };
  for (const ConvRole role : {ConvRole::Input, ConvRole::Output}) {
    CHECK_THAT(packed(role, 1), StartsWith("oneDNN"));
  }
  CHECK_THAT(packed(ConvRole::Input, 3), StartsWith("oneDNN"));
  CHECK_THAT(packed(ConvRole::Output, 3), by_panels);
}

TEST_CASE("CpuLibrary: gradients of pointwise convolutions agree with plain sums") {
  if (!has_avx2()) {
    WARN("left out: the processor has no AVX2");
    return;
  }
  CpuLibrary library(GemmIsa::Avx2);
  const std::array<std::int64_t, 3> rows[] = {
      {30, 24, 40}, {5, 200, 520}, {3, 300, 33}, {7, 600, 20}};
  for (const auto& [size, channels, filters] : rows) {
    for (const ConvRole role : {ConvRole::Input, ConvRole::Filter}) {
      const Convolution c{role,         3,      1,      channels, filters, {size, size}, {1, 1},
                          {size, size}, {1, 1}, {1, 1}, {0, 0}};
      INFO(channels << " to " << filters << ", role " << static_cast<int>(role));
      Floats x = drawn(3 * size * size * channels, role == ConvRole::Input);
      Floats w = drawn(channels * filters, role == ConvRole::Filter);
      Floats y = drawn(3 * size * size * filters, false);
      by_sums(c, x, w, y);
      const auto prepared = library.prepare_convolution(c, RhsUse::Once);
      CHECK_THAT(prepared->description(), EndsWith(", pointwise"));
      Floats found((role == ConvRole::Input ? x : w).size(), 7.0f);
      run(*prepared, false, c, role == ConvRole::Input ? w : x, y, found);
      check_near(found, role == ConvRole::Input ? x : w);
    }
  }
}

TEST_CASE("CpuLibrary: spatial axes of one element are left out") {
  CpuLibrary library(isas().back());
  const Convolution sequence{
      ConvRole::Output, 2, 1, 24, 32, {40}, {5}, {18}, {2}, {1}, {1}, true, true};
  const auto expected = library.prepare_convolution(sequence, RhsUse::Kept);
  const auto with = [&](std::size_t at, std::int64_t size, std::int64_t low) {
    Convolution c = sequence;
    const std::pair<ir::Ints*, std::int64_t> axis[] = {{&c.sizes, size},     {&c.windows, 1},
                                                       {&c.output_sizes, 1}, {&c.strides, 3},
                                                       {&c.dilations, 1},    {&c.low, low}};
    for (const auto& [list, value] : axis) {
      list->insert(list->begin() + static_cast<std::ptrdiff_t>(at), value);
    }
    return library.prepare_convolution(c, RhsUse::Kept);
  };
  CHECK(with(0, 1, 0) == expected);
  CHECK(with(1, 1, 0) == expected);
  CHECK(with(1, 1, 1) != expected);  // the only tap is in the padding
  CHECK(with(1, 2, 0) != expected);
  const ir::Ints ones{1, 1, 1}, zeros{0, 0, 0};
  const Convolution unit{ConvRole::Output, 2, 1, 24, 32, ones, ones, ones, ones, ones, zeros};
  const Convolution one_axis{ConvRole::Output, 2, 1, 24, 32, {1}, {1}, {1}, {1}, {1}, {0}};
  CHECK(library.prepare_convolution(unit, RhsUse::Kept) ==
        library.prepare_convolution(one_axis, RhsUse::Kept));
}

TEST_CASE("CpuLibrary: pointwise gradients of 1 and 3 spatial axes are those of 2") {
  if (!has_avx2()) {
    WARN("left out: the processor has no AVX2");
    return;
  }
  CpuLibrary library(GemmIsa::Avx2);
  const Floats w = drawn(40 * 48, false), x = drawn(64 * 40, false), dy = drawn(64 * 48, false);
  for (const ConvRole role : {ConvRole::Input, ConvRole::Filter}) {
    std::vector<Floats> found;
    for (const ir::Ints& sizes : {ir::Ints{8, 8}, ir::Ints{64}, ir::Ints{4, 2, 8}}) {
      const ir::Ints ones(sizes.size(), 1), zeros(sizes.size(), 0);
      const Convolution c{role, 1, 1, 40, 48, sizes, ones, sizes, ones, ones, zeros};
      const auto prepared = library.prepare_convolution(c, RhsUse::Once);
      CHECK_THAT(prepared->description(), EndsWith(", pointwise"));
      const bool of_x = role == ConvRole::Input;
      found.emplace_back((of_x ? x : w).size(), 7.0f);
      run(*prepared, false, c, of_x ? w : x, dy, found.back());
    }
    CHECK(found[1] == found[0]);
    CHECK(found[2] == found[0]);
  }
}
