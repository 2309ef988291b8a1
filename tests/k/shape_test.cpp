// Group H. Expected values are what NumPy 2.4 gives for the function of that meaning (reshape,
// transpose, repeat, tile, pad, flip, eye[indices]). Of bilinear interpolation: along each axis
// a + (b - a) * w with a = x[i // f], b = x[min(i // f + 1, n - 1)], w = i % f / f.
#include "tests/catch.h"
#include "tests/k/row.h"
#include "tests/misuse.h"

#include <numeric>

namespace kiln::test {
namespace {

using testing::Fault;
using testing::Misuse;

/// 0, 1, 2, ... in C order.
Array counted(std::vector<std::int64_t> dims) {
  Array array = Array::zeros(std::move(dims));
  const auto elements = array.as<float>();
  std::iota(elements.begin(), elements.end(), 0.0f);
  return array;
}
const Array& m23() {
  static const Array array = counted({2, 3});
  return array;
}
Array none(std::vector<std::int64_t> dims) { return Array::zeros(std::move(dims)); }
Tensor slope(const Tensor& y, const Tensor& x) { return gradients(sum(y), {x})[0]; }

std::vector<Row> movement() {
  return {
      {"reshape", {m23()}, [](const Tensors& x) { return reshape(x[0], {3, 2}); },
       f32({3, 2}, {0, 1, 2, 3, 4, 5})},
      {"reshape free", {m23()}, [](const Tensors& x) { return reshape(x[0], {3, -1, 1}); },
       f32({3, 2, 1}, {0, 1, 2, 3, 4, 5})},
      {"reshape by entries of a shape", {m23()},
       [](const Tensors& x) { return reshape(x[0], {shape(x[0])[1], -1}); },
       f32({3, 2}, {0, 1, 2, 3, 4, 5})},
      {"reshape by a shape", {m23(), none({3, 2})},
       [](const Tensors& x) { return reshape(x[0], shape(x[1])); },
       f32({3, 2}, {0, 1, 2, 3, 4, 5})},
      {"reshape to a scalar", {f32({1, 1}, {7})},
       [](const Tensors& x) { return reshape(x[0], {}); }, f32({}, {7})},
      {"reshape nothing", {none({0, 3})},
       [](const Tensors& x) { return reshape(x[0], {3, 0, 2}); }, none({3, 0, 2})},
      {"permute_dimensions", {counted({2, 1, 3})},
       [](const Tensors& x) { return permute_dimensions(x[0], {2, 0, 1}); },
       f32({3, 2, 1}, {0, 3, 1, 4, 2, 5})},
      {"permute_dimensions negative", {m23()},
       [](const Tensors& x) { return permute_dimensions(x[0], {-1, -2}); },
       f32({3, 2}, {0, 3, 1, 4, 2, 5})},
      {"concatenate", {m23(), f32({2, 1}, {8, 9})},
       [](const Tensors& x) { return concatenate({x[0], x[1]}); },
       f32({2, 4}, {0, 1, 2, 8, 3, 4, 5, 9})},
      {"concatenate axis", {m23(), none({0, 3}), f32({1, 3}, {7, 8, 9})},
       [](const Tensors& x) { return concatenate({x[0], x[1], x[2]}, {.axis = -2}); },
       f32({3, 3}, {0, 1, 2, 3, 4, 5, 7, 8, 9})},
      {"concatenate one", {m23()}, [](const Tensors& x) { return concatenate({x[0]}); }, m23()},
      {"stack", {f32({2}, {1, 2}), f32({2}, {3, 4})},
       [](const Tensors& x) { return stack({x[0], x[1]}); }, f32({2, 2}, {1, 2, 3, 4})},
      {"stack last", {f32({2}, {1, 2}), f32({2}, {3, 4})},
       [](const Tensors& x) { return stack({x[0], x[1]}, {.axis = -1}); },
       f32({2, 2}, {1, 3, 2, 4})},
      {"stack scalars", {f32({}, {1}), f32({}, {2})},
       [](const Tensors& x) { return stack({x[0], x[1]}); }, f32({2}, {1, 2})},
      {"expand_dims", {m23()}, [](const Tensors& x) { return expand_dims(x[0]); },
       counted({2, 3, 1})},
      {"expand_dims axis", {m23()},
       [](const Tensors& x) { return expand_dims(x[0], {.axis = -2}); },
       counted({2, 1, 3})},
      {"expand_dims first", {m23()},
       [](const Tensors& x) { return expand_dims(x[0], {.axis = 0}); },
       counted({1, 2, 3})},
      {"squeeze", {counted({2, 1, 3})}, [](const Tensors& x) { return squeeze(x[0], 1); }, m23()},
      {"squeeze negative", {counted({2, 3, 1})}, [](const Tensors& x) { return squeeze(x[0], -1); },
       m23()},
      {"flatten", {m23()}, [](const Tensors& x) { return flatten(x[0]); }, counted({6})},
      {"flatten a scalar", {f32({}, {4})}, [](const Tensors& x) { return flatten(x[0]); },
       f32({1}, {4})},
      {"batch_flatten", {counted({2, 3, 2})}, [](const Tensors& x) { return batch_flatten(x[0]); },
       counted({2, 6})},
      {"batch_flatten a vector", {counted({3})},
       [](const Tensors& x) { return batch_flatten(x[0]); }, counted({3, 1})},
      {"batch_flatten nothing", {none({0, 3, 2})},
       [](const Tensors& x) { return batch_flatten(x[0]); }, none({0, 6})},
      {"repeat_elements", {m23()}, [](const Tensors& x) { return repeat_elements(x[0], 2, 1); },
       f32({2, 6}, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5})},
      {"repeat_elements first axis", {m23()},
       [](const Tensors& x) { return repeat_elements(x[0], 2, -2); },
       f32({4, 3}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5})},
      {"repeat_elements once", {m23()},
       [](const Tensors& x) { return repeat_elements(x[0], 1, 0); }, m23()},
      {"repeat_elements never", {m23()},
       [](const Tensors& x) { return repeat_elements(x[0], 0, 0); }, none({0, 3})},
      {"repeat", {f32({2, 2}, {1, 2, 3, 4})}, [](const Tensors& x) { return repeat(x[0], 3); },
       f32({2, 3, 2}, {1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4})},
      {"repeat never", {m23()}, [](const Tensors& x) { return repeat(x[0], 0); },
       none({2, 0, 3})},
      {"tile", {m23()}, [](const Tensors& x) { return tile(x[0], {2, 2}); },
       f32({4, 6}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5})},
      {"tile number", {m23()}, [](const Tensors& x) { return tile(x[0], 2); },
       f32({2, 6}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5})},
      {"tile shorter", {counted({2, 2, 1})}, [](const Tensors& x) { return tile(x[0], {2, 3}); },
       f32({2, 4, 3}, {0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 2, 2, 2, 3, 3, 3})},
      {"tile never", {m23()}, [](const Tensors& x) { return tile(x[0], {0, 2}); }, none({0, 6})},
      {"reverse", {m23()}, [](const Tensors& x) { return reverse(x[0], 1); },
       f32({2, 3}, {2, 1, 0, 5, 4, 3})},
      {"reverse axes", {m23()}, [](const Tensors& x) { return reverse(x[0], {0, -1}); },
       f32({2, 3}, {5, 4, 3, 2, 1, 0})},
      {"reverse nothing", {none({0, 3})}, [](const Tensors& x) { return reverse(x[0], 0); },
       none({0, 3})},
      {"pattern_broadcast", {counted({1, 3}), m23()},
       [](const Tensors& x) { return pattern_broadcast(x[0], {true, false}) + x[1]; },
       f32({2, 3}, {0, 2, 4, 3, 5, 7})},
      {"pattern_broadcast nothing marked", {m23()},
       [](const Tensors& x) { return pattern_broadcast(x[0], {false, false}); }, m23()},
  };
}

