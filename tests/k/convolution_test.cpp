// Tests kiln/convolution.h: values, from plain loops over indices in Python, which follow the
// arithmetic of the specification, and from the specification's own examples.
#include "tests/support/catch.h"
#include "tests/k/row.h"

namespace kiln::test {
namespace {

std::vector<Row> rows_by_loops() {
  return {
      {"conv1d",
       {pattern({2, 5, 2}, 5, 11), pattern({3, 2, 2}, 3, 7)},
       [](const Tensors& x) { return conv1d(x[0], x[1]); },
       f32({2, 3, 2}, {26, 1, -9, 2, -11, 3, -17, -5, 14, -15, 12, -14})},
      {"conv1d same, even filter, stride 2",
       {pattern({1, 5, 2}, 5, 11), pattern({2, 2, 3}, 3, 7)},
       [](const Tensors& x) { return conv1d(x[0], x[1], {.strides = 2, .padding = "same"}); },
       f32({1, 3, 3}, {17, -14, -17, -16, -10, 10, -2, -8, 14})},
      {"conv1d causal, dilation 2",
       {pattern({1, 5, 2}, 5, 11), pattern({2, 2, 1}, 3, 7)},
       [](const Tensors& x) {
         return conv1d(x[0], x[1], {.padding = "causal", .dilation_rate = 2});
       },
       f32({1, 5, 1}, {-15, 16, 29, -3, -2})},
      {"conv1d channels_first",
       {pattern({1, 2, 5}, 5, 11), pattern({3, 2, 2}, 3, 7)},
       [](const Tensors& x) {
         return conv1d(x[0], x[1], {.strides = 2, .data_format = "channels_first"});
       },
       f32({1, 2, 2}, {15, -20, 2, 3})},
      {"conv1d strides and dilation",
       {pattern({1, 8, 1}, 5, 11), pattern({2, 1, 1}, 3, 7)},
       [](const Tensors& x) {
         return conv1d(x[0], x[1], {.strides = 3, .padding = "same", .dilation_rate = 3});
       },
       f32({1, 3, 1}, {0, -15, 6})},
      {"conv2d",
       {pattern({1, 4, 3, 2}, 5, 11), pattern({2, 2, 2, 3}, 3, 7)},
       [](const Tensors& x) { return conv2d(x[0], x[1]); },
       f32({1, 3, 2, 3}, {27, -24, -33, -3, -24, -3, -30, 9, 13, -27, 9, 10, 1, 20, 4, 4, 20, 1})},
      {"conv2d same, strides (2, 1)",
       {pattern({1, 5, 4, 2}, 5, 11), pattern({3, 2, 2, 2}, 3, 7)},
       [](const Tensors& x) { return conv2d(x[0], x[1], {.strides = {2, 1}, .padding = "same"}); },
       f32({1, 3, 4, 2}, {-8, -22, -8, 41,  14,  16, 8,   -4, -7,  -7, 1,   -37,
                          31, -45, 13, -13, -22, -8, -30, 14, -27, 14, -21, 4})},
      {"conv2d channels_first, dilation (1, 2)",
       {pattern({1, 2, 4, 5}, 5, 11), pattern({3, 2, 2, 2}, 3, 7)},
       [](const Tensors& x) {
         return conv2d(
             x[0], x[1],
             {.padding = "same", .data_format = "channels_first", .dilation_rate = {1, 2}});
       },
       f32({1, 2, 4, 5}, {0,   -2, 20,  -35, 12,  -22, 28, -34, 3,  5,  30,  15, 8,  12,
                          -5,  -7, -19, 21,  -16, -28, 3,  -11, -7, 19, -11, 3,  -4, 3,
                          -34, 17, -20, 9,   -28, 12,  9,  20,  20, -2, 20,  -8})},
      {"conv2d 1x1, two images",
       {pattern({2, 2, 2, 3}, 5, 11), pattern({1, 1, 3, 2}, 3, 7)},
       [](const Tensors& x) { return conv2d(x[0], x[1]); },
       f32({2, 2, 2, 2}, {25, -10, 11, 0, -14, -1, 5, 9, 13, -3, -12, -4, 7, 6, -18, 5})},
      {"conv2d channels_first, strides",
       {pattern({1, 2, 5, 4}, 5, 11), pattern({2, 3, 2, 2}, 3, 7)},
       [](const Tensors& x) {
         return conv2d(x[0], x[1], {.strides = 2, .data_format = "channels_first"});
       },
       f32({1, 2, 2, 1}, {-19, -9, 17, 29})},
      {"conv3d",
       {pattern({1, 3, 3, 3, 2}, 5, 11), pattern({2, 2, 2, 2, 1}, 3, 7)},
       [](const Tensors& x) { return conv3d(x[0], x[1]); },
       f32({1, 2, 2, 2, 1}, {46, 16, -44, -41, 62, 32, 16, -25})},
      {"conv3d same, strides, channels_first",
       {pattern({1, 1, 3, 4, 2}, 5, 11), pattern({2, 3, 2, 1, 2}, 3, 7)},
       [](const Tensors& x) {
         return conv3d(x[0], x[1],
                       {.strides = {2, 2, 1}, .padding = "same", .data_format = "channels_first"});
       },
       f32({1, 2, 2, 2, 2}, {27, -4, -25, 2, 10, -5, 5, -3, 27, -18, -2, 7, -13, -1, 9, 0})},
      {"depthwise_conv2d",
       {pattern({1, 3, 3, 2}, 5, 11), pattern({2, 2, 2, 2}, 3, 7)},
       [](const Tensors& x) { return depthwise_conv2d(x[0], x[1]); },
       f32({1, 2, 2, 4}, {21, 1, 14, -3, -9, -1, 14, -1, -3, -5, -30, 25, 0, -7, -30, 27})},
      {"depthwise_conv2d same, strides, channels_first",
       {pattern({1, 3, 4, 3}, 5, 11), pattern({2, 3, 3, 1}, 3, 7)},
       [](const Tensors& x) {
         return depthwise_conv2d(
             x[0], x[1], {.strides = 2, .padding = "same", .data_format = "channels_first"});
       },
       f32({1, 3, 2, 2}, {7, 11, 2, 20, -17, 3, -26, -3, -7, 4, 11, -29})},
      {"depthwise_conv2d dilation",
       {pattern({1, 5, 4, 2}, 5, 11), pattern({2, 2, 2, 1}, 3, 7)},
       [](const Tensors& x) { return depthwise_conv2d(x[0], x[1], {.dilation_rate = {3, 2}}); },
       f32({1, 2, 2, 2}, {40, 13, 4, 19, -5, -7, -8, -23})},
      {"conv2d_transpose",
       {pattern({1, 3, 2, 3}, 5, 11), pattern({2, 2, 2, 3}, 3, 7)},
       [](const Tensors& x) { return conv2d_transpose(x[0], x[1], {1, 4, 3, 2}); },
       f32({1, 4, 3, 2}, {30,  -5, -8, 8,   -13, -11, -8, -18, 16,  76,  -19, -26,
                          -18, 1,  20, -16, -5,  17,  8,  16,  -30, -12, 15,  -3})},
      {"conv2d_transpose same, strides (2, 3)",
       {pattern({1, 3, 2, 2}, 5, 11), pattern({3, 2, 1, 2}, 3, 7)},
       [](const Tensors& x) {
         return conv2d_transpose(x[0], x[1], {None, 5, 4, 1},
                                 {.strides = {2, 3}, .padding = "same"});
       },
       f32({1, 5, 4, 1},
           {-10, -5, 0, 12, -12, 19, 0, -12, 12, 10, 0, 12, -12, 2, 0, -12, 12, 14, 0, 12})},
      {"conv2d_transpose channels_first",
       {pattern({1, 2, 1, 2}, 5, 11), pattern({2, 1, 2, 2}, 3, 7)},
       [](const Tensors& x) {
         return conv2d_transpose(x[0], x[1], {1, 2, 3, 4},
                                 {.strides = {2, 2}, .data_format = "channels_first"});
       },
       f32({1, 2, 3, 4},
           {15, 0, 0, 0, -20, 0, 2, 0, 0, 0, 0, 0, -20, 0, 1, 0, -20, 0, 3, 0, 0, 0, 0, 0})},
      {"conv2d_transpose elements behind the last window",
       {pattern({1, 2, 2, 1}, 5, 11), pattern({2, 2, 1, 1}, 3, 7)},
       [](const Tensors& x) {
         return conv2d_transpose(x[0], x[1], {1, 6, 3, None}, {.strides = {3, 1}});
       },
       f32({1, 6, 3, 1}, {15, 0, 0, -15, 5, 0, 0, 0, 0, -15, 3, 0, 15, -8, 1, 0, 0, 0})},
      {"conv3d_transpose",
       {pattern({1, 2, 1, 2, 2}, 5, 11), pattern({2, 2, 2, 1, 2}, 3, 7)},
       [](const Tensors& x) { return conv3d_transpose(x[0], x[1], {1, 3, 2, 3, 1}); },
       f32({1, 3, 2, 3, 1},
           {15, -30, 16, -10, 7, 8, -12, 7, 5, 22, 26, -3, -6, -17, -9, -10, -21, -9})},
      {"conv3d_transpose same, strides, channels_first",
       {pattern({1, 1, 2, 2, 2}, 5, 11), pattern({2, 3, 2, 2, 1}, 3, 7)},
       [](const Tensors& x) {
         return conv3d_transpose(
             x[0], x[1], {None, 2, 3, 4, 2},
             {.strides = {2, 2, 1}, .padding = "same", .data_format = "channels_first"});
       },
       f32({1, 2, 3, 4, 2},
           {15,  -15, -10, -5, -15, 23,  10, 3,  10, 15, -15, -10, -15, -13, 15,  7,
            -12, 18,  8,   0,  -9,  14,  6,  -3, 0,  5,  10,  15,  -15, -15, -10, -13,
            -5,  0,   5,   10, 20,  -16, -5, -9, 0,  -4, -8,  -8,  12,  -1,  -6,  -3})},
      {"separable_conv2d",
       {pattern({1, 3, 3, 2}, 5, 11), pattern({2, 2, 2, 2}, 3, 7), pattern({1, 1, 4, 2}, 2, 5)},
       [](const Tensors& x) { return separable_conv2d(x[0], x[1], x[2]); },
       f32({1, 2, 2, 2}, {-26, -35, 30, -29, -34, 115, -44, 121})},
      {"separable_conv2d same, strides, channels_first",
       {pattern({1, 2, 4, 3}, 5, 11), pattern({3, 2, 2, 1}, 3, 7), pattern({1, 1, 2, 3}, 2, 5)},
       [](const Tensors& x) {
         return separable_conv2d(
             x[0], x[1], x[2], {.strides = 2, .padding = "same", .data_format = "channels_first"});
       },
       f32({1, 3, 2, 2}, {-28, 56, 39, 32, -12, -18, 11, 0, 64, -2, -72, -32})},
      {"separable_conv1d",
       {pattern({1, 5, 2}, 5, 11), pattern({3, 2, 2}, 3, 7), pattern({1, 4, 2}, 2, 5)},
       [](const Tensors& x) { return separable_conv1d(x[0], x[1], x[2]); },
       f32({1, 3, 2}, {-45, -6, 14, 5, 7, 16})},
      {"separable_conv1d same, dilation in a list",
       {pattern({2, 4, 2}, 5, 11), pattern({2, 2, 1}, 3, 7), pattern({1, 2, 1}, 2, 5)},
       [](const Tensors& x) {
         return separable_conv1d(x[0], x[1], x[2], {.padding = "same", .dilation_rate = {2}});
       },
       f32({2, 4, 1}, {-30, -54, 12, 24, -6, 12, 12, 0})},
      {"local_conv1d",
       {pattern({2, 4, 2}, 5, 11), pattern({3, 4, 2}, 3, 7)},
       [](const Tensors& x) { return local_conv1d(x[0], x[1], 2, 1); },
       f32({2, 3, 2}, {24, -7, -1, 17, 11, -18, -21, 17, -10, -7, 9, 5})},
      {"local_conv1d strides in a list",
       {pattern({1, 6, 1}, 5, 11), pattern({2, 3, 1}, 3, 7)},
       [](const Tensors& x) {
         return local_conv1d(x[0], x[1], {3}, {2}, {.data_format = "channels_first"});
       },
       f32({1, 2, 1}, {30, -15})},
      {"local_conv2d",
       {pattern({1, 3, 4, 2}, 5, 11), pattern({6, 8, 2}, 3, 7)},
       [](const Tensors& x) { return local_conv2d(x[0], x[1], {2, 2}, {1, 1}, {2, 3}); },
       f32({1, 2, 3, 2}, {41, -8, 41, -29, -1, -6, 22, -24, -19, 7, -2, -9})},
      {"local_conv2d strides, channels_first",
       {pattern({1, 2, 4, 5}, 5, 11), pattern({4, 12, 1}, 3, 7)},
       [](const Tensors& x) {
         return local_conv2d(x[0], x[1], {3, 2}, {1, 3}, {2, 2}, {.data_format = "channels_first"});
       },
       f32({1, 1, 2, 2}, {13, 18, 2, -45})},
  };
}

/// 1 2 3 4 as a sequence, the input of the specification's examples.
Array sequence() { return f32({1, 4, 1}, {1, 2, 3, 4}); }
/// 1 2 3 as an image of one row.
Array line() { return f32({1, 1, 3, 1}, {1, 2, 3}); }
Array digits(std::int64_t count) {
  std::vector<float> elements{1, 10, 100};
  elements.resize(static_cast<std::size_t>(count));
  return f32({1, count, 1, 1}, elements);
}
Tensor as_sequence(const Tensor& kernel) { return squeeze(kernel, 0); }

std::vector<Row> rows_by_hand() {
  return {
      {"conv1d same",
       {sequence(), digits(2)},
       [](const Tensors& x) { return conv1d(x[0], as_sequence(x[1]), {.padding = "same"}); },
       f32({1, 4, 1}, {21, 32, 43, 4})},
      {"conv1d same, stride 2",
       {sequence(), digits(3)},
       [](const Tensors& x) {
         return conv1d(x[0], as_sequence(x[1]), {.strides = 2, .padding = "same"});
       },
       f32({1, 2, 1}, {321, 43})},
      {"conv1d causal",
       {sequence(), digits(2)},
       [](const Tensors& x) { return conv1d(x[0], as_sequence(x[1]), {.padding = "causal"}); },
       f32({1, 4, 1}, {10, 21, 32, 43})},
      {"conv1d causal, dilation 2",
       {sequence(), digits(2)},
       [](const Tensors& x) {
         return conv1d(x[0], as_sequence(x[1]), {.padding = "causal", .dilation_rate = 2});
       },
       f32({1, 4, 1}, {10, 20, 31, 42})},
      {"conv1d of int32",
       {i32({1, 3, 1}, {1, 2, 3}), i32({2, 1, 1}, {10, -1})},
       [](const Tensors& x) { return conv1d(x[0], x[1]); },
       i32({1, 2, 1}, {8, 17})},
      {"conv1d no samples",
       {f32({0, 4, 1}, {}), f32({2, 1, 3}, {1, 2, 3, 4, 5, 6})},
       [](const Tensors& x) { return conv1d(x[0], x[1]); },
       f32({0, 3, 3}, {})},
      {"conv1d same, no steps",
       {f32({2, 0, 1}, {}), f32({2, 1, 3}, {1, 2, 3, 4, 5, 6})},
       [](const Tensors& x) { return conv1d(x[0], x[1], {.padding = "same"}); },
       f32({2, 0, 3}, {})},
      {"conv1d no channels",
       {f32({1, 3, 0}, {}), f32({2, 0, 1}, {})},
       [](const Tensors& x) { return conv1d(x[0], x[1]); },
       f32({1, 2, 1}, {0, 0})},
      {"conv1d no filters",
       {f32({1, 3, 1}, {1, 2, 3}), f32({2, 1, 0}, {})},
       [](const Tensors& x) { return conv1d(x[0], x[1]); },
       f32({1, 2, 0}, {})},
      {"conv1d causal, stride 2",
       {sequence(), digits(2)},
       [](const Tensors& x) {
         return conv1d(x[0], as_sequence(x[1]), {.strides = 2, .padding = "causal"});
       },
       f32({1, 2, 1}, {10, 32})},
      {"conv1d causal, no steps",
       {f32({1, 0, 2}, {}), f32({3, 2, 1}, {1, 2, 3, 4, 5, 6})},
       [](const Tensors& x) { return conv1d(x[0], x[1], {.padding = "causal"}); },
       f32({1, 0, 1}, {})},
      {"conv1d stride beyond the elements",
       {sequence(), digits(2)},
       [](const Tensors& x) { return conv1d(x[0], as_sequence(x[1]), {.strides = 9}); },
       f32({1, 1, 1}, {21})},
      {"conv2d of one element",
       {f32({1, 1, 1, 1}, {3}), f32({1, 1, 1, 2}, {2, -5})},
       [](const Tensors& x) {
         return conv2d(x[0], x[1], {.padding = "same", .data_format = "channels_first"});
       },
       f32({1, 2, 1, 1}, {6, -15})},
      {"conv2d same, a filter beyond the image",
       {f32({1, 1, 2, 1}, {1, 2}), f32({1, 5, 1, 1}, {1, 10, 100, 1000, 10000})},
       [](const Tensors& x) { return conv2d(x[0], x[1], {.padding = "same"}); },
       f32({1, 1, 2, 1}, {2100, 210})},
      {"conv3d of uint8",
       {Array{1, 2, 3}.astype(DType::UInt8).reshape({1, 3, 1, 1, 1}),
        Array{2, 100}.astype(DType::UInt8).reshape({2, 1, 1, 1, 1})},
       [](const Tensors& x) { return conv3d(x[0], x[1]); },
       Array{202, 304 - 256}.astype(DType::UInt8).reshape({1, 2, 1, 1, 1})},
      {"depthwise_conv2d no channels",
       {},
       [](const Tensors&) {
         const Tensor x = zeros({1, 2, 2, 0}), kernel = zeros({2, 1, 0, 3});
         return depthwise_conv2d(x, kernel, {.padding = "same"});
       },
       f32({1, 2, 2, 0}, {})},
      {"depthwise_conv2d no channels, an unknown number",
       {f32({1, 2, 2, 0}, {}), f32({2, 1, 0, 3}, {})},
       [](const Tensors& x) { return depthwise_conv2d(x[0], x[1], {.padding = "same"}); },
       f32({1, 2, 2, 0}, {})},
      {"depthwise_conv2d no channels, gradients",
       {f32({1, 2, 2, 0}, {}), f32({2, 1, 0, 3}, {})},
       [](const Tensors& x) {
         const auto g = gradients(depthwise_conv2d(x[0], x[1]), {x[0], x[1]});
         return concatenate({flatten(g[0]), flatten(g[1]), cast(shape(g[1]), "float32")});
       },
       f32({4}, {2, 1, 0, 3})},
      {"separable_conv2d no channels",
       {f32({1, 2, 2, 0}, {}), f32({2, 1, 0, 3}, {}), f32({1, 1, 0, 2}, {})},
       [](const Tensors& x) { return separable_conv2d(x[0], x[1], x[2]); },
       f32({1, 1, 2, 2}, {0, 0, 0, 0})},
      {"depthwise_conv2d no multiples",
       {f32({1, 1, 1, 2}, {1, 2}), f32({1, 1, 2, 0}, {})},
       [](const Tensors& x) { return depthwise_conv2d(x[0], x[1]); },
       f32({1, 1, 1, 0}, {})},
      {"depthwise_conv2d channel c times mult plus m",
       {f32({1, 1, 1, 2}, {1, 10}), f32({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6})},
       [](const Tensors& x) { return depthwise_conv2d(x[0], x[1]); },
       f32({1, 1, 1, 6}, {1, 2, 3, 40, 50, 60})},
      {"separable_conv2d no samples",
       {f32({0, 2, 2, 1}, {}), f32({1, 1, 1, 2}, {1, 2}), f32({1, 1, 2, 1}, {3, 4})},
       [](const Tensors& x) { return separable_conv2d(x[0], x[1], x[2]); },
       f32({0, 2, 2, 1}, {})},
      // Strides, padding and dilation act once: 1 2 3 4 by 1 10 two apart, then times 2.
      {"separable_conv1d steps of the first stage alone",
       {sequence(), f32({2, 1, 1}, {1, 10}), f32({1, 1, 1}, {2})},
       [](const Tensors& x) {
         return separable_conv1d(x[0], x[1], x[2], {.strides = {2}, .dilation_rate = 2});
       },
       f32({1, 1, 1}, {62})},
      {"local_conv1d fewer positions than fit",
       {sequence(), f32({1, 2, 1}, {1, 10})},
       [](const Tensors& x) { return local_conv1d(x[0], x[1], 2, 2); },
       f32({1, 1, 1}, {21})},
      {"local_conv1d no positions",
       {sequence(), f32({0, 2, 1}, {})},
       [](const Tensors& x) { return local_conv1d(x[0], x[1], 2, 1); },
       f32({1, 0, 1}, {})},
      {"local_conv1d of integers",
       {i32({1, 2, 1}, {3, 4}), i32({2, 1, 1}, {5, 7})},
       [](const Tensors& x) { return local_conv1d(x[0], x[1], 1, 1); },
       i32({1, 2, 1}, {15, 28})},
      // A patch of channels_first is laid out as (in, rows, columns).
      {"local_conv2d patches of channels_first",
       {f32({1, 2, 1, 2}, {1, 2, 3, 4}), f32({1, 4, 1}, {1, 10, 100, 1000})},
       [](const Tensors& x) {
         return local_conv2d(x[0], x[1], {1, 2}, 1, {1, 1}, {.data_format = "channels_first"});
       },
       f32({1, 1, 1, 1}, {4321})},
      {"local_conv2d patches of channels_last",
       {f32({1, 1, 2, 2}, {1, 2, 3, 4}), f32({1, 4, 1}, {1, 10, 100, 1000})},
       [](const Tensors& x) { return local_conv2d(x[0], x[1], {1, 2}, 1, {1, 1}); },
       f32({1, 1, 1, 1}, {4321})},
      {"conv2d_transpose no samples",
       {f32({0, 1, 3, 1}, {}), digits(2)},
       [](const Tensors& x) { return conv2d_transpose(x[0], x[1], {None, 1, 4, 1}); },
       f32({0, 1, 4, 1}, {})},
      {"conv2d_transpose of integers",
       {i32({1, 1, 2, 1}, {1, 2}), i32({1, 2, 1, 1}, {3, 4})},
       [](const Tensors& x) { return conv2d_transpose(x[0], x[1], {1, 1, 3, 1}); },
       i32({1, 1, 3, 1}, {3, 10, 8})},
      {"conv2d_transpose twice the size of x",
       {line(), digits(3)},
       [](const Tensors& x) {
         const Tensor size = shape(x[0]);
         return conv2d_transpose(x[0], x[1], {size[0], size[1], size[2] * 2, 1},
                                 {.strides = {1, 2}, .padding = "same"});
       },
       f32({1, 1, 6, 1}, {1, 10, 102, 20, 203, 30})},
      {"conv2d_transpose stride 2, 7 positions",
       {line(), digits(3)},
       [](const Tensors& x) {
         return conv2d_transpose(x[0], x[1], {1, 1, 7, 1}, {.strides = {1, 2}});
       },
       f32({1, 1, 7, 1}, {1, 10, 102, 20, 203, 30, 300})},
      {"conv2d_transpose same, stride 2, 6 positions",
       {line(), digits(3)},
       [](const Tensors& x) {
         return conv2d_transpose(x[0], x[1], {1, 1, 6, 1}, {.strides = {1, 2}, .padding = "same"});
       },
       f32({1, 1, 6, 1}, {1, 10, 102, 20, 203, 30})},
      {"conv2d_transpose same, stride 2, 5 positions",
       {line(), digits(3)},
       [](const Tensors& x) {
         return conv2d_transpose(x[0], x[1], {1, 1, 5, 1}, {.strides = {1, 2}, .padding = "same"});
       },
       f32({1, 1, 5, 1}, {10, 102, 20, 203, 30})},
      {"conv2d_transpose even filter",
       {line(), digits(2)},
       [](const Tensors& x) {
         return conv2d_transpose(x[0], x[1], {1, 1, 3, 1}, {.padding = "same"});
       },
       f32({1, 1, 3, 1}, {1, 12, 23})},
      // Keras 2.3.1, tests/keras/layers/convolutional_test.py.
      {"conv2d_transpose dilation 2",
       {},
       [](const Tensors&) {
         const Tensor x = reshape(arange(48, {.dtype = "float32"}), {1, 4, 4, 3});
         return conv2d_transpose(x, ones({3, 3, 1, 3}), {None, 4, 4, 1},
                                 {.padding = "same", .dilation_rate = 2});
       },
       f32({1, 4, 4, 1},
           {192, 228, 192, 228, 336, 372, 336, 372, 192, 228, 192, 228, 336, 372, 336, 372})},
      {"conv2d_transpose the shape of a tensor",
       {line(), digits(2), f32({1, 1, 3, 1}, {0, 0, 0})},
       [](const Tensors& x) {
         return conv2d_transpose(x[0], x[1], shape(x[2]), {.padding = "same"});
       },
       f32({1, 1, 3, 1}, {1, 12, 23})},
  };
}

}  // namespace

std::vector<Row> convolution_rows() {
  std::vector<Row> rows = rows_by_loops();
  for (Row& row : rows_by_hand()) rows.push_back(std::move(row));
  return rows;
}

TEST_CASE("convolutions: values", "[k]") { run(convolution_rows()); }

}  // namespace kiln::test
