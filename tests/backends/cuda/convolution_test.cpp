// Tests convolutions through the library: values, library calls and kernels, engines, claims.
#include "tests/support/catch.h"
#include "tests/support/child.h"
#include "tests/backends/cuda/fake_convolutions.h"
#include "tests/backends/cuda_fakes/cudnn/problem.h"
#include "tests/support/error_text.h"
#include "tests/core/ops/conv_loops.h"
#include "tests/support/scratch.h"
#include "tests/support/has.h"
#include "tests/backends/cuda/library_operands.h"

#include <kiln/k.h>

#include <cmath>
#include <limits>

using namespace kiln;
using namespace cuda_test;
using test::ConvRole;
using test::Geometry;

namespace {

using cuda_test::convolutions;

constexpr ConvRole kRoles[] = {ConvRole::Input, ConvRole::Filter, ConvRole::Output};

/// Checks that the result is that of plain loops. Returns the number of library calls.
int check_role(const Geometry& g, const ir::ConvAttrs& attrs, const test::Doubles& wanted,
               const test::ConvTensors& tensors, double tolerance) {
  const ConvRole role = attrs.role;
  INFO("geometry " << (&g - test::kGeometries) << ", role " << static_cast<int>(role));
  const std::vector<Array> feeds = test::operands_of(tensors, role);
  const std::vector<ir::Value> x{test::placeholder(test::type_of(feeds[0])),
                                 test::placeholder(test::type_of(feeds[1]))};
  const ir::Value result = ir::make(ir::Op::Conv, attrs, x);
  const int before = convolutions().convolutions();
  const std::vector<double> found = test::doubles(test::evaluate(x, {result}, feeds, "cuda")[0]);
  REQUIRE(found.size() == wanted.size());
  int differences = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    differences += std::abs(found[i] - wanted[i]) <= tolerance * (1 + std::abs(wanted[i])) ? 0 : 1;
  }
  CHECK(differences == 0);
  return convolutions().convolutions() - before;
}

bool is_computed_by_library(const Geometry& g) {
  const auto is_empty = [](const test::Ints& dims) { return test::count_of(dims) == 0; };
  return !g.sizes.empty() && !is_empty(test::input_dims(g)) && !is_empty(test::filter_dims(g)) &&
         !is_empty(test::output_dims(g));
}

/// The number of library calls of one call, whose result must be that of `reference`.
int check_call(const std::vector<Tensor>& inputs, const Tensor& output,
               const std::vector<Array>& feeds) {
  const Function f = function(inputs, {output}, {.backend = "cuda"});
  const int before = convolutions().convolutions();
  const Array found = f(feeds)[0];
  const int calls = convolutions().convolutions() - before;
  const Array wanted = function(inputs, {output}, {.backend = "reference"})(feeds)[0];
  CHECK(test::difference(found, wanted, reordering(found.dtype()), 1e-6) == "");
  return calls;
}

using kiln::testing::has;

/// The engine of a convolution of a unit filter, and its result.
struct Computed {
  int engine;
  double value;
};
Computed computed(double x, const std::string& dtype) {
  const Tensor image = input({1, 4, 4, 2}, dtype), filter = input({1, 1, 2, 1}, dtype);
  const Function f = function({image, filter}, {conv2d(image, filter)}, {.backend = "cuda"});
  const DType type = dtype == "float32" ? DType::Float32 : DType::Float64;
  Array unit = Array::zeros({1, 1, 2, 1}, DType::Float64);
  unit.as<double>()[0] = 1;
  const Array found =
      f({Array::full({1, 4, 4, 2}, x, DType::Float64).astype(type), unit.astype(type)})[0];
  return {convolutions().engine(), test::doubles(found)[0]};
}

}  // namespace

TEST_CASE("convolution: every geometry, role and dtype") {
  convolutions();
  int calls = 0;
  for (const Geometry& g : test::kGeometries) {
    for (const DType dtype : {DType::Float32, DType::Float64}) {
      const test::ConvTensors tensors = test::draw(g, dtype);
      for (const ConvRole role : kRoles) {
        const double tolerance = dtype == DType::Float64 ? 1e-13 : 1e-5;
        const int library_calls = check_role(g, test::attrs_of(g, role),
                                             test::by_loops(g, tensors, role), tensors, tolerance);
        CHECK(library_calls == (is_computed_by_library(g) ? 1 : 0));
        calls += library_calls;
      }
    }
  }
  CHECK(calls > 70);
}