std::vector<Row> numbers() {
  return {
      {"arange", {none({2})}, [](const Tensors&) { return arange(4); }, i32({4}, {0, 1, 2, 3})},
      {"arange negative stop", {none({2})},
       [](const Tensors&) { return arange(-3); }, i32({0}, {})},
      {"arange start", {none({2})}, [](const Tensors&) { return arange(-1, 2); },
       i32({3}, {-1, 0, 1})},
      {"arange down", {none({2})}, [](const Tensors&) { return arange(5, 0, -2); },
       i32({3}, {5, 3, 1})},
      {"arange fractions", {none({2})},
       [](const Tensors&) { return arange(0.5, 2, 0.5, {.dtype = "float32"}); },
       f32({3}, {0.5, 1, 1.5})},
      {"arange up to a size", {none({3, 2})},
       [](const Tensors& x) { return arange(shape(x[0])[0], {.dtype = "int64"}); },
       i64({3}, {0, 1, 2})},
      {"arange from a size", {none({3, 2})},
       [](const Tensors& x) { return arange(shape(x[0])[1], 6, 2); }, i32({2}, {2, 4})},
      {"one_hot", {i32({2, 2}, {0, 2, 1, 1})}, [](const Tensors& x) { return one_hot(x[0], 3); },
       f32({2, 2, 3}, {1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0})},
      {"one_hot outside", {i64({3}, {-1, 3, 2})}, [](const Tensors& x) { return one_hot(x[0], 3); },
       f32({3, 3}, {0, 0, 0, 0, 0, 0, 0, 0, 1})},
      {"one_hot no classes", {i32({2}, {0, 1})},
       [](const Tensors& x) { return one_hot(x[0], 0); }, none({2, 0})},
      {"size", {m23()}, [](const Tensors& x) { return size(x[0]); }, i64({}, {6})},
      {"size of a scalar", {f32({}, {3})}, [](const Tensors& x) { return size(x[0]); },
       i64({}, {1})},
      {"size of nothing", {none({0, 3})}, [](const Tensors& x) { return size(x[0]); },
       i64({}, {0})},
      {"slice", {m23()}, [](const Tensors& x) { return slice(x[0], {0, 1}, {2, 2}); },
       f32({2, 2}, {1, 2, 4, 5})},
      {"slice what is left", {m23()},
       [](const Tensors& x) { return slice(x[0], {1, 1}, {-1, -1}); },
       f32({1, 2}, {4, 5})},
      {"slice nothing", {m23()}, [](const Tensors& x) { return slice(x[0], {2, 0}, {0, 3}); },
       none({0, 3})},
      {"slice a scalar", {f32({}, {3})}, [](const Tensors& x) { return slice(x[0], {}, {}); },
       f32({}, {3})},
      {"slice by shapes", {counted({4}), none({3, 2})},
       [](const Tensors& x) { return slice(x[0], {1}, {shape(x[1])[1]}); }, f32({2}, {1, 2})},
      {"slice by vectors", {counted({4, 3}), none({2, 2})},
       [](const Tensors& x) { return slice(x[0], shape(x[1]) - 1, shape(x[1])); },
       f32({2, 2}, {4, 5, 7, 8})},
      {"slice from a start that is data", {counted({5}), i32({}, {3})},
       [](const Tensors& x) { return slice(x[0], {x[1]}, {2}); }, f32({2}, {3, 4})},
      {"slice from starts that are data", {counted({3, 3}), i64({2}, {1, 0})},
       [](const Tensors& x) { return slice(x[0], x[1], {2, 2}); }, f32({2, 2}, {3, 4, 6, 7})},
      {"slice bools", {bools({3}, {true, false, true})},
       [](const Tensors& x) { return slice(x[0], {1}, {2}); }, bools({2}, {false, true})},
      {"slice gradient", {m23()},
       [](const Tensors& x) { return slope(slice(x[0], {0, 1}, {2, 1}), x[0]); },
       f32({2, 3}, {0, 1, 0, 0, 1, 0})},
  };
}

