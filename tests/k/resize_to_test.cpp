// Tests resize_images_to (kiln/resize.h). Expected values are those of PyTorch 2's interpolate with
// align_corners=False ("bilinear") and "nearest-exact", or of a plain loop.
#include "tests/support/catch.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

#include <algorithm>
#include <cmath>

namespace kiln::test {
namespace {

using testing::throws;
using testing::Misuse;
using Sizes = std::vector<std::optional<std::int64_t>>;

const Array& image() {
  static const Array array = f32({1, 2, 3, 1}, {1, 2, 4, 3, 8, 0});
  return array;
}

}  // namespace

std::vector<Row> resize_to_rows() {
  return {
      {"resize_images_to",
       {image()},
       [](const Tensors& x) { return resize_images_to(x[0], 3, 5); },
       f32({1, 3, 5, 1}, {1, 1.4f, 2, 3.2f, 4, 2, 3.2f, 5, 3.2f, 2, 3, 5, 8, 3.2f, 0}),
       1e-5},
      {"resize_images_to fewer pixels",
       {image()},
       [](const Tensors& x) { return resize_images_to(x[0], 1, 2); },
       f32({1, 1, 2, 1}, {2.75, 2.75})},
      {"resize_images_to more rows",
       {image()},
       [](const Tensors& x) { return resize_images_to(x[0], 4, 3); },
       f32({1, 4, 3, 1}, {1, 2, 4, 1.5, 3.5, 3, 2.5, 6.5, 1, 3, 8, 0})},
      {"resize_images_to the same size",
       {f32({1, 1, 2, 1}, {7, kNaN})},
       [](const Tensors& x) { return resize_images_to(x[0], 1, 2); },
       f32({1, 1, 2, 1}, {7, kNaN})},
      {"resize_images_to of one pixel",
       {f32({1, 1, 1, 2}, {3, -4})},
       [](const Tensors& x) { return resize_images_to(x[0], 2, 3); },
       f32({1, 2, 3, 2}, {3, -4, 3, -4, 3, -4, 3, -4, 3, -4, 3, -4})},
      {"resize_images_to NaN",
       {f32({1, 1, 3, 1}, {1, kNaN, 3})},
       [](const Tensors& x) { return resize_images_to(x[0], 1, 6); },
       f32({1, 1, 6, 1}, {1, kNaN, kNaN, kNaN, kNaN, 3})},
      {"resize_images_to infinity",
       {f32({1, 1, 2, 1}, {kInf, 1})},
       [](const Tensors& x) { return resize_images_to(x[0], 1, 4); },
       f32({1, 1, 4, 1}, {kNaN, kNaN, kNaN, 1})},
      {"resize_images_to channels_first",
       {f32({1, 2, 1, 2}, {1, 2, 30, 40})},
       [](const Tensors& x) {
         return resize_images_to(x[0], 1, 4, {.data_format = "channels_first"});
       },
       f32({1, 2, 1, 4}, {1, 1.25, 1.75, 2, 30, 32.5, 37.5, 40})},
      {"resize_images_to no samples",
       {none({0, 2, 3, 1})},
       [](const Tensors& x) { return resize_images_to(x[0], 4, 5); },
       none({0, 4, 5, 1})},
      {"resize_images_to no channels",
       {none({2, 2, 3, 0})},
       [](const Tensors& x) { return resize_images_to(x[0], 4, 5); },
       none({2, 4, 5, 0})},
      {"resize_images_to float16",
       {image()},
       [](const Tensors& x) {
         return cast(resize_images_to(cast(x[0], "float16"), 4, 3), "float32");
       },
       f32({1, 4, 3, 1}, {1, 2, 4, 1.5, 3.5, 3, 2.5, 6.5, 1, 3, 8, 0})},
      {"resize_images_to gradient",
       {image()},
       [](const Tensors& x) { return slope(resize_images_to(x[0], 3, 5), x[0]); },
       f32({1, 2, 3, 1}, {2.4f, 2.7f, 2.4f, 2.4f, 2.7f, 2.4f}),
       1e-5},
      {"resize_images_to nearest",
       {image()},
       [](const Tensors& x) { return resize_images_to(x[0], 3, 5, {.interpolation = "nearest"}); },
       f32({1, 3, 5, 1}, {1, 1, 2, 4, 4, 3, 3, 8, 0, 0, 3, 3, 8, 0, 0})},
      {"resize_images_to nearest, fewer pixels",
       {image()},
       [](const Tensors& x) { return resize_images_to(x[0], 1, 2, {.interpolation = "nearest"}); },
       f32({1, 1, 2, 1}, {3, 0})},
      {"resize_images_to nearest integers",
       {i32({1, 1, 2, 1}, {INT32_MAX, INT32_MIN})},
       [](const Tensors& x) { return resize_images_to(x[0], 1, 3, {.interpolation = "nearest"}); },
       i32({1, 1, 3, 1}, {INT32_MAX, INT32_MIN, INT32_MIN})},
      {"resize_images_to nearest bools",
       {bools({1, 2, 1, 1}, {true, false})},
       [](const Tensors& x) { return resize_images_to(x[0], 4, 1, {.interpolation = "nearest"}); },
       bools({1, 4, 1, 1}, {true, true, false, false})},
  };
}

namespace {

const SmoothRow kResizeToGradients[] = {
    {"resize_images_to",
     {{1, 2, 3, 2}},
     [](const Tensors& x) { return square(resize_images_to(x[0], 5, 2)); }},
    {"resize_images_to nearest",
     {{1, 3, 2, 1}},
     [](const Tensors& x) {
       return square(resize_images_to(x[0], 2, 5, {.interpolation = "nearest"}));
     }},
};

const std::vector<Misuse> kResizeToErrors = {
    {throws<ValueError>(), [] { return resize_images_to(of({2, 3, 1}), 1, 1); },
     "resize_images_to: x has rank 3, not 4 (x float32[2,3,1])"},
    {throws<ValueError>(), [] { return resize_images_to(of({1, 2, 3, 1}), 0, 1); },
     "resize_images_to: height is 0, not at least 1"},
    {throws<ValueError>(), [] { return resize_images_to(of({1, 2, 3, 1}), 1, -5); },
     "resize_images_to: width is -5, not at least 1"},
    {throws<ValueError>(), [] { return resize_images_to(of({1, 2, 3, 1}), 1, INT64_MAX); },
     "resize_images_to: width is 9223372036854775807, more than 1073741823"},
    {throws<ValueError>(), [] { return resize_images_to(of({1, 2, 0, 1}), 1, 1); },
     "resize_images_to: axis 2 of x has no pixels (x float32[1,2,0,1])"},
    {throws<ValueError>(), [] { return resize_images_to(of({1, 2, 3, 1}), 1, 1, {"cubic"}); },
     "resize_images_to: interpolation 'cubic' is neither 'nearest' nor 'bilinear'"},
    {throws<ValueError>(1),
     [] { return resize_images_to(of({1, 1, 1, 1}), 1, 1, {"nearest", "x"}); },
     "resize_images_to: data_format 'x' is neither 'channels_last' nor 'channels_first'"},
    {throws<TypeError>(), [] { return resize_images_to(of({1, 2, 3, 1}, "uint8"), 4, 4); },
     "resize_images_to: x is not floating point (x uint8[1,2,3,1])"},
};

/// The interpolation of a row of pixels at a position, by its definition.
double interpolated(const float* pixels, int size, double position) {
  const double inside = std::clamp(position, 0., size - 1.);
  const int left = static_cast<int>(std::floor(inside)), right = std::min(left + 1, size - 1);
  const double weight = inside - left;
  return pixels[left] * (1 - weight) + pixels[right] * weight;
}

}  // namespace

TEST_CASE("resize_images_to", "[k]") { run(resize_to_rows()); }

TEST_CASE("resize_images_to: gradients", "[k]") {
  for (const SmoothRow& row : kResizeToGradients) run(row);
}

TEST_CASE("resize_images_to: misuse", "[k]") { run(kResizeToErrors); }

TEST_CASE("resize_images_to: widths from 1 to 9, by a loop", "[k]") {
  for (int size = 1; size <= 7; size += 2) {
    const Array pixels = pattern({1, 1, size, 1}, 5, 17);
    const Tensor x = of({1, 1, None, 1});
    Tensors outputs;
    for (int width = 1; width <= 9; ++width) {
      outputs.push_back(resize_images_to(x, 1, width));
      outputs.push_back(resize_images_to(x, 1, width, {.interpolation = "nearest"}));
    }
    const std::vector<Array> got = evaluate({x}, outputs, {pixels});
    for (int width = 1; width <= 9; ++width) {
      const auto at = static_cast<std::size_t>(2 * (width - 1));
      for (int i = 0; i < width; ++i) {
        INFO(size << " to " << width << " pixels, pixel " << i);
        const double centre = (i + 0.5) * size / width;
        const auto nearest = static_cast<std::size_t>((2 * i + 1) * size / (2 * width));
        const auto element = static_cast<std::size_t>(i);
        CHECK(got[at].as<float>()[element] ==
              Approx(interpolated(pixels.as<float>().data(), size, centre - 0.5)).margin(1e-5));
        CHECK(got[at + 1].as<float>()[element] == pixels.as<float>()[nearest]);
      }
    }
  }
}

TEST_CASE("resize_images_to: no rows are found at the call", "[k]") {
  const Tensor x = of({None, None, 2, 1});
  const Tensor y = resize_images_to(x, 2, 2);
  CHECK(int_shape(y) == Sizes{{}, 2, 2, 1});
  const Function f = function({x}, {y}, {.backend = tested_backend()});
  CHECK(f({f32({1, 1, 2, 1}, {1, 2})})[0] == f32({1, 2, 2, 1}, {1, 2, 1, 2}));
  CHECK_THROWS_AS(f({none({1, 0, 2, 1})}), ValueError);
}

}  // namespace kiln::test
