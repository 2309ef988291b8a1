// Tests misuse of kiln/convolution.h: errors when the graph is built, word for word, and errors at
// the call where sizes are unknown.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

namespace kiln::test {
namespace {

using testing::throws;
using testing::Misuse;
using Dims = std::vector<std::int64_t>;

const std::vector<Misuse> kConvolutionErrors = {
    {throws<ValueError>(), [] { return conv1d(of({2, 5}), of({3, 1, 1})); },
     "conv1d: x has rank 2, not 3 (x float32[2,5])"},
    {throws<ValueError>(), [] { return conv2d(of({2, 5, 5, 1}), of({3, 1, 1})); },
     "conv2d: kernel has rank 3, not 4 (kernel float32[3,1,1])"},
    {throws<TypeError>(), [] { return conv1d(of({2, 5, 1}), of({3, 1, 1}, "float64")); },
     "conv1d: x has dtype float32 but kernel has dtype float64 (x float32[2,5,1], kernel "
     "float64[3,1,1])"},
    {throws<TypeError>(), [] { return conv1d(of({2, 5, 1}, "bool"), of({3, 1, 1}, "bool")); },
     "conv1d: x is bool, not a number (x bool[2,5,1], kernel bool[3,1,1])"},
    {throws<ValueError>(1),
     [] { return conv1d(of({2, 5, 1}), of({3, 1, 1}), {.data_format = "last"}); },
     "conv1d: data_format 'last' is neither 'channels_last' nor 'channels_first'"},
    {throws<ValueError>(1),
     [] { return conv1d(of({2, 5, 1}), of({3, 1, 1}), {.padding = "full"}); },
     "conv1d: padding 'full' is neither 'valid', 'same' nor 'causal'"},
    {throws<ValueError>(1),
     [] { return conv2d(of({2, 5, 5, 1}), of({3, 3, 1, 1}), {.padding = "causal"}); },
     "conv2d: padding 'causal' is neither 'valid' nor 'same'"},
    {throws<ValueError>(2),
     [] {
       return conv1d(of({2, 1, 5}), of({3, 1, 1}),
                     {.padding = "causal", .data_format = "channels_first"});
     },
     "conv1d: padding 'causal' needs data_format 'channels_last'"},
    {throws<ValueError>(1),
     [] { return conv2d(of({2, 5, 5, 1}), of({3, 3, 1, 1}), {.strides = 0}); },
     "conv2d: strides 0 is not positive"},
    {throws<ValueError>(1),
     [] { return conv2d(of({2, 5, 5, 1}), of({3, 3, 1, 1}), {.strides = {1, 2, 3}}); },
     "conv2d: strides (1, 2, 3) has 3 entries for 2 spatial axes"},
    {throws<ValueError>(1),
     [] { return conv2d(of({2, 5, 5, 1}), of({3, 3, 1, 1}), {.dilation_rate = -1}); },
     "conv2d: dilation_rate -1 is not positive"},
    {throws<ValueError>(), [] { return conv1d(of({2, 5, 2}), of({3, 1, 1})); },
     "conv1d: x has 2 channels but kernel takes 1 (kernel float32[3,1,1])"},
    {throws<ValueError>(), [] { return conv1d(of({2, 2, 1}), of({3, 1, 1})); },
     "conv1d: a window over 3 elements does not fit into 2 of spatial axis 0 (x float32[2,2,1])"},
    {throws<ValueError>(1),
     [] { return conv2d(of({2, 5, 5, 1}), of({3, 3, 1, 1}), {.dilation_rate = {1, 3}}); },
     "conv2d: a window over 7 elements does not fit into 5 of spatial axis 1 (x "
     "float32[2,5,5,1])"},
    {throws<ValueError>(1),
     [] { return conv2d_transpose(of({2, 3, 3, 1}), of({3, 3, 1, 1}), {2, 5, 5}); },
     "conv2d_transpose: output_shape has 3 entries, not 4 (x float32[2,3,3,1])"},
    {throws<ValueError>(1),
     [] { return conv2d_transpose(of({2, 3, 3, 1}), of({3, 3, 1, 1}), {2, 5, 6, 1}); },
     "conv2d_transpose: output_shape [2,5,6,1] convolves to [2,3,4,1], not to the dims of x "
     "[2,3,3,1] (channels last)"},
    {throws<ValueError>(1),
     [] { return conv2d_transpose(of({2, 3, 3, 1}), of({3, 3, 2, 1}), {2, 5, 5, 1}); },
     "conv2d_transpose: output_shape has 1 channels but kernel gives 2 (kernel "
     "float32[3,3,2,1])"},
    {throws<ValueError>(1),
     [] { return conv2d_transpose(of({2, 3, 3, 1}), of({3, 3, 1, 2}), {2, 5, 5, 1}); },
     "conv2d_transpose: x has 1 channels but kernel takes 2 (kernel float32[3,3,1,2])"},
    {throws<ValueError>(), [] { return depthwise_conv2d(of({2, 3, 3, 2}), of({3, 3, 1, 2})); },
     "depthwise_conv2d: x has 2 channels but depthwise_kernel takes 1 (depthwise_kernel "
     "float32[3,3,1,2])"},
    {throws<ValueError>(1),
     [] { return separable_conv1d(of({2, 3, 2}), of({3, 2, 2}), of({2, 4, 1})); },
     "separable_conv1d: spatial axis 0 of pointwise_kernel has 2 elements, not 1 "
     "(pointwise_kernel float32[2,4,1])"},
    {throws<ValueError>(1),
     [] { return separable_conv1d(of({2, 3, 2}), of({3, 2, 2}), of({1, 3, 1})); },
     "separable_conv1d: the depthwise stage gives 4 channels but pointwise_kernel takes 3 "
     "(pointwise_kernel float32[1,3,1])"},
    {throws<ValueError>(), [] { return local_conv1d(of({2, 5, 1}), of({4, 3, 1}), 3, 1); },
     "local_conv1d: 4 windows of 3 do not fit into 5 elements of spatial axis 0 (inputs "
     "float32[2,5,1])"},
    {throws<ValueError>(), [] { return local_conv1d(of({2, 5, 2}), of({3, 3, 1}), 3, 1); },
     "local_conv1d: axis 1 of kernel has 3 entries for 6 elements of a window (kernel "
     "float32[3,3,1])"},
    {throws<ValueError>(1),
     [] { return local_conv2d(of({2, 4, 4, 1}), of({8, 4, 1}), 2, 1, {3, 3}); },
     "local_conv2d: axis 0 of kernel has 8 entries for 9 positions (kernel float32[8,4,1])"},
    // sizes and strides
    {throws<ValueError>(), [] { return conv3d(of({2, 5, 5, 1}), of({3, 3, 3, 1, 1})); },
     "conv3d: x has rank 4, not 5 (x float32[2,5,5,1])"},
    {throws<ValueError>(), [] { return conv2d(1, of({3, 3, 1, 1})); },
     "conv2d: x has rank 0, not 4 (x float32[])"},
    {throws<ValueError>(), [] { return conv2d(Tensor(), of({3, 3, 1, 1})); },
     "conv2d: x is an empty tensor"},
    {throws<ValueError>(1),
     [] { return conv3d(of({1, 5, 5, 5, 1}), of({3, 3, 3, 1, 1}), {.data_format = "th"}); },
     "conv3d: data_format 'th' is neither 'channels_last' nor 'channels_first'"},
    {throws<ValueError>(1),
     [] { return conv3d(of({1, 5, 5, 5, 1}), of({3, 3, 3, 1, 1}), {.padding = "causal"}); },
     "conv3d: padding 'causal' is neither 'valid' nor 'same'"},
    {throws<ValueError>(1),
     [] { return conv1d(of({2, 5, 1}), of({3, 1, 1}), {.strides = {1, 1}}); },
     "conv1d: strides (1, 1) has 2 entries for 1 spatial axes"},
    {throws<ValueError>(1),
     [] { return conv2d(of({2, 5, 5, 1}), of({3, 3, 1, 1}), {.strides = Dims{}}); },
     "conv2d: strides () has 0 entries for 2 spatial axes"},
    {throws<ValueError>(1),
     [] { return conv2d(of({2, 5, 5, 1}), of({3, 3, 1, 1}), {.strides = {2, -2}}); },
     "conv2d: strides -2 is not positive"},
    {throws<ValueError>(1),
     [] { return conv2d(of({2, 5, 5, 1}), of({3, 3, 1, 1}), {.dilation_rate = {2, 0}}); },
     "conv2d: dilation_rate 0 is not positive"},
    {throws<ValueError>(1),
     [] { return conv3d(of({1, 5, 5, 5, 1}), of({3, 3, 3, 1, 1}), {.dilation_rate = {2, 2}}); },
     "conv3d: dilation_rate (2, 2) has 2 entries for 3 spatial axes"},
    {throws<ValueError>(3),
     [] {
       const ConvOptions far{.padding = "same", .dilation_rate = std::int64_t{1} << 62};
       return conv2d(of({2, 5, 5, 1}), of({3, 3, 1, 1}), far);
     },
     "conv2d: a dimension does not fit in 64 bits"},
    {throws<ValueError>(), [] { return conv1d(of({2, 5, 1}), of({0, 1, 1})); },
     "conv1d: spatial axis 0 of kernel has no elements (kernel float32[0,1,1])"},
    {throws<ValueError>(1),
     [] { return conv2d(of({2, 5, 5, 1}), of({1, 0, 1, 1}), {.padding = "same"}); },
     "conv2d: spatial axis 1 of kernel has no elements (kernel float32[1,0,1,1])"},
    {throws<ValueError>(), [] { return depthwise_conv2d(of({2, 5, 5, 1}), of({6, 1, 1, 1})); },
     "depthwise_conv2d: a window over 6 elements does not fit into 5 of spatial axis 0 (x "
     "float32[2,5,5,1])"},
    {throws<ValueError>(1),
     [] { return conv2d(of({2, 1, 5, 5}), of({3, 3, 5, 1}), {.data_format = "channels_first"}); },
     "conv2d: x has 1 channels but kernel takes 5 (kernel float32[3,3,5,1])"},
    // depthwise and separable
    {throws<ValueError>(), [] { return depthwise_conv2d(of({2, 5, 1}), of({3, 3, 1, 1})); },
     "depthwise_conv2d: x has rank 3, not 4 (x float32[2,5,1])"},
    {throws<ValueError>(), [] { return depthwise_conv2d(of({2, 5, 5, 1}), of({3, 3, 1})); },
     "depthwise_conv2d: depthwise_kernel has rank 3, not 4 (depthwise_kernel float32[3,3,1])"},
    {throws<ValueError>(1),
     [] { return depthwise_conv2d(of({2, 5, 5, 1}), of({3, 3, 1, 1}), {.padding = "full"}); },
     "depthwise_conv2d: padding 'full' is neither 'valid' nor 'same'"},
    {throws<TypeError>(1),
     [] { return depthwise_conv2d(of({2, 5, 5, 1}), of({3, 3, 1, 1}, "int32")); },
     "depthwise_conv2d: x has dtype float32 but depthwise_kernel has dtype int32 (x "
     "float32[2,5,5,1], depthwise_kernel int32[3,3,1,1])"},
    {throws<ValueError>(2),
     [] {
       return separable_conv1d(of({2, 5, 2}), of({3, 2, 1}), of({1, 2, 1}), {.padding = "causal"});
     },
     "separable_conv1d: padding 'causal' is neither 'valid' nor 'same'"},
    {throws<ValueError>(1),
     [] { return separable_conv2d(of({2, 5, 5, 2}), of({3, 3, 2, 1}), of({1, 2, 1})); },
     "separable_conv2d: pointwise_kernel has rank 3, not 4 (pointwise_kernel float32[1,2,1])"},
    {throws<TypeError>(1),
     [] { return separable_conv1d(of({2, 5, 2}), of({3, 2, 1}), of({1, 2, 1}, "float64")); },
     "separable_conv1d: depthwise_kernel has dtype float32 but pointwise_kernel has dtype float64 "
     "(depthwise_kernel float32[3,2,1], pointwise_kernel float64[1,2,1])"},
    {throws<ValueError>(1),
     [] { return separable_conv1d(of({2, 5, 2}), of({3, 3, 1}), of({1, 3, 1})); },
     "separable_conv1d: x has 2 channels but depthwise_kernel takes 3 (depthwise_kernel "
     "float32[3,3,1])"},
    // transposed
    {throws<ValueError>(1),
     [] { return conv2d_transpose(of({2, 3, 3, 1}), of({3, 3, 1, 1}), {2, None, 5, 1}); },
     "conv2d_transpose: output_shape[1] is None; a size is needed"},
    {throws<ValueError>(1),
     [] { return conv2d_transpose(of({2, 3, 3, 1}), of({3, 3, 1, 1}), {2, 5, -5, 1}); },
     "conv2d_transpose: output_shape[2] is -5"},
    {throws<ValueError>(1),
     [] { return conv2d_transpose(of({2, 3, 3, 1}), of({3, 3, 1, 1}), {3, 5, 5, 1}); },
     "conv2d_transpose: output_shape [3,5,5,1] convolves to [3,3,3,1], not to the dims of x "
     "[2,3,3,1] (channels last)"},
    {throws<ValueError>(1),
     [] { return conv2d_transpose(of({2, 3, 3, 1}), of({3, 3, 1, 1}), {2, 2, 5, 1}); },
     "conv2d_transpose: a window over 3 elements does not fit into 2 of spatial axis 0 (x "
     "float32[2,2,5,1])"},
    {throws<ValueError>(1),
     [] { return conv2d_transpose(of({2, 3, 3, 1}), of({3, 3, 1, 1}), of({3}, "int32")); },
     "conv2d_transpose: output_shape has 3 entries, not 4 (x float32[2,3,3,1])"},
    {throws<ValueError>(2),
     [] {
       return conv2d_transpose(of({2, 3, 3, 1}), of({3, 3, 1, 1}), {2, 5, 5, 1}, {.strides = 0});
     },
     "conv2d_transpose: strides 0 is not positive"},
    {throws<ValueError>(3),
     [] {
       const Conv3dTransposeOptions causal{.padding = "causal"};
       return conv3d_transpose(of({1, 3, 3, 3, 1}), of({3, 3, 3, 1, 1}), {1, 5, 5, 5, 1}, causal);
     },
     "conv3d_transpose: padding 'causal' is neither 'valid' nor 'same'"},
    {throws<ValueError>(1),
     [] { return conv3d_transpose(of({1, 3, 3, 1}), of({3, 3, 1, 1}), {1, 5, 5, 1}); },
     "conv3d_transpose: x has rank 4, not 5 (x float32[1,3,3,1])"},
    // locally connected
    {throws<ValueError>(), [] { return local_conv1d(of({2, 5}), of({3, 3, 1}), 3, 1); },
     "local_conv1d: inputs has rank 2, not 3 (inputs float32[2,5])"},
    {throws<ValueError>(), [] { return local_conv1d(of({2, 5, 1}), of({3, 3}), 3, 1); },
     "local_conv1d: kernel has rank 2, not 3 (kernel float32[3,3])"},
    {throws<ValueError>(), [] { return local_conv1d(of({2, 5, 1}), of({3, 3, 1}), 0, 1); },
     "local_conv1d: kernel_size 0 is not positive"},
    {throws<ValueError>(), [] { return local_conv1d(of({2, 5, 1}), of({3, 3, 1}), 3, -1); },
     "local_conv1d: strides -1 is not positive"},
    {throws<ValueError>(), [] { return local_conv1d(of({2, 5, 1}), of({3, 3, 1}), {3, 1}, 1); },
     "local_conv1d: kernel_size (3, 1) has 2 entries for 1 spatial axes"},
    {throws<ValueError>(1),
     [] { return local_conv1d(of({2, 5, 1}), of({3, 3, 1}), 3, 1, {.data_format = "last"}); },
     "local_conv1d: data_format 'last' is neither 'channels_last' nor 'channels_first'"},
    {throws<TypeError>(), [] { return local_conv1d(of({2, 5, 1}), of({3, 3, 1}, "int32"), 3, 1); },
     "local_conv1d: inputs has dtype float32 but kernel has dtype int32 (inputs float32[2,5,1], "
     "kernel int32[3,3,1])"},
    {throws<ValueError>(1),
     [] { return local_conv2d(of({2, 4, 4, 1}), of({9, 4, 1}), 2, 1, {3, 0}); },
     "local_conv2d: output_shape 0 is not positive"},
    {throws<ValueError>(1),
     [] { return local_conv2d(of({2, 4, 4, 1}), of({8, 4, 1}), 2, 1, {2, 4}); },
     "local_conv2d: 4 windows of 2 do not fit into 4 elements of spatial axis 1 (inputs "
     "float32[2,4,4,1])"},
    {throws<ValueError>(1),
     [] { return local_conv2d(of({2, 4, 4, 2}), of({9, 4, 1}), 2, 1, {3, 3}); },
     "local_conv2d: axis 1 of kernel has 4 entries for 8 elements of a window (kernel "
     "float32[9,4,1])"},
};

/// Placeholders of unknown sizes, of these ranks.
Tensors unknown(const std::vector<std::size_t>& ranks) {
  Tensors x;
  for (const std::size_t rank : ranks) {
    const std::string name = "x" + std::to_string(x.size());
    x.push_back(placeholder({.shape = std::vector<ShapeEntry>(rank, None), .name = name}));
  }
  return x;
}

/// The text of the error of a call with zeros of these dims; "no error" without one.
std::string call_error(Build build, const std::vector<Dims>& dims) {
  std::vector<std::size_t> ranks;
  std::vector<Array> values;
  for (const Dims& one : dims) {
    ranks.push_back(one.size());
    values.push_back(Array::zeros(one));
  }
  const Tensors x = unknown(ranks);
  const Function f = function(x, {build(x)}, {.backend = tested_backend()});
  return testing::error_text<ValueError>([&] { f(values); });
}

Tensor plain(const Tensors& x) { return conv1d(x[0], x[1]); }
Tensor strided(const Tensors& x) { return conv1d(x[0], x[1], {.strides = 3}); }
Tensor pooled(const Tensors& x) { return pool2d(x[0], {1, 3}, {.strides = 2}); }
Tensor averaged(const Tensors& x) { return pool2d(x[0], {1, 3}, {.pool_mode = "avg"}); }
Tensor transposed(const Tensors& x) { return conv2d_transpose(x[0], x[1], {None, 4, 4, None}); }
Tensor local(const Tensors& x) { return local_conv1d(x[0], x[1], 2, 1); }
Tensor deep(const Tensors& x) { return depthwise_conv2d(x[0], x[1]); }
Tensor separable(const Tensors& x) { return separable_conv1d(x[0], x[1], x[2]); }

}  // namespace

TEST_CASE("convolution errors: misuse, word for word", "[k]") { run(kConvolutionErrors); }

TEST_CASE("convolution errors: those found at the call name the line that built the node", "[k]") {
  const Tensor x = placeholder({.shape = {None, None, 1}, .name = "x"});
  const std::vector<Misuse> rows = {
      {throws<ValueError>(2),
       [&] {
         const Tensor y = conv1d(x, ones({3, 1, 1}), {.strides = 2});
         function({x}, {relu(y)})({Array::zeros({1, 2, 1})});
       },
       "conv1d: a window over 3 elements does not fit into x.1 of axis 1 (float32[x.0,x.1,1]); in "
       "this call x.1 is 2"},
  };
  run(rows);
}

TEST_CASE("convolution errors: a filter that does not fit unknown sizes fails the call", "[k]") {
  const std::string fits = "no error";
  CHECK(call_error(plain, {{1, 3, 1}, {3, 1, 1}}) == fits);
  CHECK(call_error(plain, {{1, 2, 1}, {3, 1, 1}}) ==
        "conv1d: a window over x1.0 elements does not fit into x0.1 of axis 1 "
        "(float32[x0.0,x0.1,x0.2]); in this call x1.0 is 3 and x0.1 is 2");
  CHECK(call_error(plain, {{1, 0, 1}, {3, 1, 1}}) ==
        "conv1d: a window over x1.0 elements does not fit into x0.1 of axis 1 "
        "(float32[x0.0,x0.1,x0.2]); in this call x1.0 is 3 and x0.1 is 0");
  CHECK(call_error(plain, {{1, 0, 1}, {1, 1, 1}}) ==
        "conv1d: a window over x1.0 elements does not fit into x0.1 of axis 1 "
        "(float32[x0.0,x0.1,x0.2]); in this call x1.0 is 1 and x0.1 is 0");
  CHECK(call_error(plain, {{1, 3, 1}, {0, 1, 1}}) ==
        "conv1d: axis 0 is empty (float32"
        "[x1.0,x1.1,x1.2]); in this call x1.0 is 0");
  CHECK(call_error(strided, {{1, 2, 1}, {3, 1, 1}}) ==
        "conv1d: a window over x1.0 elements does not fit into x0.1 of axis 1 "
        "(float32[x0.0,x0.1,x0.2]); in this call x1.0 is 3 and x0.1 is 2");
  CHECK(call_error(plain, {{1, 3, 2}, {3, 1, 1}}) ==
        "conv1d: the input has x0.2 channels, the kernel takes x1.1 (float32[x0.0,x0.1,x0.2], "
        "float32[x1.0,x1.1,x1.2]); in this call x0.2 is 2 and x1.1 is 1");
  CHECK(call_error(pooled, {{1, 1, 3, 1}}) == fits);
  CHECK(call_error(pooled, {{1, 1, 2, 1}}) ==
        "pool2d: a window over 3 elements does not fit into x0.2 of axis 2 (float32"
        "[x0.0,x0.1,x0.2,x0.3]); in this call x0.2 is 2");
  CHECK(call_error(averaged, {{1, 0, 3, 1}}) ==
        "pool2d: axis 1 is empty (float32"
        "[x0.0,x0.1,x0.2,x0.3]); in this call x0.1 is 0");
  CHECK(call_error(transposed, {{1, 2, 2, 1}, {3, 3, 1, 1}}) == fits);
  CHECK(call_error(transposed, {{1, 2, 3, 1}, {3, 3, 1, 1}}) ==
        "conv2d_transpose: size x0.2 of axis 2 is not -x1.1+5 (float32[x0.0,x0.1,x0.2,x0.3]); "
        "in this call x0.2 is 3 and -x1.1+5 is 2");
  CHECK(call_error(transposed, {{1, 2, 2, 1}, {3, 3, 1, 2}}) ==
        "conv2d_transpose: the output has x0.3 channels, the kernel gives x1.3 "
        "(float32[x1.0,x1.1,x1.2,x1.3], float32[x0.0,-x1.0+5,-x1.1+5,x0.3]); in this call x0.3 "
        "is 1 and x1.3 is 2");
  CHECK(call_error(local, {{1, 3, 1}, {2, 2, 1}}) == fits);
  CHECK(call_error(local, {{1, 3, 1}, {3, 2, 1}}) ==
        "local_conv1d: x1.0 windows of 2 do not fit into x0.1 elements of axis 1 (float32"
        "[x0.0,x0.1,x0.2]); in this call x1.0+1 is 4 and x0.1 is 3");
  CHECK(call_error(local, {{1, 3, 1}, {2, 3, 1}}) ==
        "local_conv1d: size x1.1 of axis 1 is not 2*x0.2 (float32[x1.0,x1.1,x1.2]); in this call "
        "x1.1 is 3 and 2*x0.2 is 2");
  CHECK(call_error(deep, {{1, 3, 3, 2}, {3, 3, 2, 2}}) == fits);
  CHECK(call_error(deep, {{1, 3, 3, 2}, {3, 3, 3, 2}}) ==
        "depthwise_conv2d: size x0.3 of axis 3 is not x1.2 (float32[x0.0,x0.1,x0.2,x0.3]); in this "
        "call x0.3 is 2 and x1.2 is 3");
  CHECK(call_error(deep, {{1, 2, 3, 2}, {3, 3, 2, 2}}) ==
        "depthwise_conv2d: a window over x1.0 elements does not fit into x0.1 of axis 1 "
        "(float32[x0.0,x0.1,x0.2,x1.2]); in this call x1.0 is 3 and x0.1 is 2");
  CHECK(call_error(deep, {{1, 3, 3, 0}, {3, 3, 0, 2}}) == fits);
  CHECK(call_error(deep, {{1, 3, 3, 2}, {3, 3, 0, 2}}) ==
        "depthwise_conv2d: size x0.3 of axis 3 is not x1.2 (float32[x0.0,x0.1,x0.2,x0.3]); in this "
        "call x0.3 is 2 and x1.2 is 0");
  CHECK(call_error(separable, {{1, 3, 2}, {2, 2, 2}, {1, 4, 1}}) == fits);
  CHECK(call_error(separable, {{1, 3, 2}, {2, 2, 2}, {2, 4, 1}}) ==
        "separable_conv1d: size x2.0 of axis 0 is not 1 (float32[x2.0,x2.1,x2.2]); in this call "
        "x2.0 is 2");
  CHECK(call_error(separable, {{1, 3, 2}, {2, 2, 2}, {1, 3, 1}}) ==
        "separable_conv1d: the input has x1.1*x1.2 channels, the kernel takes x2.1 "
        "(float32[x0.0,x0.1-x1.0+1,x1.1*x1.2], float32[1,x2.1,x2.2]); in this call x1.1*x1.2 "
        "is 4 and x2.1 is 3");
}

}  // namespace kiln::test
