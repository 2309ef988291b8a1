// Tests random_categorical (kiln/random.h). Frequencies are those of softmax, within about five
// standard errors.
#include "tests/support/catch.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

#include <cmath>

namespace kiln::test {
namespace {

using testing::throws;
using testing::Misuse;
using Sizes = std::vector<std::optional<std::int64_t>>;

Array drawn(const Tensor& x) { return function({}, {x}, {.backend = tested_backend()})({})[0]; }

const std::vector<Misuse> kCategoricalErrors = {
    {throws<TypeError>(), [] { return random_categorical(of({2, 3}, "int32"), 1); },
     "random_categorical: logits is not floating point (logits int32[2,3])"},
    {throws<ValueError>(), [] { return random_categorical(of({3}), 1); },
     "random_categorical: logits have rank 1, not 2 (logits float32[3])"},
    {throws<ValueError>(), [] { return random_categorical(of({2, 3}), -1); },
     "random_categorical: num_samples is -1"},
    {throws<TypeError>(), [] { return random_categorical(of({2, 3}), 1, {.dtype = "float32"}); },
     "random_categorical: dtype float32 is not an integer"},
    {throws<TypeError>(), [] { return random_categorical(of({2, 3}), 1, {.dtype = "bool"}); },
     "random_categorical: dtype bool is not an integer"},
    {throws<ValueError>(), [] { return random_categorical(of({2, 0}), 1); },
     "random_categorical: axis 2 has no elements (float32[2,1,0])"},
};

}  // namespace

TEST_CASE("random_categorical: the frequencies of softmax in every dtype", "[k]") {
  constexpr std::int64_t kDraws = 40000;
  const double probabilities[2][4] = {{0.1, 0.2, 0.3, 0.4}, {0.7, 0, 0.05, 0.25}};
  Array logits = Array::zeros({2, 4});
  for (std::size_t i = 0; i < 8; ++i) {
    logits.as<float>()[i] = static_cast<float>(std::log(probabilities[i / 4][i % 4]) + 3);
  }
  for (const char* dtype : {"float16", "bfloat16", "float32", "float64"}) {
    const Tensor x = cast(constant(logits), dtype);
    const Array draws = drawn(random_categorical(x, kDraws, {.seed = 5}));
    REQUIRE(draws.size() == 2 * kDraws);
    std::int64_t counts[2][4] = {};
    for (std::int64_t i = 0; i < draws.size(); ++i) {
      const std::int32_t index = draws.as<std::int32_t>()[static_cast<std::size_t>(i)];
      REQUIRE((index >= 0 && index < 4));
      ++counts[i / kDraws][index];
    }
    for (std::size_t i = 0; i < 8; ++i) {
      INFO(dtype << " row " << i / 4 << " class " << i % 4);
      const double frequency = static_cast<double>(counts[i / 4][i % 4]) / kDraws;
      CHECK(frequency == Approx(probabilities[i / 4][i % 4]).margin(0.015));
    }
    CHECK(counts[1][1] == 0);
  }
}

TEST_CASE("random_categorical: certain results", "[k]") {
  const auto sampled = [](const Array& logits) {
    return drawn(random_categorical(constant(logits), 3, {.dtype = "int64"}));
  };
  CHECK(sampled(f32({1, 3}, {-kInf, -1e30f, -kInf})) == i64({1, 3}, {1, 1, 1}));
  CHECK(sampled(f32({1, 3}, {0, kInf, 0})) == i64({1, 3}, {1, 1, 1}));
  CHECK(sampled(f32({1, 2}, {-kInf, -kInf})) == i64({1, 3}, {0, 0, 0}));
  CHECK(sampled(f32({1, 3}, {0, 5, kNaN})) == i64({1, 3}, {2, 2, 2}));
  CHECK(sampled(f32({1, 1}, {-7})) == i64({1, 3}, {0, 0, 0}));
}

TEST_CASE("random_categorical: empty and unknown shapes, and dtypes", "[k]") {
  CHECK(drawn(random_categorical(constant(none({2, 3})), 0)) == i32({2, 0}, {}));
  CHECK(drawn(random_categorical(constant(none({0, 3})), 2)) == i32({0, 2}, {}));
  CHECK(dtype(random_categorical(of({2, 3}), 1, {.dtype = "uint8"})) == "uint8");
  const Tensor x = of({None, None});
  const Tensor y = random_categorical(x, 2, {.seed = 1});
  CHECK(int_shape(y) == Sizes{{}, 2});
  const Function f = function({x}, {y}, {.backend = tested_backend()});
  CHECK(f({f32({2, 2}, {0, -kInf, -kInf, 0})})[0] == i32({2, 2}, {0, 0, 1, 1}));
  CHECK(gradients(sum(cast(y, "float32")), {x})[0].empty());
}

TEST_CASE("random_categorical: a seed repeats draws, another call does not", "[k]") {
  const auto draws = [](int seed) {
    set_random_seed(7);
    return drawn(random_categorical(zeros({1, 10}), 100, {.seed = seed}));
  };
  CHECK(draws(3) == draws(3));
  CHECK_FALSE(draws(3) == draws(4));
  const Function f = function({}, {random_categorical(zeros({1, 10}), 100, {.seed = 3})},
                              {.backend = tested_backend()});
  CHECK_FALSE(f({})[0] == f({})[0]);
}

TEST_CASE("random_categorical: misuse", "[k]") { run(kCategoricalErrors); }

}  // namespace kiln::test
