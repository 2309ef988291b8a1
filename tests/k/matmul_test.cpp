// Tests matmul, and gather along any axis (kiln/linalg.h). Expected values are those of NumPy 2.4's
// matmul and take, or of plain loops.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

namespace kiln::test {
namespace {

using testing::throws;
using testing::Misuse;
using Sizes = std::vector<std::optional<std::int64_t>>;

}  // namespace

std::vector<Row> matmul_rows() {
  return {
      {"matmul",
       {counted({2, 3}), f32({3, 2}, {1, 0, 2, -1, 0, 3})},
       [](const Tensors& x) { return matmul(x[0], x[1]); },
       f32({2, 2}, {2, 5, 11, 11})},
      {"matmul of vectors",
       {f32({3}, {1, 2, 3}), f32({3}, {4, 5, 6})},
       [](const Tensors& x) { return matmul(x[0], x[1]); },
       f32({}, {32})},
      {"matmul of a vector and matrices",
       {f32({2}, {1, 2}), counted({3, 2, 2})},
       [](const Tensors& x) { return matmul(x[0], x[1]); },
       f32({3, 2}, {4, 7, 16, 19, 28, 31})},
      {"matmul of matrices and a vector",
       {counted({2, 2, 2}), f32({2}, {1, -1})},
       [](const Tensors& x) { return matmul(x[0], x[1]); },
       f32({2, 2}, {-1, -1, -1, -1})},
      {"matmul of a batch and a matrix",
       {counted({2, 1, 2}), f32({2, 2}, {1, 2, 3, 4})},
       [](const Tensors& x) { return matmul(x[0], x[1]); },
       f32({2, 1, 2}, {3, 4, 11, 16})},
      {"matmul two batch axes",
       {counted({2, 2, 1, 2}), counted({2, 2, 2, 1})},
       [](const Tensors& x) { return matmul(x[0], x[1]); },
       f32({2, 2, 1, 1}, {1, 13, 41, 85})},
      {"matmul batch axes of size 1 broadcast",
       {counted({2, 1, 1, 2}), f32({3, 2, 1}, {1, 0, 0, 1, 1, 1})},
       [](const Tensors& x) { return matmul(x[0], x[1]); },
       f32({2, 3, 1, 1}, {0, 1, 1, 2, 3, 5})},
      {"matmul batch axes of size 1 on both sides",
       {counted({1, 2, 2}), counted({1, 2, 1})},
       [](const Tensors& x) { return matmul(x[0], x[1]); },
       f32({1, 2, 1}, {1, 3})},
      {"matmul int32 wraps",
       {i32({1, 2}, {INT32_MAX, 1}), i32({2, 1}, {1, 1})},
       [](const Tensors& x) { return matmul(x[0], x[1]); },
       i32({1, 1}, {INT32_MIN})},
      {"matmul infinities and NaN",
       {f32({3, 2}, {kInf, 1, kInf, -kInf, kNaN, 0}), f32({2, 1}, {1, 1})},
       [](const Tensors& x) { return matmul(x[0], x[1]); },
       f32({3, 1}, {kInf, kNaN, kNaN})},
      {"matmul over nothing",
       {none({2, 3, 0}), none({2, 0, 4})},
       [](const Tensors& x) { return matmul(x[0], x[1]); },
       none({2, 3, 4})},
      {"matmul of no batches",
       {none({0, 1, 3, 2}), none({4, 2, 3})},
       [](const Tensors& x) { return matmul(x[0], x[1]); },
       none({0, 4, 3, 3})},
      {"matmul gradient of a broadcast batch adds up",
       {counted({2, 1, 2}), f32({1, 2, 1}, {1, 2})},
       [](const Tensors& x) { return slope(matmul(x[0], x[1]), x[1]); },
       f32({1, 2, 1}, {2, 4})},
      {"gather axis",
       {m23(), i64({2}, {2, 0})},
       [](const Tensors& x) { return gather(x[0], x[1], {.axis = 1}); },
       f32({2, 2}, {2, 0, 5, 3})},
      {"gather axis from the end, indices of two axes",
       {counted({2, 2, 2}), i32({1, 2}, {1, 1})},
       [](const Tensors& x) { return gather(x[0], x[1], {.axis = -2}); },
       f32({2, 1, 2, 2}, {2, 3, 2, 3, 6, 7, 6, 7})},
      {"gather axis, a number",
       {m23()},
       [](const Tensors& x) { return gather(x[0], 2, {.axis = -1}); },
       f32({2}, {2, 5})},
      {"gather axis, NaN and bools",
       {f32({1, 2}, {kNaN, -0.0f}), i32({3}, {0, 1, 0})},
       [](const Tensors& x) { return gather(x[0], x[1], {.axis = 1}); },
       f32({1, 3}, {kNaN, 0, kNaN})},
      {"gather axis of no indices",
       {m23(), i64({0}, {})},
       [](const Tensors& x) { return gather(x[0], x[1], {.axis = 1}); },
       none({2, 0})},
      {"gather axis gradient adds up",
       {m23(), i32({3}, {2, 0, 2})},
       [](const Tensors& x) { return slope(gather(x[0], x[1], {.axis = 1}), x[0]); },
       f32({2, 3}, {1, 0, 2, 1, 0, 2})},
  };
}

namespace {

const SmoothRow kMatmulGradients[] = {
    {"matmul", {{2, 2, 3, 2}, {2, 2, 2, 3}}, [](const Tensors& x) { return matmul(x[0], x[1]); }},
    {"matmul broadcast",
     {{2, 1, 2, 3}, {4, 3, 2}},
     [](const Tensors& x) { return square(matmul(x[0], x[1])); }},
    {"matmul vector", {{3}, {2, 3, 2}}, [](const Tensors& x) { return matmul(x[0], x[1]); }},
    {"gather axis",
     {{2, 3, 2}},
     [](const Tensors& x) {
       return square(gather(x[0], constant({2, 1, 2}, {.dtype = "int32"}), {.axis = 1}));
     }},
};

const std::vector<Misuse> kMatmulErrors = {
    {throws<ValueError>(), [] { return matmul(of({2, 3}), of({4, 5})); },
     "matmul: axis 1 of x has size 3 but axis 0 of y has size 4 (x float32[2,3], y float32[4,5])"},
    {throws<ValueError>(), [] { return matmul(of({3}), of({2, 4, 5})); },
     "matmul: axis 0 of x has size 3 but axis 1 of y has size 4 (x float32[3], y float32[2,4,5])"},
    {throws<ValueError>(), [] { return matmul(of({2, 3, 4}), of({5, 4, 2})); },
     "matmul: batch axes do not broadcast: sizes 2 and 5 (x float32[2,3,4], y float32[5,4,2])"},
    {throws<ValueError>(), [] { return matmul(of({3, 3, 4}), of({5, 2, 4, 2})); },
     "matmul: batch axes do not broadcast: sizes 3 and 2 (x float32[3,3,4], y float32[5,2,4,2])"},
    {throws<ValueError>(), [] { return matmul(of({2, 2}), 3); },
     "matmul: y is a scalar (x float32[2,2], y float32[])"},
    {throws<ValueError>(), [] { return matmul(of({}), of({2, 2})); },
     "matmul: x is a scalar (x float32[], y float32[2,2])"},
    {throws<TypeError>(), [] { return matmul(of({2, 2}), of({2, 2}, "float64")); },
     "matmul: x has dtype float32 but y has dtype float64 (x float32[2,2], y float64[2,2])"},
    {throws<TypeError>(), [] { return matmul(of({2, 2}, "bool"), of({2, 2}, "bool")); },
     "matmul: x is bool, not a number (x bool[2,2], y bool[2,2])"},
    {throws<ValueError>(), [] { return gather(of({2, 3}), of({2}, "int32"), {.axis = 2}); },
     "gather: axis 2 is out of range for rank 2"},
    {throws<ValueError>(), [] { return gather(of({2, 3}), of({2}, "int32"), {.axis = -3}); },
     "gather: axis -3 is out of range for rank 2"},
};

}  // namespace

TEST_CASE("matmul, and gather along an axis", "[k]") { run(matmul_rows()); }

TEST_CASE("matmul and gather: gradients", "[k]") {
  for (const SmoothRow& row : kMatmulGradients) run(row);
}

TEST_CASE("matmul and gather: misuse", "[k]") { run(kMatmulErrors); }

TEST_CASE("matmul and batch_dot: static shapes of two batch axes", "[k]") {
  const Tensor query = of({None, 8, 20, 5}), key = of({None, 8, 5, 30});
  const Sizes product = int_shape(matmul(query, key));
  CHECK(Sizes(product.begin() + 1, product.end()) == Sizes{8, 20, 30});
  CHECK(int_shape(matmul(of({2, 8, 20, 5}), of({2, 8, 5, 30}))) == Sizes{2, 8, 20, 30});
  CHECK(int_shape(batch_dot(of({2, 8, 20, 5}), of({2, 8, 5, 30}))) == Sizes{2, 8, 20, 8, 30});
}

TEST_CASE("matmul: a loop over two batch axes", "[k]") {
  const Array a = pattern({2, 3, 4, 5}, 7, 23), b = pattern({3, 5, 6}, 11, 19);
  Array expected = Array::zeros({2, 3, 4, 6});
  for (std::size_t i = 0; i < 2 * 3 * 4 * 6; ++i) {
    const std::size_t column = i % 6, row = i / 6, head = row / 4 % 3;
    for (std::size_t k = 0; k < 5; ++k) {
      expected.as<float>()[i] +=
          a.as<float>()[row * 5 + k] * b.as<float>()[(head * 5 + k) * 6 + column];
    }
  }
  const Tensor x = of({None, 3, None, 5}), y = of({3, 5, None});
  CHECK(evaluate({x, y}, {matmul(x, y)}, {a, b})[0] == expected);
}

TEST_CASE("matmul and gather: sizes and indices are checked at the call", "[k]") {
  const Tensor x = of({None, 2, None}), y = of({None, None, 2}), at = of({2}, "int32");
  const Function product = function({x, y}, {matmul(x, y)}, {.backend = tested_backend()});
  CHECK_THROWS_AS(product({none({2, 2, 3}), none({2, 4, 2})}), ValueError);
  CHECK_THROWS_AS(product({none({1, 2, 3}), none({2, 3, 2})}), ValueError);
  const Function taken =
      function({x, at}, {gather(x, at, {.axis = 1})}, {.backend = tested_backend()});
  CHECK(taken({counted({1, 2, 1}), i32({2}, {1, 0})})[0] == f32({1, 2, 1}, {1, 0}));
  CHECK_THROWS_AS(taken({counted({1, 2, 1}), i32({2}, {1, 2})}), ValueError);
  CHECK_THROWS_AS(taken({counted({1, 2, 1}), i32({2}, {-1, 0})}), ValueError);
}

}  // namespace kiln::test