std::vector<Row> padding() {
  return {
      {"temporal_padding", {counted({1, 2, 2})},
       [](const Tensors& x) { return temporal_padding(x[0]); },
       f32({1, 4, 2}, {0, 0, 0, 1, 2, 3, 0, 0})},
      {"temporal_padding sides", {f32({2, 1, 1}, {5, 6})},
       [](const Tensors& x) { return temporal_padding(x[0], {.padding = {0, 2}}); },
       f32({2, 3, 1}, {5, 0, 0, 6, 0, 0})},
      {"temporal_padding of no steps", {none({2, 0, 1})},
       [](const Tensors& x) { return temporal_padding(x[0], {.padding = {1, 0}}); },
       none({2, 1, 1})},
      {"temporal_padding bools", {bools({1, 1, 1}, {true})},
       [](const Tensors& x) { return temporal_padding(x[0]); },
       bools({1, 3, 1}, {false, true, false})},
      {"temporal_padding by nothing", {counted({1, 2, 2})},
       [](const Tensors& x) { return temporal_padding(x[0], {.padding = {0, 0}}); },
       counted({1, 2, 2})},
      {"spatial_2d_padding", {f32({1, 1, 2, 1}, {1, 2})},
       [](const Tensors& x) { return spatial_2d_padding(x[0]); },
       f32({1, 3, 4, 1}, {0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0})},
      {"spatial_2d_padding sides", {f32({1, 1, 2, 2}, {1, 2, 3, 4})},
       [](const Tensors& x) {
         return spatial_2d_padding(x[0], {.padding = {{1, 0}, {0, 1}}});
       },
       f32({1, 2, 3, 2}, {0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 0, 0})},
      {"spatial_2d_padding channels_first", {f32({1, 2, 1, 2}, {1, 2, 3, 4})},
       [](const Tensors& x) {
         return spatial_2d_padding(
             x[0], {.padding = {{0, 1}, {1, 0}}, .data_format = "channels_first"});
       },
       f32({1, 2, 2, 3}, {0, 1, 2, 0, 0, 0, 0, 3, 4, 0, 0, 0})},
      {"spatial_2d_padding integers, no samples", {Array::zeros({0, 1, 1, 1}, DType::Int32)},
       [](const Tensors& x) { return spatial_2d_padding(x[0]); },
       Array::zeros({0, 3, 3, 1}, DType::Int32)},
      {"spatial_3d_padding", {f32({1, 1, 1, 1, 1}, {9})},
       [](const Tensors& x) { return spatial_3d_padding(x[0]); },
       f32({1, 3, 3, 3, 1}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9,
                             0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})},
      {"spatial_3d_padding sides", {f32({1, 1, 1, 2, 1}, {1, 2})},
       [](const Tensors& x) {
         return spatial_3d_padding(x[0], {.padding = {{1, 0}, {0, 1}, {0, 0}}});
       },
       f32({1, 2, 2, 2, 1}, {0, 0, 0, 0, 1, 2, 0, 0})},
      {"spatial_3d_padding channels_first", {f32({1, 2, 1, 1, 1}, {1, 2})},
       [](const Tensors& x) {
         return spatial_3d_padding(
             x[0], {.padding = {{0, 0}, {0, 1}, {1, 0}}, .data_format = "channels_first"});
       },
       f32({1, 2, 1, 2, 2}, {0, 1, 0, 0, 0, 2, 0, 0})},
  };
}