TEST_CASE("convolution: windows that end before the input, and windows in the padding alone") {
  convolutions();
  // Of 3 windows that fit, 1 and 2 are computed; with low = 9 they read padding alone.
  for (const std::int64_t count : {1, 2}) {
    for (const std::int64_t low : {0, 1, 9}) {
      const Geometry g{2, 1, 2, 3, {7, 7}, {3, 3}, {2, 2}, {1, 1}, {low, 0}, {0, 0}};
      for (const ConvRole role : kRoles) {
        test::ConvTensors tensors = test::draw(g, DType::Float32);
        tensors.output = drawn({2, count, count, 3}, 5);
        ir::ConvAttrs attrs = test::attrs_of(g, role);
        if (role == ConvRole::Output) attrs.sizes = {count, count};
        std::vector<Array> feeds = test::operands_of(tensors, role);
        const std::vector<ir::Value> x{test::placeholder(test::type_of(feeds[0])),
                                       test::placeholder(test::type_of(feeds[1]))};
        const ir::Value result = ir::make(ir::Op::Conv, attrs, x);
        const int before = convolutions().convolutions();
        const Array found = test::evaluate(x, {result}, feeds, "cuda")[0];
        INFO("count " << count << ", low " << low << ", role " << static_cast<int>(role));
        CHECK(convolutions().convolutions() - before == 1);
        const Array wanted = test::evaluate(x, {result}, feeds, "reference")[0];
        CHECK(test::difference(found, wanted, 1e-5, 1e-6) == "");
      }
    }
  }
  const Geometry outside{2, 1, 2, 3, {1, 1}, {3, 3}, {20, 20}, {1, 1}, {5, 5}, {5, 5}};
  const test::ConvTensors tensors = test::draw(outside, DType::Float32);
  for (const ConvRole role : kRoles) {
    CHECK(check_role(outside, test::attrs_of(outside, role), test::by_loops(outside, tensors, role),
                     tensors, 1e-5) == 0);
  }
}

TEST_CASE("convolution: images with channels first, depthwise filters, strides and dilation") {
  convolutions();
  const Tensor first = input({2, 3, 6, 5}), last = input({2, 6, 5, 3});
  const Tensor filter = input({3, 2, 3, 4}), deep = input({3, 3, 3, 2});
  const Array w = drawn({3, 2, 3, 4}, 2), d = drawn({3, 3, 3, 2}, 3);
  const Array x = drawn({2, 6, 5, 3}, 1), y = drawn({2, 3, 6, 5}, 1);
  CHECK(check_call({first, filter},
                   conv2d(first, filter, {.padding = "same", .data_format = "channels_first"}),
                   {y, w}) == 1);
  CHECK(check_call({last, filter}, conv2d(last, filter, {.strides = 2, .padding = "same"}),
                   {x, w}) == 1);
  CHECK(check_call({last, filter}, conv2d(last, filter, {.dilation_rate = 2}), {x, w}) == 1);
  CHECK(check_call({last, deep}, depthwise_conv2d(last, deep), {x, d}) == 1);
}

TEST_CASE("convolution: sizes of each call") {
  convolutions();
  const Tensor x = input({None, None, None, 3}), w = input({3, 3, 3, 2});
  const Tensor y = conv2d(x, w, {.padding = "same"});
  const Function f = function({x, w}, {y}, {.backend = "cuda"});
  const Function oracle = function({x, w}, {y}, {.backend = "reference"});
  const Array filter = drawn({3, 3, 3, 2}, 2);
  for (const std::int64_t batch : {0, 1, 3}) {
    for (const std::int64_t size : {1, 4, 9}) {
      const Array image = drawn({batch, size, size + 1, 3}, 1);
      const Array wanted = oracle({image, filter})[0];
      for (int call = 0; call < 3; ++call) {
        CHECK(test::difference(f({image, filter})[0], wanted, 1e-5, 1e-6) == "");
      }
    }
  }
}

TEST_CASE("convolution: NaN and infinity stay in the windows that read them") {
  convolutions();
  const Tensor x = input({1, 6, 6, 1}), w = input({3, 3, 1, 1});
  const Function f = function({x, w}, {conv2d(x, w)}, {.backend = "cuda"});
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Array image = Array::full({1, 6, 6, 1}, 1).astype(DType::Float32);
    image.as<float>()[0] = value;
    const Array y = f({image, Array::full({3, 3, 1, 1}, 1).astype(DType::Float32)})[0];
    CHECK_FALSE(std::isfinite(y.as<float>()[0]));
    for (std::size_t i = 1; i < 16; ++i) CHECK(y.as<float>()[i] == 9);
  }
}

