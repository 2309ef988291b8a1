// Tests fori_loop (kiln/higher_order.h). Expected values are those of the loop that it stands for.
#include "tests/support/catch.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

namespace kiln::test {
namespace {

using testing::throws;
using testing::Misuse;

/// 10 a + step: not symmetric, so that results depend on the order of steps.
Tensor next_digit(const Tensor& step, const Tensor& a) { return 10 * a + cast(step, dtype(a)); }

Tensor shrink(const Tensor&, const Tensor& a) { return a[0]; }

}  // namespace

std::vector<Row> fori_loop_rows() {
  return {
      {"fori_loop",
       {f32({2}, {7, 8})},
       [](const Tensors& x) { return fori_loop(1, 4, next_digit, x[0]); },
       f32({2}, {7123, 8123})},
      {"fori_loop negative steps",
       {i64({}, {0})},
       [](const Tensors& x) { return fori_loop(-2, 2, next_digit, x[0]); },
       i64({}, {-2099})},
      {"fori_loop no steps",
       {f32({0, 2}, {})},
       [](const Tensors& x) { return fori_loop(3, 3, next_digit, x[0]); },
       none({0, 2})},
      {"fori_loop upper below lower",
       {f32({1}, {kNaN})},
       [](const Tensors& x) { return fori_loop(3, -3, next_digit, x[0]); },
       f32({1}, {kNaN})},
      {"fori_loop one step",
       {bools({2}, {true, false})},
       [](const Tensors& x) {
         return fori_loop(0, 1, [](const Tensor&, const Tensor& a) { return !a; }, x[0]);
       },
       bools({2}, {false, true})},
      {"fori_loop from a number",
       {f32({}, {3})},
       [](const Tensors& x) {
         return fori_loop(0, 4, [&](const Tensor&, const Tensor& a) { return a * x[0]; }, 1);
       },
       f32({}, {81})},
      {"fori_loop up to a size",
       {none({3, 2}), f32({}, {0})},
       [](const Tensors& x) { return fori_loop(0, shape(x[0])[0], next_digit, x[1]); },
       f32({}, {12})},
      {"fori_loop up to data",
       {i32({}, {4}), f32({}, {0})},
       [](const Tensors& x) { return fori_loop(x[0] - 2, x[0], next_digit, x[1]); },
       f32({}, {23})},
      {"fori_loop steps as indices",
       {f32({4}, {1, 10, 100, 1000})},
       [](const Tensors& x) {
         const auto add = [&](const Tensor& i, const Tensor& a) { return a + gather(x[0], i); };
         return fori_loop(1, 4, add, 0);
       },
       f32({}, {1110})},
      {"fori_loop in fori_loop",
       {f32({}, {1})},
       [](const Tensors& x) {
         const auto outer = [](const Tensor&, const Tensor& a) {
           return fori_loop(0, 3, [](const Tensor&, const Tensor& b) { return 2 * b; }, a);
         };
         return fori_loop(0, 2, outer, x[0]);
       },
       f32({}, {64})},
      {"fori_loop gradient",
       {f32({2}, {2, -1})},
       [](const Tensors& x) {
         const auto power = [&](const Tensor&, const Tensor& a) { return a * x[0]; };
         return slope(fori_loop(0, 3, power, x[0]), x[0]);
       },
       f32({2}, {32, -4})},
  };
}

namespace {

const SmoothRow kLoopGradients[] = {
    {"fori_loop",
     {{2}, {2, 2}},
     [](const Tensors& x) {
       const auto step = [&](const Tensor& i, const Tensor& a) {
         return tanh(dot(x[1], a)) + cast(i, "float64") * a;
       };
       return fori_loop(0, 4, step, x[0]);
     }},
};

const std::vector<Misuse> kLoopErrors = {
    {throws<TypeError>(), [] { return fori_loop(0.5, 3, next_digit, of({2})); },
     "fori_loop: lower 0.5 is floating point but the dtype is int64: write an integer"},
    {throws<TypeError>(), [] { return fori_loop(0, of({}), next_digit, of({2})); },
     "fori_loop: upper is not an integer (upper float32[])"},
    {throws<ValueError>(), [] { return fori_loop(0, of({1}, "int32"), next_digit, of({2})); },
     "fori_loop: upper is not a scalar (upper int32[1])"},
    {throws<ValueError>(), [] { return fori_loop(0, 3, nullptr, of({2})); },
     "fori_loop: body_fun is empty"},
    {throws<ValueError>(), [] { return fori_loop(0, 3, shrink, of({2})); },
     "fori_loop: body_fun returns float32[] but got float32[2] as the value"},
    {throws<ValueError>(), [] { return fori_loop(0, 3, next_digit, Tensor()); },
     "fori_loop: init_val is an empty tensor"},
};

}  // namespace

TEST_CASE("fori_loop", "[k]") { run(fori_loop_rows()); }

TEST_CASE("fori_loop: gradients", "[k]") {
  for (const SmoothRow& row : kLoopGradients) run(row);
}

TEST_CASE("fori_loop: misuse", "[k]") { run(kLoopErrors); }

TEST_CASE("fori_loop: each step draws anew", "[k]") {
  const auto stacked = [](const Tensor& i, const Tensor& a) {
    return a + random_uniform({4}, {.seed = 1}) * cast(one_hot(i, 4), "float32");
  };
  const Tensor draws = fori_loop(0, 4, stacked, zeros({4}));
  const Array got = function({}, {draws}, {.backend = tested_backend()})({})[0];
  const float* draw = got.as<float>().data();
  CHECK(draw[0] != draw[1]);
  CHECK(draw[1] != draw[2]);
  CHECK(draw[2] != draw[3]);
}

}  // namespace kiln::test
