// Tests gradients of kiln/convolution.h against finite differences, to second order.
#include "tests/support/catch.h"
#include "tests/k/row.h"

namespace kiln::test {
namespace {

using Dims = std::vector<std::int64_t>;
const Dims kImage{2, 5, 4, 2}, kFirst{2, 2, 5, 4}, kKernel{3, 2, 2, 2};

const SmoothRow kConvolutionGradients[] = {
    {"conv1d",
     {{2, 6, 2}, {3, 2, 2}},
     [](const Tensors& x) { return conv1d(x[0], x[1], {.strides = 2}); }},
    {"conv1d causal",
     {{2, 6, 2}, {2, 2, 2}},
     [](const Tensors& x) {
       return conv1d(x[0], x[1], {.padding = "causal", .dilation_rate = 2});
     }},
    {"conv2d", {kImage, kKernel}, [](const Tensors& x) { return conv2d(x[0], x[1]); }},
    {"conv2d same, strides",
     {kImage, kKernel},
     [](const Tensors& x) {
       return square(conv2d(x[0], x[1], {.strides = {2, 1}, .padding = "same"}));
     }},
    {"conv2d dilation, channels_first",
     {kFirst, kKernel},
     [](const Tensors& x) {
       return tanh(
           conv2d(x[0], x[1],
                  {.padding = "same", .data_format = "channels_first", .dilation_rate = {1, 2}}));
     },
     -0.5,
     0.5},
    {"conv3d",
     {{1, 3, 4, 3, 2}, {2, 2, 2, 2, 1}},
     [](const Tensors& x) {
       return conv3d(x[0], x[1], {.strides = {1, 2, 1}, .padding = "same"});
     }},
    {"conv2d_transpose",
     {{1, 3, 2, 2}, {2, 3, 2, 2}},
     [](const Tensors& x) {
       return conv2d_transpose(x[0], x[1], {1, 6, 4, 2}, {.strides = 2, .padding = "same"});
     }},
    {"conv2d_transpose channels_first, dilation",
     {{1, 2, 3, 4}, {2, 2, 3, 2}},
     [](const Tensors& x) {
       return conv2d_transpose(x[0], x[1], {1, 3, 5, 6},
                               {.data_format = "channels_first", .dilation_rate = 2});
     }},
    {"conv3d_transpose",
     {{1, 2, 2, 2, 1}, {2, 1, 2, 2, 1}},
     [](const Tensors& x) {
       return conv3d_transpose(x[0], x[1], {1, 3, 2, 4, 2}, {.strides = {1, 1, 2}});
     }},
    {"depthwise_conv2d",
     {kImage, {3, 2, 2, 2}},
     [](const Tensors& x) {
       return square(depthwise_conv2d(x[0], x[1], {.strides = 2, .padding = "same"}));
     },
     -1,
     1},
    {"separable_conv2d",
     {kFirst, {2, 2, 2, 1}, {1, 1, 2, 3}},
     [](const Tensors& x) {
       return separable_conv2d(x[0], x[1], x[2], {.data_format = "channels_first"});
     }},
    {"separable_conv1d",
     {{2, 5, 2}, {2, 2, 2}, {1, 4, 2}},
     [](const Tensors& x) {
       return separable_conv1d(x[0], x[1], x[2], {.padding = "same", .dilation_rate = 2});
     }},
    {"local_conv1d",
     {{2, 5, 2}, {2, 6, 2}},
     [](const Tensors& x) { return square(local_conv1d(x[0], x[1], 3, 2)); },
     -1,
     1},
    {"local_conv2d",
     {kFirst, {6, 8, 2}},
     [](const Tensors& x) {
       return local_conv2d(x[0], x[1], 2, {2, 1}, {2, 3}, {.data_format = "channels_first"});
     }},
};

}  // namespace

TEST_CASE("convolutions: gradients", "[k]") {
  for (const SmoothRow& row : kConvolutionGradients) run(row);
}

}  // namespace kiln::test
