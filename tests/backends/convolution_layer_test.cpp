// Tests layers of convolution, bias, ReLU and pooling against `reference`, and dumps of `cpu`. A
// backend may fuse bias and ReLU into the convolution and store neither their results nor masks.
#include "tests/support/catch.h"
#include "tests/support/scratch.h"
#include "tests/support/has.h"

#include <kiln/k.h>

#include <cmath>
#include <limits>
#include <random>

using namespace kiln;
using kiln::testing::contents_of, kiln::testing::Scratch;

namespace {

Array drawn(const std::vector<std::int64_t>& dims, unsigned seed) {
  std::minstd_rand generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Array array = Array::zeros(dims);
  for (float& value : array.as<float>()) value = uniform(generator);
  return array;
}

using kiln::testing::has;

struct Layer {
  Tensor x, kernel, bias, y;
};

/// 3x3 convolution with bias and ReLU. Max pooling over 2x2 windows follows in the tests.
Layer layer(std::int64_t channels, std::int64_t filters, const std::string& padding) {
  Layer conv;
  conv.x = placeholder({.shape = {None, 9, 8, channels}, .name = "x"});
  conv.kernel = placeholder({.shape = {3, 3, channels, filters}, .name = "kernel"});
  conv.bias = placeholder({.shape = {filters}, .name = "bias"});
  conv.y = relu(bias_add(conv2d(conv.x, conv.kernel, {.padding = padding}), conv.bias));
  return conv;
}

std::vector<Array> on(const char* name, const Layer& conv, const std::vector<Tensor>& outputs,
                      const std::vector<Array>& inputs) {
  const std::string before = backend();
  set_backend(name);
  const auto results = function({conv.x, conv.kernel, conv.bias}, outputs)(inputs);
  set_backend(before);
  return results;
}

void check_same(const Array& found, const Array& want, float tolerance = 1e-4f) {
  REQUIRE(found.dims() == want.dims());
  for (std::int64_t i = 0; i < want.size(); ++i) {
    const float got = found.as<float>()[static_cast<std::size_t>(i)];
    const float expected = want.as<float>()[static_cast<std::size_t>(i)];
    const bool near = got == expected || std::abs(got - expected) < tolerance;
    if (std::isnan(expected) ? std::isnan(got) : near) continue;
    FAIL_CHECK("element " << i << ": " << got << ", not " << expected);
    return;
  }
}

}  // namespace

TEST_CASE("convolution layer: values and gradients for any numbers of channels") {
  const std::int64_t sizes[][3] = {{1, 1, 1}, {3, 2, 5}, {2, 16, 33}, {9, 1, 32}, {0, 3, 4}};
  for (const auto& [batch, channels, filters] : sizes) {
    for (const char* padding : {"valid", "same"}) {
      INFO(batch << " images, " << channels << " to " << filters << ", " << padding);
      const Layer conv = layer(channels, filters, padding);
      const Tensor pooled = pool2d(conv.y, 2, {.strides = 2, .padding = padding});
      const Tensor loss = sum(pooled * pooled);
      std::vector<Tensor> outputs = gradients(loss, {conv.x, conv.kernel, conv.bias});
      outputs.insert(outputs.end(), {conv.y, pooled});
      const std::vector<Array> inputs = {drawn({batch, 9, 8, channels}, 1),
                                         drawn({3, 3, channels, filters}, 2), drawn({filters}, 3)};
      const auto want = on("reference", conv, outputs, inputs);
      const auto found = on("cpu", conv, outputs, inputs);
      for (std::size_t i = 0; i < want.size(); ++i) {
        INFO("output " << i);
        check_same(found[i], want[i]);
      }
    }
  }
}

TEST_CASE("convolution layer: NaN and infinities propagate through bias and relu") {
  const float inf = std::numeric_limits<float>::infinity();
  for (const std::int64_t filters : {3, 8, 20}) {
    const Layer conv = layer(1, filters, "valid");
    Array x = drawn({2, 9, 8, 1}, 1), bias = drawn({filters}, 3);
    x.as<float>()[20] = NAN;
    x.as<float>()[100] = -inf;
    bias.as<float>()[1] = NAN;
    const std::vector<Array> inputs = {x, drawn({3, 3, 1, filters}, 2), bias};
    check_same(on("cpu", conv, {conv.y}, inputs)[0], on("reference", conv, {conv.y}, inputs)[0]);
  }
}

