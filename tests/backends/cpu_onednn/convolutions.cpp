// Tests convolutions that are divided into parts, in each role, against plain sums: unequal parts,
// filters packed before and during the run, groups, strides, dilations.
#include "tests/backends/cpu_onednn/plain_sums.h"

#include "backends/cpu/onednn/convolutions.h"

using namespace kiln;
using namespace kiln::test;

namespace {

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
    return Convolution{role,    batch,    groups, channels,
                       filters, {64, 64}, {1, 1}, {63 / strides[0] + 1, 63 / strides[1] + 1},
                       strides, {1, 1},   {0, 0}};
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
    for (const float bound : {INFINITY, 0.75f}) {
      c.relu_bound = bound;
      run(*cpu::make_convolution(c, false), false, c, x, w, found, bias);
      run(*cpu::make_loop_convolution(c), false, c, x, w, by_loops, bias);
      for (std::size_t i = 0; i < plain.size(); ++i) {
        const float sum = plain[i] + bias[i % bias.size()];
        const float want = sum <= 0 ? 0.0f : sum > bound ? bound : sum;
        if (std::isnan(want) ? std::isnan(found[i]) && std::isnan(by_loops[i])
                             : found[i] == want && std::abs(by_loops[i] - want) < 1e-4f)
          continue;
        FAIL_CHECK("element " << i << ": " << found[i] << " and " << by_loops[i] << ", not "
                              << want);
        break;
      }
    }
  }
}