const Array& squares() {
  static const Array array =
      f32({1, 2, 3, 2}, {0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121});
  return array;
}

std::vector<Row> resizing() {
  return {
      {"resize_images", {f32({1, 1, 2, 1}, {1, 2})},
       [](const Tensors& x) { return resize_images(x[0], 2, 3, "channels_last"); },
       f32({1, 2, 6, 1}, {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2})},
      {"resize_images channels_first", {f32({1, 2, 1, 2}, {1, 2, 3, 4})},
       [](const Tensors& x) { return resize_images(x[0], 1, 2, "channels_first"); },
       f32({1, 2, 1, 4}, {1, 1, 2, 2, 3, 3, 4, 4})},
      {"resize_images integers", {i32({1, 1, 1, 2}, {1, 2})},
       [](const Tensors& x) { return resize_images(x[0], 2, 1, "channels_last"); },
       i32({1, 2, 1, 2}, {1, 2, 1, 2})},
      {"resize_images no samples", {none({0, 2, 2, 1})},
       [](const Tensors& x) { return resize_images(x[0], 2, 2, "channels_last"); },
       none({0, 4, 4, 1})},
      {"resize_images bilinear", {f32({1, 2, 2, 1}, {1, 2, 4, 8})},
       [](const Tensors& x) {
         return resize_images(x[0], 2, 3, "channels_last", {.interpolation = "bilinear"});
       },
       f32({1, 4, 6, 1}, {1, 1.3333334f, 1.6666666f, 2, 2, 2, 2.5, 3.3333333f,
                          4.1666665f, 5, 5, 5, 4, 5.3333335f, 6.6666665f, 8, 8, 8,
                          4, 5.3333335f, 6.6666665f, 8, 8, 8})},
      {"resize_images bilinear rows", {squares()},
       [](const Tensors& x) {
         return resize_images(x[0], 2, 1, "channels_last", {.interpolation = "bilinear"});
       },
       f32({1, 4, 3, 2}, {0, 1, 4, 9, 16, 25, 18, 25, 34, 45, 58, 73,
                          36, 49, 64, 81, 100, 121, 36, 49, 64, 81, 100, 121})},
      {"resize_images bilinear channels_first", {squares()},
       [](const Tensors& x) {
         return resize_images(x[0], 1, 2, "channels_first", {.interpolation = "bilinear"});
       },
       f32({1, 2, 3, 4}, {0, 0.5, 1, 1, 4, 6.5, 9, 9, 16, 20.5, 25, 25,
                          36, 42.5, 49, 49, 64, 72.5, 81, 81, 100, 110.5, 121, 121})},
      {"resize_images bilinear of no rows", {none({1, 0, 1, 2})},
       [](const Tensors& x) {
         return resize_images(x[0], 2, 2, "channels_last", {.interpolation = "bilinear"});
       },
       none({1, 0, 2, 2})},
      {"resize_images bilinear infinity reaches its neighbours", {f32({1, 1, 3, 1}, {0, 1, kInf})},
       [](const Tensors& x) {
         return resize_images(x[0], 1, 2, "channels_last", {.interpolation = "bilinear"});
       },
       f32({1, 1, 6, 1}, {0, 0.5, kNaN, kInf, kNaN, kNaN})},
      {"resize_volumes", {counted({1, 1, 2, 2, 1})},
       [](const Tensors& x) { return resize_volumes(x[0], 2, 1, 3, "channels_last"); },
       f32({1, 2, 2, 6, 1}, {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3,
                             0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3})},
      {"resize_volumes channels_first", {counted({1, 2, 1, 1, 2})},
       [](const Tensors& x) { return resize_volumes(x[0], 1, 2, 1, "channels_first"); },
       f32({1, 2, 1, 2, 2}, {0, 1, 0, 1, 2, 3, 2, 3})},
  };
}

