// Tests kiln/padding.h and kiln/resize.h. Expected values are those of NumPy 2.4's function
// of that meaning (pad, repeat). Of bilinear interpolation: along each axis a + (b - a) * w with
// a = x[i // f], b = x[min(i // f + 1, n - 1)], w = i % f / f.
#include "tests/support/catch.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

namespace kiln::test {
namespace {

using testing::throws;
using testing::Misuse;

std::vector<Row> padding() {
  return {
      {"temporal_padding",
       {counted({1, 2, 2})},
       [](const Tensors& x) { return temporal_padding(x[0]); },
       f32({1, 4, 2}, {0, 0, 0, 1, 2, 3, 0, 0})},
      {"temporal_padding sides",
       {f32({2, 1, 1}, {5, 6})},
       [](const Tensors& x) { return temporal_padding(x[0], {.padding = {0, 2}}); },
       f32({2, 3, 1}, {5, 0, 0, 6, 0, 0})},
      {"temporal_padding integers, one side",
       {i32({1, 1, 2}, {1, 2})},
       [](const Tensors& x) { return temporal_padding(x[0], {.padding = {1, 0}}); },
       i32({1, 2, 2}, {0, 0, 1, 2})},
      {"temporal_padding of no steps",
       {none({2, 0, 1})},
       [](const Tensors& x) { return temporal_padding(x[0], {.padding = {1, 0}}); },
       none({2, 1, 1})},
      {"temporal_padding bools",
       {bools({1, 1, 1}, {true})},
       [](const Tensors& x) { return temporal_padding(x[0]); },
       bools({1, 3, 1}, {false, true, false})},
      {"temporal_padding by nothing",
       {counted({1, 2, 2})},
       [](const Tensors& x) { return temporal_padding(x[0], {.padding = {0, 0}}); },
       counted({1, 2, 2})},
      {"spatial_2d_padding",
       {f32({1, 1, 2, 1}, {1, 2})},
       [](const Tensors& x) { return spatial_2d_padding(x[0]); },
       f32({1, 3, 4, 1}, {0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0})},
      {"spatial_2d_padding sides",
       {f32({1, 1, 2, 2}, {1, 2, 3, 4})},
       [](const Tensors& x) { return spatial_2d_padding(x[0], {.padding = {{1, 0}, {0, 1}}}); },
       f32({1, 2, 3, 2}, {0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 0, 0})},
      {"spatial_2d_padding channels_first",
       {f32({1, 2, 1, 2}, {1, 2, 3, 4})},
       [](const Tensors& x) {
         return spatial_2d_padding(x[0],
                                   {.padding = {{0, 1}, {1, 0}}, .data_format = "channels_first"});
       },
       f32({1, 2, 2, 3}, {0, 1, 2, 0, 0, 0, 0, 3, 4, 0, 0, 0})},
      {"spatial_2d_padding integers, no samples",
       {Array::zeros({0, 1, 1, 1}, DType::Int32)},
       [](const Tensors& x) { return spatial_2d_padding(x[0]); },
       Array::zeros({0, 3, 3, 1}, DType::Int32)},
      {"spatial_3d_padding",
       {f32({1, 1, 1, 1, 1}, {9})},
       [](const Tensors& x) { return spatial_3d_padding(x[0]); },
       f32({1, 3, 3, 3, 1},
           {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})},
      {"spatial_3d_padding sides",
       {f32({1, 1, 1, 2, 1}, {1, 2})},
       [](const Tensors& x) {
         return spatial_3d_padding(x[0], {.padding = {{1, 0}, {0, 1}, {0, 0}}});
       },
       f32({1, 2, 2, 2, 1}, {0, 0, 0, 0, 1, 2, 0, 0})},
      {"spatial_3d_padding channels_first",
       {f32({1, 2, 1, 1, 1}, {1, 2})},
       [](const Tensors& x) {
         return spatial_3d_padding(
             x[0], {.padding = {{0, 0}, {0, 1}, {1, 0}}, .data_format = "channels_first"});
       },
       f32({1, 2, 1, 2, 2}, {0, 1, 0, 0, 0, 2, 0, 0})},
  };
}

const Array& squares() {
  static const Array array = f32({1, 2, 3, 2}, {0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121});
  return array;
}

std::vector<Row> resizing() {
  return {
      {"resize_images",
       {f32({1, 1, 2, 1}, {1, 2})},
       [](const Tensors& x) { return resize_images(x[0], 2, 3, "channels_last"); },
       f32({1, 2, 6, 1}, {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2})},
      {"resize_images channels_first",
       {f32({1, 2, 1, 2}, {1, 2, 3, 4})},
       [](const Tensors& x) { return resize_images(x[0], 1, 2, "channels_first"); },
       f32({1, 2, 1, 4}, {1, 1, 2, 2, 3, 3, 4, 4})},
      {"resize_images integers",
       {i32({1, 1, 1, 2}, {1, 2})},
       [](const Tensors& x) { return resize_images(x[0], 2, 1, "channels_last"); },
       i32({1, 2, 1, 2}, {1, 2, 1, 2})},
      {"resize_images by one",
       {counted({1, 2, 1, 2})},
       [](const Tensors& x) { return resize_images(x[0], 1, 1, "channels_first"); },
       counted({1, 2, 1, 2})},
      {"resize_images bools",
       {bools({1, 1, 2, 1}, {true, false})},
       [](const Tensors& x) { return resize_images(x[0], 1, 2, "channels_last"); },
       bools({1, 1, 4, 1}, {true, true, false, false})},
      {"resize_images no columns, channels_first",
       {none({1, 2, 3, 0})},
       [](const Tensors& x) { return resize_images(x[0], 2, 2, "channels_first"); },
       none({1, 2, 6, 0})},
      {"resize_images gradient",
       {f32({1, 1, 2, 1}, {1, 2})},
       [](const Tensors& x) {
         return gradients(sum(resize_images(x[0], 2, 3, "channels_last")), {x[0]})[0];
       },
       f32({1, 1, 2, 1}, {6, 6})},
      {"resize_images no samples",
       {none({0, 2, 2, 1})},
       [](const Tensors& x) { return resize_images(x[0], 2, 2, "channels_last"); },
       none({0, 4, 4, 1})},
      {"resize_images bilinear",
       {f32({1, 2, 2, 1}, {1, 2, 4, 8})},
       [](const Tensors& x) {
         return resize_images(x[0], 2, 3, "channels_last", {.interpolation = "bilinear"});
       },
       f32({1, 4, 6, 1},
           {1, 1.3333334f, 1.6666666f, 2, 2, 2, 2.5, 3.3333333f, 4.1666665f, 5, 5, 5,
            4, 5.3333335f, 6.6666665f, 8, 8, 8, 4,   5.3333335f, 6.6666665f, 8, 8, 8})},
      {"resize_images bilinear rows",
       {squares()},
       [](const Tensors& x) {
         return resize_images(x[0], 2, 1, "channels_last", {.interpolation = "bilinear"});
       },
       f32({1, 4, 3, 2}, {0,  1,  4,  9,  16,  25,  18, 25, 34, 45, 58,  73,
                          36, 49, 64, 81, 100, 121, 36, 49, 64, 81, 100, 121})},
      {"resize_images bilinear channels_first",
       {squares()},
       [](const Tensors& x) {
         return resize_images(x[0], 1, 2, "channels_first", {.interpolation = "bilinear"});
       },
       f32({1, 2, 3, 4}, {0,  0.5,  1,  1,  4,  6.5,  9,  9,  16,  20.5,  25,  25,
                          36, 42.5, 49, 49, 64, 72.5, 81, 81, 100, 110.5, 121, 121})},
      {"resize_images bilinear of one pixel",
       {f32({1, 1, 1, 2}, {3, -4})},
       [](const Tensors& x) {
         return resize_images(x[0], 2, 2, "channels_last", {.interpolation = "bilinear"});
       },
       f32({1, 2, 2, 2}, {3, -4, 3, -4, 3, -4, 3, -4})},
      // The last pixel repeats beyond the end: it has the weights 1/3 and 2/3 of its neighbours'
      // positions, and its own three.
      {"resize_images bilinear gradient",
       {f32({1, 1, 2, 1}, {1, 2})},
       [](const Tensors& x) {
         const Tensor y = resize_images(x[0], 1, 3, "channels_last", {.interpolation = "bilinear"});
         return gradients(sum(y), {x[0]})[0];
       },
       f32({1, 1, 2, 1}, {2, 4})},
      {"resize_images bilinear float16",
       {f32({1, 1, 2, 1}, {1, 2})},
       [](const Tensors& x) {
         return cast(resize_images(cast(x[0], "float16"), 1, 2, "channels_last",
                                   {.interpolation = "bilinear"}),
                     "float32");
       },
       f32({1, 1, 4, 1}, {1, 1.5, 2, 2})},
      {"resize_images bilinear of no rows",
       {none({1, 0, 1, 2})},
       [](const Tensors& x) {
         return resize_images(x[0], 2, 2, "channels_last", {.interpolation = "bilinear"});
       },
       none({1, 0, 2, 2})},
      {"resize_images bilinear infinity reaches its neighbours",
       {f32({1, 1, 3, 1}, {0, 1, kInf})},
       [](const Tensors& x) {
         return resize_images(x[0], 1, 2, "channels_last", {.interpolation = "bilinear"});
       },
       f32({1, 1, 6, 1}, {0, 0.5, kNaN, kInf, kNaN, kNaN})},
      {"resize_volumes",
       {counted({1, 1, 2, 2, 1})},
       [](const Tensors& x) { return resize_volumes(x[0], 2, 1, 3, "channels_last"); },
       f32({1, 2, 2, 6, 1},
           {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3})},
      {"resize_volumes integers, no samples",
       {Array::zeros({0, 1, 2, 1, 1}, DType::Int64)},
       [](const Tensors& x) { return resize_volumes(x[0], 1, 2, 3, "channels_last"); },
       Array::zeros({0, 1, 4, 3, 1}, DType::Int64)},
      {"resize_volumes channels_first",
       {counted({1, 2, 1, 1, 2})},
       [](const Tensors& x) { return resize_volumes(x[0], 1, 2, 1, "channels_first"); },
       f32({1, 2, 1, 2, 2}, {0, 1, 0, 1, 2, 3, 2, 3})},
  };
}

}  // namespace

std::vector<Row> image_rows() {
  std::vector<Row> rows = padding(), more = resizing();
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

namespace {

const SmoothRow kImageGradients[] = {
    {"temporal_padding",
     {{2, 3, 2}},
     [](const Tensors& x) { return square(temporal_padding(x[0], {.padding = {2, 1}})); }},
    {"spatial_2d_padding",
     {{1, 2, 3, 2}},
     [](const Tensors& x) { return square(spatial_2d_padding(x[0])); }},
    {"spatial_3d_padding",
     {{1, 2, 1, 2, 2}},
     [](const Tensors& x) {
       return square(spatial_3d_padding(x[0], {.data_format = "channels_first"}));
     }},
    {"resize_images",
     {{1, 2, 3, 2}},
     [](const Tensors& x) { return square(resize_images(x[0], 2, 3, "channels_last")); }},
    {"resize_images bilinear",
     {{1, 2, 3, 2}},
     [](const Tensors& x) {
       return square(resize_images(x[0], 2, 3, "channels_last", {.interpolation = "bilinear"}));
     }},
    {"resize_images bilinear channels_first",
     {{1, 2, 1, 3}},
     [](const Tensors& x) {
       return square(resize_images(x[0], 3, 2, "channels_first", {.interpolation = "bilinear"}));
     }},
    {"resize_volumes",
     {{1, 2, 1, 2, 2}},
     [](const Tensors& x) { return square(resize_volumes(x[0], 2, 2, 1, "channels_last")); }},
};

const std::vector<Misuse> kImageErrors = {
    {throws<ValueError>(), [] { return temporal_padding(of({2, 3})); },
     "temporal_padding: x has rank 2, not 3 (x float32[2,3])"},
    {throws<ValueError>(), [] { return temporal_padding(of({2, 3, 1}), {.padding = {-1, 2}}); },
     "temporal_padding: padding (-1, 2) of axis 1 is negative"},
    {throws<ValueError>(), [] { return spatial_2d_padding(of({2, 3, 1})); },
     "spatial_2d_padding: x has rank 3, not 4 (x float32[2,3,1])"},
    {throws<ValueError>(1),
     [] { return spatial_2d_padding(of({1, 1, 1, 1}), {.data_format = "tf"}); },
     "spatial_2d_padding: data_format 'tf' is neither 'channels_last' nor 'channels_first'"},
    {throws<ValueError>(1),
     [] { return spatial_2d_padding(of({1, 1, 1, 1}), {.padding = {{1, 1}, {0, -3}}}); },
     "spatial_2d_padding: padding (0, -3) of axis 2 is negative"},
    {throws<ValueError>(), [] { return spatial_3d_padding(of({1, 1, 1, 1})); },
     "spatial_3d_padding: x has rank 4, not 5 (x float32[1,1,1,1])"},
    {throws<ValueError>(1),
     [] { return spatial_3d_padding(of({1, 1, 1, 1, 1}), {.data_format = ""}); },
     "spatial_3d_padding: data_format '' is neither 'channels_last' nor 'channels_first'"},
    {throws<ValueError>(), [] { return resize_images(of({1, 1, 1}), 1, 1, "channels_last"); },
     "resize_images: x has rank 3, not 4 (x float32[1,1,1])"},
    {throws<ValueError>(), [] { return resize_images(of({1, 1, 1, 1}), 1, 1, "default"); },
     "resize_images: data_format 'default' is neither 'channels_last' nor 'channels_first'"},
    {throws<ValueError>(), [] { return resize_images(of({1, 1, 1, 1}), 1, 0, "channels_last"); },
     "resize_images: width_factor is 0, not at least 1"},
    {throws<ValueError>(1),
     [] { return resize_images(of({1, 4, 1, 1}), std::int64_t{1} << 62, 1, "channels_last"); },
     "resize_images: a dimension does not fit in 64 bits"},
    {throws<ValueError>(), [] { return resize_images(of({1, 1, 1, 1}), 0, 1, "channels_last"); },
     "resize_images: height_factor is 0, not at least 1"},
    {throws<ValueError>(2),
     [] {
       return resize_images(of({1, 1, 1, 1}), 1, 1, "channels_last", {.interpolation = "cubic"});
     },
     "resize_images: interpolation 'cubic' is neither 'nearest' nor 'bilinear'"},
    {throws<TypeError>(3),
     [] {
       const Tensor x = of({1, 1, 1, 1}, "int32");
       return resize_images(x, 1, 1, "channels_last", {.interpolation = "bilinear"});
     },
     "resize_images: x is not floating point (x int32[1,1,1,1])"},
    {throws<ValueError>(1),
     [] { return resize_volumes(of({1, 1, 1, 1, 1}), 0, 1, 1, "channels_last"); },
     "resize_volumes: depth_factor is 0, not at least 1"},
    {throws<ValueError>(1),
     [] { return resize_volumes(of({1, 1, 1, 1, 1}), 1, 1, -2, "channels_last"); },
     "resize_volumes: width_factor is -2, not at least 1"},
    {throws<ValueError>(1),
     [] { return resize_volumes(of({1, 1, 1, 1}), 1, 1, 1, "channels_first"); },
     "resize_volumes: x has rank 4, not 5 (x float32[1,1,1,1])"},
    {throws<ValueError>(), [] { return resize_volumes(of({1, 1, 1, 1, 1}), 1, 1, 1, "th"); },
     "resize_volumes: data_format 'th' is neither 'channels_last' nor 'channels_first'"},
};

}  // namespace

TEST_CASE("paddings and resizing", "[k]") { run(image_rows()); }

TEST_CASE("paddings and resizing: gradients", "[k]") {
  for (const SmoothRow& row : kImageGradients) run(row);
}

TEST_CASE("paddings and resizing: misuse", "[k]") { run(kImageErrors); }

TEST_CASE("paddings: the process's data format applies when none is given", "[k]") {
  struct Restore {
    ~Restore() { set_image_data_format("channels_last"); }
  } restore;
  set_image_data_format("channels_first");
  CHECK(int_shape(spatial_2d_padding(of({1, 2, 3, 4}))) ==
        std::vector<std::optional<std::int64_t>>{1, 2, 5, 6});
}

}  // namespace kiln::test