TEST_CASE("convolution: claims have a text for each rejection") {
  convolutions();
  const Tensor x = input({1, 6, 6, 3}), w = input({3, 3, 3, 2}), b = input({2});
  const std::string taken = claims_of({x, w, b}, relu(bias_add(conv2d(x, w), b)));
  INFO(taken);
  CHECK(has(taken, "convolution: taken"));
  CHECK(has(taken, "followed by a kernel for bias: cuDNN has few engines that add a bias"));
  const Tensor n = input({1, 6, 6, 3}, "int32"), m = input({3, 3, 3, 2}, "int32");
  CHECK(has(claims_of({n, m}, conv2d(n, m)),
            "convolution: rejected: cuDNN is used for floats alone, not for int32"));
  const Tensor rows = input({4, 1, 5, 3}, "int32"), f = input({3, 3, 3}, "int32");
  const auto step = [&](const Tensor& sum, const Tensor& row) {
    return sum + conv1d(row * sum, f, {.padding = "same"});
  };
  CHECK(has(
      claims_of({rows, f}, foldl(step, rows, {.initializer = ones({1, 5, 3}, {.dtype = "int32"})})),
      "convolution: rejected: cuDNN is used for floats alone, not for int32"));
}

TEST_CASE("convolution: 16-bit floats of whole vectors of channels, else in float32") {
  convolutions();
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    INFO(dtype_name(dtype));
    for (const Geometry& g :
         {Geometry{2, 1, 8, 16, {6, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
          Geometry{2, 1, 16, 8, {7, 7}, {3, 2}, {2, 2}, {1, 1}, {0, 0}, {1, 1}},
          Geometry{2, 1, 3, 8, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
          Geometry{2, 4, 2, 2, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}}) {
      const test::ConvTensors tensors = test::draw(g, dtype);
      for (const ConvRole role : kRoles) {
        CHECK(check_role(g, test::attrs_of(g, role), test::by_loops(g, tensors, role), tensors,
                         reordering(dtype)) == 1);
      }
    }
  }
  const Tensor x = input({1, 6, 6, 8}, "bfloat16"), w = input({3, 3, 8, 8}, "bfloat16");
  const Array image = drawn({1, 6, 6, 8}, 1, DType::BFloat16);
  const Array filter = drawn({3, 3, 8, 8}, 2, DType::BFloat16);
  CHECK(check_call({x, w}, conv2d(x, w), {image, filter}) == 1);
  CHECK(convolutions().engine() == fake_cudnn::kTensorCore);
  const Tensor h = input({1, 6, 6, 3}, "float16"), g = input({3, 3, 3, 2}, "float16");
  const std::string claims = claims_of({h, g}, conv2d(h, g));
  INFO(claims);
  CHECK(has(claims, "convolution: taken"));
}

TEST_CASE("convolution: engines are deterministic and keep the bits of operands") {
  convolutions();
  const Computed narrow = computed(1 + 0x1p-20, "float32");
  CHECK(narrow.engine == fake_cudnn::kAligned);
  CHECK(narrow.value == 1 + 0x1p-20);
  // Tensor cores multiply float64 without rounding.
  CHECK(computed(1 + 0x1p-40, "float64").engine == fake_cudnn::kTensorCore);
  CHECK(testing::in_new_process("[.conv_tf32]", "KILN_CUDA_TF32", "true") == 0);
  CHECK(testing::in_new_process("[.conv_any]", "KILN_CUDA_DETERMINISTIC", "false") == 0);
}

TEST_CASE("child: with tf32 convolutions round operands, but not float64", "[.conv_tf32]") {
  convolutions();
  const Computed narrow = computed(1 + 0x1p-20, "float32");
  CHECK(narrow.engine == fake_cudnn::kTensorCore);
  CHECK(narrow.value == 1);
  CHECK(computed(1 + 0x1p-40, "float64").value == 1 + 0x1p-40);
}

TEST_CASE("child: engines that are not deterministic, where that is allowed", "[.conv_any]") {
  convolutions();
  CHECK(computed(1, "float32").engine == fake_cudnn::kNondeterministic);
}

TEST_CASE("convolution: without an engine, an error tells how many were rejected for what") {
  convolutions().reject_plans(1);
  const Tensor x = input({1, 6, 6, 3}), w = input({3, 3, 3, 2});
  const Function f = function({x, w}, {conv2d(x, w)}, {.backend = "cuda"});
  const std::vector<Array> feeds{drawn({1, 6, 6, 3}, 1), drawn({3, 3, 3, 2}, 2)};
  const std::string text = testing::error_of<Error>([&] { f(feeds); });
  convolutions().reset();
  INFO(text);
  CHECK(has(text,
            "cuDNN has no engine for the convolution forward float32, input 1x3x6x6, filter "
            "2x3x3x3, output 1x2x4x4: 1 adds in a narrower type, 3 does not support it, "
            "2 is not deterministic, "));
  CHECK(has(text, "1 rounds operands to TF32, 1 rounds operands to a narrower type, "));
  CHECK(has(text, "convolution_test.cpp:"));
  CHECK(f(feeds)[0].size() == 32);
}