const SmoothRow kSmooth[] = {
    {"reshape", {{2, 3}}, [](const Tensors& x) { return square(reshape(x[0], {3, -1})); }},
    {"permute_dimensions", {{2, 3, 2}},
     [](const Tensors& x) { return square(permute_dimensions(x[0], {1, 2, 0})); }},
    {"concatenate", {{2, 3}, {2, 1}},
     [](const Tensors& x) { return square(concatenate({x[0], x[1], x[0]})); }},
    {"stack", {{2}, {2}},
     [](const Tensors& x) { return square(stack({x[0], x[1]}, {.axis = 1})); }},
    {"expand_dims and squeeze", {{2, 3}},
     [](const Tensors& x) {
       return square(squeeze(expand_dims(x[0], {.axis = 1}), 1));
     }},
    {"flatten", {{2, 3}}, [](const Tensors& x) { return square(flatten(x[0])); }},
    {"batch_flatten", {{2, 3, 2}}, [](const Tensors& x) { return square(batch_flatten(x[0])); }},
    {"repeat_elements", {{2, 3}},
     [](const Tensors& x) { return square(repeat_elements(x[0], 3, 0)); }},
    {"repeat", {{2, 3}}, [](const Tensors& x) { return square(repeat(x[0], 2)); }},
    {"tile", {{2, 3}}, [](const Tensors& x) { return square(tile(x[0], {2, 3})); }},
    {"reverse", {{2, 3}}, [](const Tensors& x) { return square(reverse(x[0], {0, 1})); }},
    {"slice", {{3, 3}}, [](const Tensors& x) { return square(slice(x[0], {1, 0}, {2, -1})); }},
    {"slice from data", {{4}},
     [](const Tensors& x) {
       const Tensor at = cast(x[0][0] * 0, "int32");
       return square(slice(x[0], {at + 1}, {2}));
     }},
    {"pattern_broadcast", {{1, 3}},
     [](const Tensors& x) { return square(pattern_broadcast(x[0], {true, false})); }},
    {"temporal_padding", {{2, 3, 2}},
     [](const Tensors& x) { return square(temporal_padding(x[0], {.padding = {2, 1}})); }},
    {"spatial_2d_padding", {{1, 2, 3, 2}},
     [](const Tensors& x) { return square(spatial_2d_padding(x[0])); }},
    {"spatial_3d_padding", {{1, 2, 1, 2, 2}},
     [](const Tensors& x) {
       return square(spatial_3d_padding(x[0], {.data_format = "channels_first"}));
     }},
    {"resize_images", {{1, 2, 3, 2}},
     [](const Tensors& x) { return square(resize_images(x[0], 2, 3, "channels_last")); }},
    {"resize_images bilinear", {{1, 2, 3, 2}},
     [](const Tensors& x) {
       return square(
           resize_images(x[0], 2, 3, "channels_last", {.interpolation = "bilinear"}));
     }},
    {"resize_images bilinear channels_first", {{1, 2, 1, 3}},
     [](const Tensors& x) {
       return square(
           resize_images(x[0], 3, 2, "channels_first", {.interpolation = "bilinear"}));
     }},
    {"resize_volumes", {{1, 2, 1, 2, 2}},
     [](const Tensors& x) { return square(resize_volumes(x[0], 2, 2, 1, "channels_last")); }},
};

