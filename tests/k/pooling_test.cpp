// Tests kiln/pooling.h: pooling and biases. Expected values are from plain loops over indices in
// Python, which follow the arithmetic of the specification, and from the specification's own
// examples.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

namespace kiln::test {
namespace {

using Dims = std::vector<std::int64_t>;

using testing::error_text;
using testing::throws;
using testing::Misuse;

std::vector<Row> pools_by_loops() {
  return {
      {"pool2d max",
       {pattern({1, 3, 4, 2}, 5, 11)},
       [](const Tensors& x) { return pool2d(x[0], {2, 2}); },
       f32({1, 2, 3, 2}, {5, 0, 5, 5, 4, 5, 2, 3, 1, 5, 0, 5})},
      {"pool2d max same, strides",
       {pattern({1, 5, 4, 2}, 5, 11)},
       [](const Tensors& x) {
         return pool2d(x[0], {3, 2}, {.strides = {2, 3}, .padding = "same"});
       },
       f32({1, 3, 2, 2}, {5, 0, 3, 4, 5, 3, 2, 4, 5, 5, 2, 3})},
      {"pool2d max same, channels_first",
       {pattern({2, 1, 3, 4}, 5, 11)},
       [](const Tensors& x) {
         return pool2d(x[0], {2, 3}, {.padding = "same", .data_format = "channels_first"});
       },
       f32({2, 1, 3, 4}, {4, 5, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 5, 5, 5, 4, 3, 3, 3, 2, 1, 1, 1, 0})},
      {"pool2d max windows side by side",
       {pattern({1, 4, 4, 1}, 5, 11)},
       [](const Tensors& x) { return pool2d(x[0], {2, 2}, {.strides = {2, 2}}); },
       f32({1, 2, 2, 1}, {4, 5, 5, 4})},
      {"pool2d max strides beyond the window",
       {pattern({1, 5, 7, 1}, 5, 11)},
       [](const Tensors& x) {
         return pool2d(x[0], {2, 2}, {.strides = {3, 4}, .padding = "same"});
       },
       f32({1, 2, 2, 1}, {2, 4, 3, 4})},
      {"pool3d max",
       {pattern({1, 3, 2, 3, 1}, 5, 11)},
       [](const Tensors& x) { return pool3d(x[0], {2, 2, 2}); },
       f32({1, 2, 1, 2, 1}, {4, 5, 5, 5})},
      {"pool3d max same, strides, channels_first",
       {pattern({1, 2, 3, 2, 3}, 5, 11)},
       [](const Tensors& x) {
         return pool3d(x[0], {2, 3, 2},
                       {.strides = {2, 1, 2}, .padding = "same", .data_format = "channels_first"});
       },
       f32({1, 2, 2, 2, 2}, {4, 5, 4, 5, 5, 3, 5, 3, 5, 4, 5, 4, 2, 5, 2, 5})},
      {"pool2d avg",
       {pattern({1, 3, 4, 2}, 5, 11)},
       [](const Tensors& x) { return pool2d(x[0], {2, 2}, {.pool_mode = "avg"}); },
       f32({1, 2, 3, 2}, {0.75, -2.5, 2.5, -0.75, 1.5, 1, -0.5, -1, -1.5, 0.75, -2.5, 2.5})},
      {"pool2d avg same, strides",
       {pattern({1, 5, 4, 2}, 5, 11)},
       [](const Tensors& x) {
         return pool2d(x[0], {3, 2}, {.strides = {2, 3}, .padding = "same", .pool_mode = "avg"});
       },
       f32({1, 3, 2, 2},
           {0.75, -2.5, 1, 0.5, 1.16666667, -1.16666667, -1.33333333, 0, 2.5, -0.75, 0, -0.5})},
      {"pool2d avg same, channels_first",
       {pattern({2, 1, 3, 4}, 5, 11)},
       [](const Tensors& x) {
         return pool2d(x[0], {2, 3},
                       {.padding = "same", .data_format = "channels_first", .pool_mode = "avg"});
       },
       f32({2, 1, 3, 4},
           {-0.75, 0.833333333,  0.333333333,  1,    0,    0.666666667, -1.66666667, -1,
            -1,    -0.333333333, -2.66666667,  -2,   1.5,  0.333333333, 1.66666667,  0.5,
            -0.5,  -1.66666667,  -0.333333333, -1.5, -1.5, -2.66666667, -1.33333333, -2.5})},
      {"pool2d avg windows side by side",
       {pattern({1, 4, 4, 1}, 5, 11)},
       [](const Tensors& x) {
         return pool2d(x[0], {2, 2}, {.strides = {2, 2}, .pool_mode = "avg"});
       },
       f32({1, 2, 2, 1}, {-0.75, 1, 0.75, -0.25})},
      {"pool2d avg strides beyond the window",
       {pattern({1, 5, 7, 1}, 5, 11)},
       [](const Tensors& x) {
         return pool2d(x[0], {2, 2}, {.strides = {3, 4}, .padding = "same", .pool_mode = "avg"});
       },
       f32({1, 2, 2, 1}, {-1.5, -0.75, -1, -0.25})},
      {"pool3d avg",
       {pattern({1, 3, 2, 3, 1}, 5, 11)},
       [](const Tensors& x) { return pool3d(x[0], {2, 2, 2}, {.pool_mode = "avg"}); },
       f32({1, 2, 1, 2, 1}, {-0.625, 0.25, 0.5, 0})},
      {"pool3d avg same, strides, channels_first",
       {pattern({1, 2, 3, 2, 3}, 5, 11)},
       [](const Tensors& x) {
         return pool3d(x[0], {2, 3, 2},
                       {.strides = {2, 1, 2},
                        .padding = "same",
                        .data_format = "channels_first",
                        .pool_mode = "avg"});
       },
       f32({1, 2, 2, 2, 2},
           {-0.625, 0, -0.625, 0, 1.75, 1, 1.75, 1, 0, -0.75, 0, -0.75, -1.75, 3, -1.75, 3})},
  };
}

Array line() { return f32({1, 1, 3, 1}, {1, 2, 3}); }
/// Elements 0 to 5 as (spatial, channels).
Array whole_bias() { return f32({3, 2}, {0, 1, 2, 3, 4, 5}); }

std::vector<Row> pools_by_hand() {
  return {
      {"pool2d avg does not count padding",
       {line()},
       [](const Tensors& x) {
         return pool2d(x[0], {1, 2}, {.padding = "same", .pool_mode = "avg"});
       },
       f32({1, 1, 3, 1}, {1.5, 2.5, 3})},
      {"pool2d padding never wins",
       {f32({1, 1, 3, 1}, {-1, -2, -3})},
       [](const Tensors& x) { return pool2d(x[0], {3, 3}, {.padding = "same"}); },
       f32({1, 1, 3, 1}, {-1, -1, -2})},
      {"pool2d of int32",
       {i32({1, 1, 3, 1}, {-7, -9, -8})},
       [](const Tensors& x) { return pool2d(x[0], {1, 2}, {.padding = "same"}); },
       i32({1, 1, 3, 1}, {-7, -8, -8})},
      {"pool2d a NaN is the maximum",
       {f32({1, 1, 4, 1}, {1, kNaN, 2, kInf})},
       [](const Tensors& x) { return pool2d(x[0], {1, 2}); },
       f32({1, 1, 3, 1}, {kNaN, kNaN, kInf})},
      {"pool2d no samples",
       {f32({0, 3, 3, 1}, {})},
       [](const Tensors& x) { return pool2d(x[0], 2, {.pool_mode = "avg"}); },
       f32({0, 2, 2, 1}, {})},
      {"pool2d same, no rows",
       {f32({1, 0, 2, 1}, {})},
       [](const Tensors& x) { return pool2d(x[0], 2, {.padding = "same"}); },
       f32({1, 0, 2, 1}, {})},
      {"pool2d no channels, channels_first",
       {f32({2, 0, 3, 3}, {})},
       [](const Tensors& x) {
         return pool2d(x[0], 2, {.data_format = "channels_first", .pool_mode = "avg"});
       },
       f32({2, 0, 2, 2}, {})},
      {"pool3d of one element",
       {f32({1, 1, 1, 1, 1}, {-3})},
       [](const Tensors& x) {
         return pool3d(x[0], 3, {.strides = 2, .padding = "same", .pool_mode = "avg"});
       },
       f32({1, 1, 1, 1, 1}, {-3})},
      {"pool2d a window beyond the image",
       {line()},
       [](const Tensors& x) { return pool2d(x[0], {3, 9}, {.padding = "same"}); },
       f32({1, 1, 3, 1}, {3, 3, 3})},
      {"pool2d strides are 1 by default",
       {line()},
       [](const Tensors& x) { return pool2d(x[0], {1, 2}); },
       f32({1, 1, 2, 1}, {2, 3})},
      {"pool2d minus infinity",
       {f32({1, 1, 2, 1}, {-kInf, -kInf})},
       [](const Tensors& x) { return pool2d(x[0], {1, 2}, {.padding = "same"}); },
       f32({1, 1, 2, 1}, {-kInf, -kInf})},
      {"pool2d avg beside infinity",
       {f32({1, 1, 3, 1}, {1, kInf, 2})},
       [](const Tensors& x) {
         return pool2d(x[0], {1, 2}, {.strides = 2, .padding = "same", .pool_mode = "avg"});
       },
       f32({1, 1, 2, 1}, {kInf, 2})},
      {"pool2d of uint8",
       {Array{0, 200, 255}.astype(DType::UInt8).reshape({1, 1, 3, 1})},
       [](const Tensors& x) { return pool2d(x[0], {1, 2}, {.padding = "same"}); },
       Array{200, 255, 255}.astype(DType::UInt8).reshape({1, 1, 3, 1})},
      // The sum 120000 is out of float16's range: it is taken in float32.
      {"pool2d avg of float16",
       {f32({1, 1, 2, 1}, {60000, 60000})},
       [](const Tensors& x) {
         const PoolOptions options{.pool_mode = "avg"};
         return cast(pool2d(cast(x[0], "float16"), {1, 2}, options), "float32");
       },
       f32({1, 1, 1, 1}, {60000})},
      {"pool2d the gradient of a mean counts no padding",
       {line()},
       [](const Tensors& x) {
         return slope(pool2d(x[0], {1, 2}, {.padding = "same", .pool_mode = "avg"}), x[0]);
       },
       f32({1, 1, 3, 1}, {0.5, 1, 1.5})},
      {"pool2d the gradient of ties beside padding",
       {f32({1, 1, 2, 1}, {-1, -1})},
       [](const Tensors& x) {
         return slope(pool2d(x[0], {1, 3}, {.strides = 2, .padding = "same"}), x[0]);
       },
       f32({1, 1, 2, 1}, {0.5, 0.5})},
      {"pool2d windows of one",
       {line()},
       [](const Tensors& x) { return pool2d(x[0], 1, {.strides = 2, .pool_mode = "avg"}); },
       f32({1, 1, 2, 1}, {1, 3})},
      // Equal maxima share the gradient equally, as those of max do.
      {"pool2d the gradient of ties",
       {f32({1, 1, 4, 1}, {2, 2, 1, 3})},
       [](const Tensors& x) { return slope(pool2d(x[0], {1, 3}), x[0]); },
       f32({1, 1, 4, 1}, {0.5, 0.5, 0, 1})},
      {"pool2d the gradient of overlapping windows",
       {f32({1, 1, 4, 1}, {1, 4, 2, 3})},
       [](const Tensors& x) { return slope(pool2d(x[0], {1, 2}), x[0]); },
       f32({1, 1, 4, 1}, {0, 2, 0, 1})},
      {"bias_add a vector",
       {pattern({2, 2, 3}, 5, 11), f32({3}, {10, 20, 30})},
       [](const Tensors& x) { return bias_add(x[0], x[1]); },
       f32({2, 2, 3}, {5, 20, 35, 9, 24, 28, 13, 17, 32, 6, 21, 25})},
      {"bias_add a vector, channels_first",
       {pattern({1, 2, 3}, 5, 11), f32({2}, {10, 20})},
       [](const Tensors& x) { return bias_add(x[0], x[1], {.data_format = "channels_first"}); },
       f32({1, 2, 3}, {5, 10, 15, 19, 24, 18})},
      {"bias_add of a matrix",
       {pattern({2, 3}, 5, 11), f32({3}, {10, 20, 30})},
       [](const Tensors& x) { return bias_add(x[0], x[1], {.data_format = "channels_first"}); },
       f32({2, 3}, {5, 20, 35, 9, 24, 28})},
      {"bias_add of all axes",
       {f32({2, 3, 2}, {0, 0, 0, 0, 0, 0, 10, 10, 10, 10, 10, 10}), whole_bias()},
       [](const Tensors& x) { return bias_add(x[0], x[1]); },
       f32({2, 3, 2}, {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15})},
      {"bias_add of all axes, channels_first",
       {f32({1, 2, 3}, {0, 0, 0, 0, 0, 0}), whole_bias()},
       [](const Tensors& x) { return bias_add(x[0], x[1], {.data_format = "channels_first"}); },
       f32({1, 2, 3}, {0, 1, 2, 3, 4, 5})},
      {"bias_add of all axes of images, channels_first",
       {pattern({1, 2, 2, 1}, 5, 11), f32({2, 1, 2}, {10, 20, 30, 40})},
       [](const Tensors& x) { return bias_add(x[0], x[1], {.data_format = "channels_first"}); },
       f32({1, 2, 2, 1}, {5, 20, 35, 39})},
      {"bias_add of volumes",
       {pattern({1, 1, 2, 1, 2}, 5, 11), f32({2}, {10, 20})},
       [](const Tensors& x) { return bias_add(x[0], x[1]); },
       f32({1, 1, 2, 1, 2}, {5, 20, 15, 19})},
      {"bias_add of volumes, channels_first",
       {pattern({1, 2, 1, 2, 1}, 5, 11), f32({2}, {10, 20})},
       [](const Tensors& x) { return bias_add(x[0], x[1], {.data_format = "channels_first"}); },
       f32({1, 2, 1, 2, 1}, {5, 10, 25, 19})},
      {"bias_add of all axes of volumes, channels_first",
       {Array::zeros({2, 2, 1, 1, 3}), counted({1, 1, 3, 2})},
       [](const Tensors& x) { return bias_add(x[0], x[1], {.data_format = "channels_first"}); },
       f32({2, 2, 1, 1, 3}, {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5})},
      // Padding is no element, although it has the value of these.
      {"pool2d max gradient of -inf beside padding",
       {f32({1, 2, 1, 1}, {-kInf, -kInf})},
       [](const Tensors& x) {
         const Tensor y = pool2d(x[0], {3, 1}, {.strides = 3, .padding = "same"});
         return gradients(sum(y * 2), {x[0]})[0];
       },
       f32({1, 2, 1, 1}, {1, 1})},
      {"pool2d max of the lowest integers beside padding",
       {i32({1, 2, 1, 1}, {INT32_MIN, INT32_MIN})},
       [](const Tensors& x) { return pool2d(x[0], {3, 1}, {.strides = 3, .padding = "same"}); },
       i32({1, 1, 1, 1}, {INT32_MIN})},
      // More ties than the dtype has whole numbers.
      {"pool2d max gradient of many ties",
       {Array::full({1, 257, 1, 1}, 2, DType::BFloat16)},
       [](const Tensors& x) { return gradients(pool2d(x[0], {257, 1}), {x[0]})[0]; },
       Array::full({1, 257, 1, 1}, 1.0 / 257, DType::BFloat16),
       0},
      {"bias_add of six axes",
       {Array::zeros({1, 1, 2, 1, 1, 2}), f32({2}, {1, 2})},
       [](const Tensors& x) { return bias_add(x[0], x[1]); },
       f32({1, 1, 2, 1, 1, 2}, {1, 2, 1, 2})},
      {"bias_add no samples",
       {f32({0, 2, 3}, {}), f32({3}, {1, 2, 3})},
       [](const Tensors& x) { return bias_add(x[0], x[1]); },
       f32({0, 2, 3}, {})},
      {"bias_add no channels",
       {f32({2, 0}, {}), f32({0}, {})},
       [](const Tensors& x) { return bias_add(x[0], x[1]); },
       f32({2, 0}, {})},
      {"bias_add one channel",
       {f32({2, 2, 1}, {1, 2, 3, 4}), f32({1}, {10})},
       [](const Tensors& x) { return bias_add(x[0], x[1]); },
       f32({2, 2, 1}, {11, 12, 13, 14})},
      {"bias_add of int32",
       {i32({1, 2}, {1, 2}), i32({2}, {3, 4})},
       [](const Tensors& x) { return bias_add(x[0], x[1]); },
       i32({1, 2}, {4, 6})},
  };
}

const Dims kImage{2, 5, 4, 2}, kFirst{2, 2, 5, 4};

const SmoothRow kPoolingGradients[] = {
    {"pool2d max", {kImage}, [](const Tensors& x) { return square(pool2d(x[0], {3, 2})); }},
    {"pool2d max, same, strides",
     {kImage},
     [](const Tensors& x) {
       return square(pool2d(x[0], 2, {.strides = {2, 3}, .padding = "same"}));
     }},
    {"pool2d avg, same, channels_first",
     {kFirst},
     [](const Tensors& x) {
       return square(pool2d(
           x[0], {2, 3}, {.padding = "same", .data_format = "channels_first", .pool_mode = "avg"}));
     }},
    {"pool2d avg, windows side by side",
     {kImage},
     [](const Tensors& x) { return square(pool2d(x[0], 2, {.strides = 2, .pool_mode = "avg"})); }},
    {"pool3d max",
     {{1, 3, 4, 3, 2}},
     [](const Tensors& x) { return square(pool3d(x[0], 2, {.strides = {1, 2, 1}})); }},
    {"pool3d avg",
     {{1, 3, 4, 3, 2}},
     [](const Tensors& x) {
       return square(pool3d(x[0], {2, 3, 2}, {.padding = "same", .pool_mode = "avg"}));
     }},
    {"bias_add", {kImage, {2}}, [](const Tensors& x) { return square(bias_add(x[0], x[1])); }},
    {"bias_add of all axes, channels_first",
     {kFirst, {5, 4, 2}},
     [](const Tensors& x) {
       return square(bias_add(x[0], x[1], {.data_format = "channels_first"}));
     }},
};

const std::vector<Misuse> kPoolingErrors = {
    {throws<ValueError>(), [] { return pool2d(of({2, 5, 5}), 2); },
     "pool2d: x has rank 3, not 4 (x float32[2,5,5])"},
    {throws<ValueError>(), [] { return pool2d(of({2, 5, 5, 1}), {2, 2, 2}); },
     "pool2d: pool_size (2, 2, 2) has 3 entries for 2 spatial axes"},
    {throws<ValueError>(), [] { return pool2d(of({2, 5, 5, 1}), {2, 0}); },
     "pool2d: pool_size 0 is not positive"},
    {throws<ValueError>(), [] { return pool2d(of({2, 5, 5, 1}), 2, {.strides = {1, -2}}); },
     "pool2d: strides -2 is not positive"},
    {throws<ValueError>(), [] { return pool2d(of({2, 5, 1, 1}), 2); },
     "pool2d: a window over 2 elements does not fit into 1 of spatial axis 1 (x "
     "float32[2,5,1,1])"},
    {throws<ValueError>(), [] { return pool2d(of({2, 5, 5, 1}), 2, {.pool_mode = "mean"}); },
     "pool2d: pool_mode 'mean' is neither 'max' nor 'avg'"},
    {throws<ValueError>(), [] { return pool3d(of({2, 5, 5, 5, 1}), 2, {.padding = "causal"}); },
     "pool3d: padding 'causal' is neither 'valid' nor 'same'"},
    {throws<ValueError>(), [] { return pool3d(of({2, 5, 5, 5, 1}), 2, {.data_format = "tf"}); },
     "pool3d: data_format 'tf' is neither 'channels_last' nor 'channels_first'"},
    {throws<TypeError>(1),
     [] { return pool2d(of({2, 5, 5, 1}, "int32"), 2, {.pool_mode = "avg"}); },
     "pool2d: x is not floating point (x int32[2,5,5,1])"},
    {throws<TypeError>(), [] { return pool2d(of({2, 5, 5, 1}, "bool"), 2); },
     "pool2d: x is bool, not a number (x bool[2,5,5,1])"},
    {throws<ValueError>(), [] { return pool2d(of({2, 5, 5, 1}), Dims{}); },
     "pool2d: pool_size () has 0 entries for 2 spatial axes"},
    {throws<ValueError>(), [] { return pool3d(of({2, 5, 5, 5, 1}), {2, -1, 2}); },
     "pool3d: pool_size -1 is not positive"},
    {throws<ValueError>(), [] { return pool3d(of({2, 5, 5, 1}), 2); },
     "pool3d: x has rank 4, not 5 (x float32[2,5,5,1])"},
    {throws<ValueError>(), [] { return pool2d(of({2, 5, 5, 1}), 2, {.strides = {1, 0}}); },
     "pool2d: strides 0 is not positive"},
    {throws<ValueError>(), [] { return pool2d(of({2, 5, 5, 1}), 2, {.padding = "SAME"}); },
     "pool2d: padding 'SAME' is neither 'valid' nor 'same'"},
    {throws<ValueError>(), [] { return pool3d(of({2, 5, 2, 5, 1}), {2, 3, 2}); },
     "pool3d: a window over 3 elements does not fit into 2 of spatial axis 1 (x "
     "float32[2,5,2,5,1])"},
    {throws<ValueError>(), [] { return bias_add(of({2, 3}), of({1})); },
     "bias_add: axis 1 of x has size 3 but the bias gives 1 (x float32[2,3], bias float32[1])"},
    {throws<ValueError>(), [] { return bias_add(of({2, 3}), 1); },
     "bias_add: bias has rank 0, neither 1 nor 1 (x float32[2,3], bias float32[])"},
    {throws<TypeError>(), [] { return bias_add(of({2, 3}, "bool"), of({3}, "bool")); },
     "bias_add: x is bool, not a number (x bool[2,3], bias bool[3])"},
    {throws<ValueError>(), [] { return bias_add(of({3}), of({3})); },
     "bias_add: x has rank 1, below 2 (x float32[3])"},
    {throws<ValueError>(), [] { return bias_add(of({2, 5, 5, 3}), of({5, 3})); },
     "bias_add: bias has rank 2, neither 1 nor 3 (x float32[2,5,5,3], bias float32[5,3])"},
    {throws<ValueError>(), [] { return bias_add(of({2, 5, 5, 3}), of({4})); },
     "bias_add: axis 3 of x has size 3 but the bias gives 4 (x float32[2,5,5,3], bias "
     "float32[4])"},
    {throws<ValueError>(1),
     [] { return bias_add(of({2, 3, 5}), of({3, 5}), {.data_format = "channels_first"}); },
     "bias_add: axis 1 of x has size 3 but the bias gives 5 (x float32[2,3,5], bias "
     "float32[3,5])"},
    {throws<ValueError>(), [] { return bias_add(of({2, 3}), of({3}), {.data_format = "th"}); },
     "bias_add: data_format 'th' is neither 'channels_last' nor 'channels_first'"},
    {throws<TypeError>(), [] { return bias_add(of({2, 3}), of({3}, "int32")); },
     "bias_add: x has dtype float32 but bias has dtype int32 (x float32[2,3], bias int32[3])"},
};

}  // namespace

std::vector<Row> pooling_rows() {
  std::vector<Row> rows = pools_by_loops();
  for (Row& row : pools_by_hand()) rows.push_back(std::move(row));
  return rows;
}

TEST_CASE("pooling and biases: values", "[k]") { run(pooling_rows()); }

TEST_CASE("pooling and biases: gradients", "[k]") {
  for (const SmoothRow& row : kPoolingGradients) run(row);
}

TEST_CASE("pooling and biases: misuse, word for word", "[k]") { run(kPoolingErrors); }

TEST_CASE("bias_add: a bias of unknown size fits x or fails the call; x never broadcasts", "[k]") {
  const auto error = [](const Shape& x_shape, const Shape& bias_shape, const Array& x,
                        const Array& bias, const char* format) {
    const Tensor p = placeholder({.shape = x_shape, .name = "x"});
    const Tensor q = placeholder({.shape = bias_shape, .name = "bias"});
    const Tensor y = bias_add(p, q, {.data_format = format});
    for (std::size_t i = 0; i < int_shape(p).size(); ++i) {
      if (int_shape(p)[i]) CHECK(int_shape(y)[i] == int_shape(p)[i]);
    }
    const Function f = function({p, q}, {y}, {.backend = tested_backend()});
    Array sum = x;
    const std::string text = error_text<ValueError>([&] { sum = f({x, bias})[0]; });
    CHECK(sum.dims() == x.dims());
    return text;
  };
  const Array m21 = Array::zeros({2, 1}), m23 = Array::zeros({2, 3}), one = Array::zeros({1}),
              three = Array::zeros({3});
  CHECK(error({2, 1}, {None}, m21, one, "channels_last") == "no error");
  CHECK(error({2, 1}, {None}, m21, three, "channels_last") ==
        "bias_add: size bias.0 of axis 1 is not 1 (float32[1,bias.0]); in this call bias.0 is 3");
  CHECK(error({None, None}, {3}, m23, three, "channels_first") == "no error");
  CHECK(error({None, None}, {1}, m23, one, "channels_first") ==
        "bias_add: size x.1 of axis 1 is not 1 (float32[x.0,x.1]); in this call x.1 is 3");
  CHECK(error({None, None}, {None}, m23, one, "channels_last") ==
        "bias_add: size bias.0 of axis 1 is not x.1 (float32[1,bias.0]); in this call bias.0 is "
        "1 and x.1 is 3; unknown sizes do not broadcast: where one should, declare it as 1 (of an "
        "ONNX model by the option dims) or use pattern_broadcast");
  const Array cube = Array::zeros({2, 1, 3}), whole = Array::zeros({4, 3});
  CHECK(error({2, 1, 3}, {None, 3}, cube, whole, "channels_last") ==
        "bias_add: size bias.0 of axis 1 is not 1 (float32[1,bias.0,3]); in this call bias.0 is "
        "4");
  CHECK(error({2, 3, 1}, {None, 3}, Array::zeros({2, 3, 1}), whole, "channels_first") ==
        "bias_add: size bias.0 of axis 2 is not 1 (float32[1,3,bias.0]); in this call bias.0 is "
        "4");
}

}  // namespace kiln::test
