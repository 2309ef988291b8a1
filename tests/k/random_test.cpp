// Tests kiln/random.h: draws, dropout and seeds. Moments are those of the distributions, within
// about five standard errors; the standard deviation of truncated_normal is 0.87962566 stddev.
#include "tests/support/catch.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

#include <cmath>

namespace kiln::test {
namespace {

using testing::throws;
using testing::Misuse;
using Sizes = std::vector<std::optional<std::int64_t>>;

constexpr std::int64_t kMany = 40000;

Function drawing(const Tensor& x) { return function({}, {x}, {.backend = tested_backend()}); }
Array value(const Tensor& x) { return drawing(x)({})[0]; }

struct Moments {
  double mean = 0, deviation = 0, lowest = kInf, highest = -kInf;
};

Moments moments(const Tensor& x) {
  const Array drawn = value(x).astype(DType::Float64);
  const auto n = static_cast<double>(drawn.size());
  Moments m;
  for (const double element : drawn.as<double>()) {
    m.mean += element / n;
    m.lowest = std::min(m.lowest, element);
    m.highest = std::max(m.highest, element);
  }
  for (const double element : drawn.as<double>()) {
    m.deviation += (element - m.mean) * (element - m.mean) / n;
  }
  m.deviation = std::sqrt(m.deviation);
  return m;
}

const char* const kFloats[] = {"float16", "bfloat16", "float32", "float64"};

}  // namespace

TEST_CASE("draws: the distribution in every floating point dtype", "[k]") {
  for (const char* dtype : kFloats) {
    INFO(dtype);
    const Moments normal =
        moments(random_normal({kMany}, {.mean = 3, .stddev = 2, .dtype = dtype, .seed = 1}));
    CHECK(normal.mean == Approx(3).margin(0.06));
    CHECK(normal.deviation == Approx(2).epsilon(0.025));
    CHECK(normal.highest > 3 + 2 * 3);
    const Moments uniform =
        moments(random_uniform({kMany}, {.minval = 1, .maxval = 2, .dtype = dtype, .seed = 2}));
    CHECK(uniform.mean == Approx(1.5).margin(0.01));
    CHECK(uniform.deviation == Approx(std::sqrt(1. / 12)).epsilon(0.02));
    CHECK(uniform.lowest >= 1);
    CHECK(uniform.highest < 2);
    const Moments coins = moments(random_binomial({kMany}, {.p = 0.3, .dtype = dtype, .seed = 3}));
    CHECK(coins.mean == Approx(0.3).margin(0.012));
    CHECK(coins.lowest == 0);
    CHECK(coins.highest == 1);
    const Moments cut =
        moments(truncated_normal({kMany}, {.mean = -1, .stddev = 0.5, .dtype = dtype, .seed = 4}));
    CHECK(cut.mean == Approx(-1).margin(0.015));
    CHECK(cut.deviation == Approx(0.87962566 * 0.5).epsilon(0.02));
    CHECK(cut.lowest >= -2);
    CHECK(cut.highest <= 0);
  }
}

TEST_CASE("draws: certain results", "[k]") {
  CHECK(value(random_normal({2}, {.mean = 5, .stddev = 0})) == Array{5.f, 5.f});
  CHECK(value(random_uniform({2}, {.minval = 5, .maxval = 5})) == Array{5.f, 5.f});
  // The difference of the bounds is not finite in float16.
  const Moments halves = moments(
      random_uniform({kMany}, {.minval = -40000, .maxval = 40000, .dtype = "float16", .seed = 2}));
  CHECK(halves.mean == Approx(0).margin(1000));
  CHECK(halves.deviation == Approx(80000 / std::sqrt(12.0)).epsilon(0.02));
  CHECK(moments(random_binomial({kMany})).highest == 0);
  CHECK(moments(random_binomial({kMany}, {.p = 1})).lowest == 1);
  CHECK(value(random_binomial({3}, {.p = 1, .dtype = "int32"})) == Array{1, 1, 1});
  CHECK(value(random_binomial({1, 2}, {.p = 1, .dtype = "bool"})) == Array{{true, true}});
}

TEST_CASE("draws: computed, empty and scalar shapes", "[k]") {
  const Tensor x = of({None, 2});
  const Tensor draws[] = {random_normal(shape(x)), random_uniform(shape(x)),
                          random_binomial(shape(x)), truncated_normal(shape(x))};
  for (const Tensor& draw : draws) {
    CHECK(int_shape(draw) == Sizes{{}, 2});
    const Function f = function({x}, {draw}, {.backend = tested_backend()});
    for (const std::int64_t rows : {0, 1, 3}) {
      CHECK(f({Array::zeros({rows, 2})})[0].dims() == std::vector<std::int64_t>{rows, 2});
    }
  }
  CHECK(int_shape(random_normal({shape(x)[0], 3, 1})) == Sizes{{}, 3, 1});
  CHECK(value(random_uniform({})).rank() == 0);
  CHECK(value(truncated_normal({0, 2})).dims() == std::vector<std::int64_t>{0, 2});
}

TEST_CASE("draws: each evaluation draws anew; a seed fixes the stream of draws", "[k]") {
  const auto draw = [](std::optional<std::int64_t> seed) {
    return drawing(random_normal({4}, {.seed = seed}));
  };
  const Function f = draw(7);
  set_random_seed(1);
  const Array first = f({})[0], second = f({})[0];
  CHECK_FALSE(first == second);
  const Function again = draw(7), other = draw(8), free = draw({}), free_too = draw({});
  set_random_seed(1);
  CHECK(again({})[0] == first);
  CHECK(again({})[0] == second);
  CHECK_FALSE(other({})[0] == first);
  CHECK_FALSE(free({})[0] == free_too({})[0]);
  const Tensor x = random_uniform({4}), y = random_uniform({4});
  const auto both = function({}, {x, y, x}, {.backend = tested_backend()})({});
  CHECK_FALSE(both[0] == both[1]);
  CHECK(both[0] == both[2]);
}

TEST_CASE("draws: a function with a state of its own draws by the number of its own call", "[k]") {
  const Tensor x = random_normal({4}, {.seed = 7});
  const Function shared = drawing(x);
  set_random_seed(1);
  const Array first = shared({})[0], second = shared({})[0];
  const RandomState state(1, 1);
  const Function own = function({}, {x}, {.backend = tested_backend(), .random = state});
  CHECK(own({})[0] == second);
  state.set_position({});
  shared({});
  CHECK(own({})[0] == first);
  CHECK(state.next_call() == 1);
}

TEST_CASE("dropout: keeps the mean and drops the requested fraction", "[k]") {
  for (const char* dtype : kFloats) {
    INFO(dtype);
    const Tensor x = constant(3, {.dtype = dtype, .shape = {kMany}});
    const Moments m = moments(dropout(x, 0.25, {.seed = 5}));
    CHECK(m.lowest == 0);
    CHECK(m.highest == Approx(4).epsilon(0.01));
    CHECK(m.mean == Approx(3).margin(0.06));
    CHECK(kiln::dtype(dropout(x, 0.25)) == dtype);
  }
  const Tensor x = constant({{1., 2.}, {3., 4.}});
  CHECK(value(dropout(x, 0)) == Array{{1.f, 2.f}, {3.f, 4.f}});
  CHECK(value(dropout(constant(1, {.shape = {0, 3}}), 0.5)) == Array::zeros({0, 3}));
}

TEST_CASE("dropout: axes of size 1 in noise_shape share their mask", "[k]") {
  const Tensor x = of({None, 3});
  const Tensor rows = dropout(x, 0.5, {.noise_shape = {None, 1}, .seed = 1});
  const Tensor columns = dropout(x, 0.5, {.noise_shape = {1, 3}, .seed = 1});
  const Function f = function({x}, {rows, columns}, {.backend = tested_backend()});
  const auto results = f({Array::full({64, 3}, 1, DType::Float32)});
  int kept_rows = 0, kept_columns = 0;
  const auto by_row = results[0].as<float>(), by_column = results[1].as<float>();
  for (std::size_t i = 0; i < 64; ++i) {
    kept_rows += by_row[3 * i] != 0;
    for (std::size_t j = 0; j < 3; ++j) {
      CHECK(by_row[3 * i + j] == by_row[3 * i]);
      CHECK(by_column[3 * i + j] == by_column[j]);
    }
  }
  for (std::size_t j = 0; j < 3; ++j) kept_columns += by_column[j] != 0;
  CHECK((kept_rows > 12 && kept_rows < 52));
  CHECK(kept_columns <= 3);
}

TEST_CASE("dropout: noise_shape may be computed from shapes", "[k]") {
  const Tensor x = of({None, None}), y = of({None, 1});
  const Tensor whole = dropout(x, 0.5, {.noise_shape = shape(x), .seed = 1});
  const Tensor rows = dropout(x, 0.5, {.noise_shape = shape(y), .seed = 1});
  const Tensor entries = dropout(x, 0.5, {.noise_shape = {shape(x)[0], 1}, .seed = 1});
  const Tensor size = dropout(x, 0.5, {.noise_shape = {None, 3}, .seed = 1});
  const Function f = function({x, y}, {whole, rows, entries, size}, {.backend = tested_backend()});
  const Array ones = Array::full({8, 3}, 1, DType::Float32);
  const auto results = f({ones, Array::zeros({8, 1})});
  CHECK(results[0] == results[3]);
  CHECK(results[1] == results[2]);
  for (std::size_t i = 0; i < 24; ++i) {
    CHECK(results[1].as<float>()[i] == results[1].as<float>()[i - i % 3]);
  }
  CHECK_THROWS_AS(f({ones, Array::zeros({7, 1})}), ValueError);
  CHECK_THROWS_AS(f({Array::zeros({8, 4}), Array::zeros({8, 1})}), ValueError);
}

TEST_CASE("dropout: the gradient uses the mask of the value", "[k]") {
  const Tensor x = of({None});
  const Tensor y = dropout(x, 0.4);
  const Function f = function({x}, {y, gradients(sum(y), {x})[0]}, {.backend = tested_backend()});
  const auto results = f({Array::full({100}, 1, DType::Float32)});
  CHECK(results[0] == results[1]);
  CHECK(function({x}, {y}, {.backend = tested_backend()})({Array::zeros({0})})[0].size() == 0);
}

TEST_CASE("random functions: misuse", "[k]") {
  const std::vector<Misuse> rows = {
      {throws<TypeError>(), [] { random_normal({2}, {.dtype = "int32"}); },
       "random_normal: dtype int32 is not floating point"},
      {throws<TypeError>(), [] { random_uniform({2}, {.dtype = "bool"}); },
       "random_uniform: dtype bool is not floating point"},
      {throws<TypeError>(), [] { truncated_normal({2}, {.dtype = "half"}); },
       "truncated_normal: dtype 'half' is not known"},
      {throws<ValueError>(), [] { random_binomial({None}); },
       "random_binomial: shape[0] is None; a size is needed"},
      {throws<ValueError>(), [] { random_normal({-1}); }, "random_normal: shape[0] is -1"},
      {throws<ValueError>(), [] { random_uniform(of({2})); },
       "random_uniform: shape is not an integer vector (shape float32[2])"},
      {throws<ValueError>(), [] { random_normal({2}, {.mean = NAN}); },
       "random_normal: mean nan is not finite"},
      {throws<ValueError>(), [] { random_normal({2}, {.stddev = -1}); },
       "random_normal: stddev -1 is not a finite number of at least 0"},
      {throws<ValueError>(), [] { truncated_normal({2}, {.stddev = NAN}); },
       "truncated_normal: stddev nan is not a finite number of at least 0"},
      {throws<ValueError>(), [] { truncated_normal({2}, {.stddev = INFINITY}); },
       "truncated_normal: stddev inf is not a finite number of at least 0"},
      {throws<ValueError>(), [] { random_uniform({2}, {.minval = 3, .maxval = 2}); },
       "random_uniform: minval 3 is greater than maxval 2"},
      {throws<ValueError>(), [] { random_uniform({2}, {.minval = -INFINITY}); },
       "random_uniform: minval -inf is not finite"},
      {throws<ValueError>(), [] { random_uniform({2}, {.maxval = NAN}); },
       "random_uniform: maxval nan is not finite"},
      {throws<ValueError>(), [] { random_uniform({2}, {.maxval = 7e4, .dtype = "float16"}); },
       "random_uniform: maxval 70000 is not finite in float16"},
      {throws<ValueError>(), [] { random_uniform({2}, {.minval = -2e38, .maxval = 2e38}); },
       "random_uniform: maxval 2e+38 - minval -2e+38 is not finite in float32"},
      {throws<ValueError>(), [] { random_uniform_variable({2}, -1e39, 1); },
       "random_uniform_variable: low -1e+39, high 1 or their difference is not finite in "
       "float32"},
      {throws<ValueError>(), [] { random_binomial({2}, {.p = 1.5}); },
       "random_binomial: p 1.5 is outside [0, 1]"},
      {throws<ValueError>(), [] { random_binomial({2}, {.p = -0.5}); },
       "random_binomial: p -0.5 is outside [0, 1]"},
      {throws<ValueError>(), [] { random_binomial({2}, {.p = NAN}); },
       "random_binomial: p nan is outside [0, 1]"},
      {throws<ValueError>(), [] { dropout(of({2}), 1); }, "dropout: level 1 is outside [0, 1)"},
      {throws<ValueError>(), [] { dropout(of({2}), -0.5); },
       "dropout: level -0.5 is outside [0, 1)"},
      {throws<ValueError>(), [] { dropout(of({2}), NAN); }, "dropout: level nan is outside [0, 1)"},
      {throws<TypeError>(), [] { dropout(of({2}, "int32"), 0.5); },
       "dropout: x is not floating point (x int32[2])"},
      {throws<ValueError>(), [] { dropout(of({2, 3}), 0.5, {.noise_shape = {2}}); },
       "dropout: noise_shape has 1 entries for the 2 axes of x (x float32[2,3])"},
      {throws<ValueError>(), [] { dropout(of({2, 3}), 0.5, {.noise_shape = {}}); },
       "dropout: noise_shape has 0 entries for the 2 axes of x (x float32[2,3])"},
      {throws<ValueError>(), [] { dropout(of({2, 3}), 0.5, {.noise_shape = {2, -1}}); },
       "dropout: noise_shape[1] is -1"},
      {throws<ValueError>(), [] { dropout(of({2}), 0.5, {.noise_shape = of({2}, "int32")}); },
       "dropout: noise_shape has 2 entries for the 1 axes of x (x float32[2])"},
      {throws<ValueError>(), [] { truncated_normal({of({})}); },
       "truncated_normal: shape holds a tensor that is not an integer scalar (shape float32[])"},
      {throws<ValueError>(), [] { dropout(of({2, 3}), 0.5, {.noise_shape = {2, 2}}); },
       "dropout: shapes do not broadcast: sizes 3 and 2 of axis -1 (x float32[2,3], noise_shape "
       "float32[2,2])"},
      {throws<ValueError>(), [] { dropout(of({1, 3}), 0.5, {.noise_shape = {2, 3}}); },
       "dropout: noise_shape [2,3] does not broadcast to x (x float32[1,3])"},
  };
  run(rows);
}

}  // namespace kiln::test