Tensor of(const Shape& shape, const char* dtype = "float32") {
  return placeholder({.shape = shape, .dtype = dtype, .name = "p"});
}

const std::vector<Misuse> kMovementErrors = {
    {__LINE__, Fault::Value, [] { return reshape(of({2, 3}), {None, 2}); },
     "reshape: shape holds None; use -1 for the size that is left"},
    {__LINE__, Fault::Value, [] { return reshape(of({2, 3}), {-1, -1}); },
     "reshape: shape has more than one -1: [-1,-1]"},
    {__LINE__, Fault::Value, [] { return permute_dimensions(of({2, 3}), {0, 0}); },
     "permute_dimensions: pattern (0, 0) is no permutation of the axes (x float32[2,3])"},
    {__LINE__, Fault::Value, [] { return permute_dimensions(of({2, 3}), {0, 2}); },
     "permute_dimensions: pattern 2 is out of range for rank 2"},
    {__LINE__, Fault::Value, [] { return concatenate({}, {}); }, "concatenate: tensors is empty"},
    {__LINE__, Fault::Value, [] { return concatenate({of({2, 3}), of({3, 3})}, {.axis = 1}); },
     "concatenate: tensors differ on axis 0, which is not joined (float32[2,3], float32[3,3])"},
    {__LINE__, Fault::Type, [] { return concatenate({of({2}), of({2}, "int32")}, {}); },
     "concatenate: tensors have different dtypes (float32[2], int32[2])"},
    {__LINE__, Fault::Value, [] { return concatenate({of({2}), of({2, 1})}, {}); },
     "concatenate: tensors have different ranks (float32[2], float32[2,1])"},
    {__LINE__, Fault::Value, [] { return stack({}, {}); }, "stack: x is empty"},
    {__LINE__, Fault::Value, [] { return stack({of({2}), of({2})}, {.axis = 2}); },
     "stack: axis 2 is out of range for rank 2"},
    {__LINE__, Fault::Value, [] { return expand_dims(of({2}), {.axis = 2}); },
     "expand_dims: axis 2 is out of range for rank 2"},
    {__LINE__, Fault::Value, [] { return squeeze(of({2, 3}), 0); },
     "squeeze: axis 0 has size 2, not 1 (x float32[2,3])"},
    {__LINE__, Fault::Value, [] { return batch_flatten(of({})); },
     "batch_flatten: x is a scalar (x float32[])"},
    {__LINE__ + 1, Fault::Value,
     [] { return repeat_elements(of({2}), -1, 0); }, "repeat_elements: rep is -1"},
    {__LINE__, Fault::Value, [] { return repeat(of({2}), 3); },
     "repeat: x has rank 1, not 2 (x float32[2])"},
    {__LINE__, Fault::NotImplemented, [] { return tile(of({2}), {2, 2}); },
     "tile: n (2, 2) has more entries than x has axes (x float32[2])"},
    {__LINE__, Fault::Value, [] { return tile(of({2}), -1); }, "tile: n is -1"},
    {__LINE__ + 1, Fault::Value,
     [] { return reverse(of({2}), {0, 0}); }, "reverse: axes (0, 0) repeats an axis"},
    {__LINE__, Fault::Value, [] { return arange(1, 5, 0); }, "arange: step is 0"},
    {__LINE__, Fault::Type, [] { return arange(3, {.dtype = "int8"}); },
     "arange: dtype int8 is none of int32, int64, float32, float64"},
    {__LINE__, Fault::Type, [] { return one_hot(of({2}), 3); },
     "one_hot: indices are not integers (indices float32[2])"},
    {__LINE__ + 1, Fault::Value,
     [] { return one_hot(of({2}, "int32"), -1); }, "one_hot: num_classes is -1"},
    {__LINE__, Fault::Value, [] { return pattern_broadcast(of({2, 3}), {true}); },
     "pattern_broadcast: broadcastable has 1 entries for the 2 axes of x (x float32[2,3])"},
    {__LINE__, Fault::Value, [] { return pattern_broadcast(of({2, 1}), {true, true}); },
     "pattern_broadcast: axis 0 has size 2, not 1 (x float32[2,1])"},
    {__LINE__, Fault::Value, [] { return size(Tensor()); }, "size: x is an empty tensor"},
    {__LINE__, Fault::Value, [] { return slice(of({2, 3}), {0}, {1, 1}); },
     "slice: start has 1 entries for the 2 axes of x (x float32[2,3])"},
    {__LINE__, Fault::Value, [] { return slice(of({2, 3}), {0, 0}, of({3}, "int32")); },
     "slice: size has 3 entries for the 2 axes of x (x float32[2,3])"},
    {__LINE__, Fault::Value, [] { return slice(of({2}), {None}, {1}); }, "slice: start holds None"},
    {__LINE__, Fault::Value, [] { return slice(of({2}), {1}, {2}); },
     "slice: start 1 and size 2 leave axis 0 (x float32[2])"},
    {__LINE__, Fault::Value, [] { return slice(of({2}), {-1}, {1}); },
     "slice: start -1 and size 1 leave axis 0 (x float32[2])"},
    {__LINE__, Fault::Value, [] { return slice(of({2}), {0}, {of({}, "int32")}); },
     "slice: size of axis 0 is not computed from shapes"},
    {__LINE__, Fault::Value, [] { return slice(of({2}), {of({}, "int32")}, {-1}); },
     "slice: size of axis 0 is -1 but its start is not computed from shapes"},
    {__LINE__, Fault::Value, [] { return slice(of({2}), {of({2}, "int32")}, {1}); },
     "slice: start holds a tensor that is no integer scalar (start int32[2])"},
    {__LINE__, Fault::Value, [] { return slice(of({2}), of({}), {1}); },
     "slice: start is no integer vector (start float32[])"},
};