TEST_CASE("convolution layer: bias and relu are fused, in inference and in training") {
  const Scratch scratch;
  const Layer conv = layer(4, 8, "valid");
  const Tensor pooled = pool2d(conv.y, 2, {.strides = 2});
  const auto dumped = [&](const std::string& name, const std::vector<Tensor>& outputs) {
    const Function compiled = function(
        {conv.x, conv.kernel, conv.bias}, outputs,
        {.backend = "cpu", .dump = scratch.path(name), .dump_stages = Stage::Claims | Stage::Plan});
    const std::string claims = contents_of(scratch.path(name + "/50-claims.txt"));
    INFO(claims);
    CHECK(has(claims, "with bias"));
    CHECK(has(claims, "with relu"));
    return contents_of(scratch.path(name + "/52-plan.txt"));
  };
  const std::string forward = dumped("forward", {pooled});
  INFO(forward);
  CHECK(has(forward, ", relu  # float32; conv2d"));
  CHECK_FALSE(has(forward, "bias_add_line"));
  const std::string training =
      dumped("training", gradients(sum(square(pooled)), {conv.x, conv.kernel, conv.bias}));
  INFO(training);
  CHECK(has(training, ", relu  # float32; conv2d"));
  // The masks of relu and of max pooling are rematerialised in the kernels that read them.
  CHECK_FALSE(has(training, "temporary bool"));
}

TEST_CASE("pooling: the gradient over overlapping windows stores nothing as large as all windows") {
  const Scratch scratch;
  const struct {
    const char *mode, *padding, *dtype;
    float tolerance;
  } rows[] = {
      {"max", "valid", "float32", 1e-4f},   {"avg", "valid", "float32", 1e-4f},
      {"max", "same", "float32", 1e-4f},    {"avg", "same", "float32", 1e-4f},
      {"max", "valid", "bfloat16", 0.125f}, {"max", "same", "bfloat16", 0.125f},
  };
  for (const auto& [mode, padding, dtype, tolerance] : rows) {
    INFO(mode << ", " << padding << ", " << dtype);
    Layer conv;
    conv.x = placeholder({.shape = {None, 9, 8, 20}, .name = "x"});
    conv.kernel = placeholder({.shape = {1}, .name = "kernel"});
    conv.bias = placeholder({.shape = {1}, .name = "bias"});
    const Tensor pooled =
        cast(pool2d(cast(conv.x, dtype), 3, {.strides = 2, .padding = padding, .pool_mode = mode}),
             "float32");
    const std::vector<Tensor> outputs = {pooled, gradients(sum(square(pooled)), {conv.x})[0]};
    Array x = drawn({3, 9, 8, 20}, 1);
    for (float& value : x.as<float>()) value = std::round(4 * value);  // ties
    const std::vector<Array> inputs = {x, drawn({1}, 2), drawn({1}, 3)};
    const auto want = on("reference", conv, outputs, inputs);
    const auto found = on("cpu", conv, outputs, inputs);
    check_same(found[0], want[0], tolerance);
    check_same(found[1], want[1], tolerance);
    const std::string name = std::string(mode) + padding + dtype;
    const Function compiled =
        function({conv.x, conv.kernel, conv.bias}, outputs,
                 {.backend = "cpu", .dump = scratch.path(name), .dump_stages = Stage::Plan});
    const std::string plan = contents_of(scratch.path(name + "/52-plan.txt"));
    INFO(plan);
    CHECK_FALSE(has(plan, "20,3,3]"));
  }
}

TEST_CASE("training step: a convolution filter is packed once, where the library reads it") {
  const Scratch scratch;
  const Tensor x = placeholder({.shape = {4, 9, 8, 16}, .name = "x"});
  const Variable kernel = variable(drawn({3, 3, 16, 64}, 2), {.name = "kernel"});
  const Tensor loss = sum(square(relu(conv2d(square(x), kernel))));
  const std::vector<Tensor> slopes = gradients(loss, {x, kernel});
  const Function step = function({x}, {loss, slopes[0]},
                                 {.updates = {update_sub(kernel, 0.01 * slopes[1])},
                                  .backend = "cpu",
                                  .dump = scratch.path("step"),
                                  .dump_stages = Stage::Claims});
  step({drawn({4, 9, 8, 16}, 1)});
  step.dump(scratch.path("step"), Stage::Claims);
  const std::string claims = contents_of(scratch.path("step/50-claims-sizes_1.txt"));
  INFO(claims);
  std::size_t packs = 0;
  for (std::size_t at = claims.find("pack"); at != std::string::npos;
       at = claims.find("pack", at + 1)) {
    ++packs;
  }
  CHECK(packs >= 1);
  if (has(claims, "brgconv:avx512")) CHECK(packs == 1);  // the forward one reads it unpacked
}