const std::vector<Misuse> kImageErrors = {
    {__LINE__, Fault::Value, [] { return temporal_padding(of({2, 3})); },
     "temporal_padding: x has rank 2, not 3 (x float32[2,3])"},
    {__LINE__, Fault::Value, [] { return temporal_padding(of({2, 3, 1}), {.padding = {-1, 2}}); },
     "temporal_padding: padding (-1, 2) of axis 1 is negative"},
    {__LINE__, Fault::Value, [] { return spatial_2d_padding(of({2, 3, 1})); },
     "spatial_2d_padding: x has rank 3, not 4 (x float32[2,3,1])"},
    {__LINE__ + 1, Fault::Value,
     [] { return spatial_2d_padding(of({1, 1, 1, 1}), {.data_format = "tf"}); },
     "spatial_2d_padding: data_format 'tf' is neither 'channels_last' nor 'channels_first'"},
    {__LINE__ + 1, Fault::Value,
     [] { return spatial_2d_padding(of({1, 1, 1, 1}), {.padding = {{1, 1}, {0, -3}}}); },
     "spatial_2d_padding: padding (0, -3) of axis 2 is negative"},
    {__LINE__, Fault::Value, [] { return spatial_3d_padding(of({1, 1, 1, 1})); },
     "spatial_3d_padding: x has rank 4, not 5 (x float32[1,1,1,1])"},
    {__LINE__ + 1, Fault::Value,
     [] { return spatial_3d_padding(of({1, 1, 1, 1, 1}), {.data_format = ""}); },
     "spatial_3d_padding: data_format '' is neither 'channels_last' nor 'channels_first'"},
    {__LINE__, Fault::Value, [] { return resize_images(of({1, 1, 1}), 1, 1, "channels_last"); },
     "resize_images: x has rank 3, not 4 (x float32[1,1,1])"},
    {__LINE__, Fault::Value, [] { return resize_images(of({1, 1, 1, 1}), 1, 1, "default"); },
     "resize_images: data_format 'default' is neither 'channels_last' nor 'channels_first'"},
    {__LINE__, Fault::Value, [] { return resize_images(of({1, 1, 1, 1}), 0, 1, "channels_last"); },
     "resize_images: height_factor is 0, not at least 1"},
    {__LINE__ + 2, Fault::Value,
     [] {
       return resize_images(of({1, 1, 1, 1}), 1, 1, "channels_last", {.interpolation = "cubic"});
     },
     "resize_images: interpolation 'cubic' is neither 'nearest' nor 'bilinear'"},
    {__LINE__ + 3, Fault::Type,
     [] {
       const Tensor x = of({1, 1, 1, 1}, "int32");
       return resize_images(x, 1, 1, "channels_last", {.interpolation = "bilinear"});
     },
     "resize_images: x is not floating point (x int32[1,1,1,1])"},
    {__LINE__ + 1, Fault::Value,
     [] { return resize_volumes(of({1, 1, 1, 1, 1}), 1, 1, -2, "channels_last"); },
     "resize_volumes: width_factor is -2, not at least 1"},
    {__LINE__ + 1, Fault::Value,
     [] { return resize_volumes(of({1, 1, 1, 1}), 1, 1, 1, "channels_first"); },
     "resize_volumes: x has rank 4, not 5 (x float32[1,1,1,1])"},
    {__LINE__, Fault::Value, [] { return resize_volumes(of({1, 1, 1, 1, 1}), 1, 1, 1, "th"); },
     "resize_volumes: data_format 'th' is neither 'channels_last' nor 'channels_first'"},
};

}  // namespace

std::vector<Row> shape_rows() {
  std::vector<Row> rows = movement();
  for (const auto& more : {numbers(), padding(), resizing()}) {
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

TEST_CASE("shape operations", "[k]") { run(shape_rows()); }

TEST_CASE("gradients of shape operations", "[k]") {
  for (const SmoothRow& row : kSmooth) run(row);
}

TEST_CASE("misuse of shape operations", "[k]") {
  run(kMovementErrors, __FILE__);
  run(kImageErrors, __FILE__);
}

TEST_CASE("paddings take the data format of the process when none is given", "[k]") {
  struct Restore {
    ~Restore() { set_image_data_format("channels_last"); }
  } restore;
  set_image_data_format("channels_first");
  CHECK(int_shape(spatial_2d_padding(of({1, 2, 3, 4}))) ==
        std::vector<std::optional<std::int64_t>>{1, 2, 5, 6});
}

TEST_CASE("unknown sizes are checked at the call", "[k]") {
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  const Tensor at = placeholder({.shape = {}, .dtype = "int32", .name = "at"});
  const auto compiled = [&](const Tensor& y) {
    return function({x, at}, {y}, {.backend = tested_backend()});
  };
  const Function sliced = compiled(slice(x, {1}, {2}));
  CHECK(sliced({counted({3}), Array(0)})[0] == f32({2}, {1, 2}));
  CHECK_THROWS_AS(sliced({counted({2}), Array(0)}), ValueError);
  const Function flagged = compiled(pattern_broadcast(x, {true}));
  CHECK(flagged({counted({1}), Array(0)})[0] == f32({1}, {0}));
  CHECK_THROWS_AS(flagged({counted({2}), Array(0)}), ValueError);
  const Function moved = compiled(slice(x, {at}, {2}));
  CHECK(moved({counted({4}), Array(2)})[0] == f32({2}, {2, 3}));
  CHECK_THROWS_AS(moved({counted({4}), Array(3)}), ValueError);
  CHECK_THROWS_AS(moved({counted({4}), Array(-1)}), ValueError);
}

TEST_CASE("what is a tensor, and what is a variable", "[k]") {
  const Tensor x = placeholder({.shape = {2}});
  const Variable v = variable(Array{1.f});
  CHECK(is_tensor(x));
  CHECK(is_tensor(v));
  CHECK_FALSE(is_tensor(1.0));
  CHECK_FALSE(is_tensor(Tensor()));
  CHECK(is_variable(v));
  CHECK_FALSE(is_variable(x));
  CHECK_FALSE(is_variable(v + 1));
  CHECK_FALSE(is_variable(Tensor()));
  CHECK(size(x, {.name = "count"}).name() == "count");
}

}  // namespace kiln::test
