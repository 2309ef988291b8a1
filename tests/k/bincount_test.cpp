// Tests bincount (kiln/linalg.h). Expected values are those of NumPy 2.4's function.
#include "tests/support/catch.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

namespace kiln::test {
namespace {

using testing::throws;
using testing::Misuse;

}  // namespace

std::vector<Row> bincount_rows() {
  return {
      {"bincount length",
       {i64({3}, {1, 0, 1})},
       [](const Tensors& x) { return bincount(x[0], {.length = 3}); },
       i64({3}, {1, 2, 0})},
      {"bincount of nothing, length 0",
       {i32({0}, {})},
       [](const Tensors& x) { return bincount(x[0], {.length = 0}); },
       i64({0}, {})},
      {"bincount weights, infinities and NaN",
       {i32({5}, {0, 0, 1, 2, 3}), f32({5}, {kInf, 1, kNaN, 5, -0.0f})},
       [](const Tensors& x) { return bincount(x[0], {.weights = x[1], .length = 5}); },
       f32({5}, {kInf, kNaN, 5, 0, 0})},
      {"bincount gradient to the weights",
       {i32({3}, {2, 0, 2}), f32({3}, {1, 2, 3})},
       [](const Tensors& x) {
         return slope(square(bincount(x[0], {.weights = x[1], .length = 3})), x[1]);
       },
       f32({3}, {8, 4, 8})},
  };
}

namespace {

/// Rows whose result has a data-dependent length.
std::vector<Row> rows_of_data_lengths() {
  return {
      {"bincount",
       {i32({6}, {0, 3, 1, 3, 3, 1})},
       [](const Tensors& x) { return bincount(x[0]); },
       i64({4}, {1, 2, 0, 3})},
      {"bincount minlength",
       {i64({2}, {1, 1})},
       [](const Tensors& x) { return bincount(x[0], {.minlength = 4}); },
       i64({4}, {0, 2, 0, 0})},
      {"bincount a minlength that is too small",
       {i64({2}, {1, 3})},
       [](const Tensors& x) { return bincount(x[0], {.minlength = 2}); },
       i64({4}, {0, 1, 0, 1})},
      {"bincount of nothing",
       {i32({0}, {})},
       [](const Tensors& x) { return bincount(x[0]); },
       i64({0}, {})},
      {"bincount of nothing, minlength",
       {i32({0}, {})},
       [](const Tensors& x) { return bincount(x[0], {.minlength = 2}); },
       i64({2}, {0, 0})},
      {"bincount of one",
       {i32({1}, {0})},
       [](const Tensors& x) { return bincount(x[0]); },
       i64({1}, {1})},
      {"bincount uint8, whose largest element has a successor",
       {i32({2}, {255, 255})},
       [](const Tensors& x) { return bincount(cast(x[0], "uint8")).slice(254, {}); },
       i64({2}, {0, 2})},
      {"bincount weights",
       {i32({4}, {2, 0, 2, 1}), f32({4}, {0.5, 1, 2, -3})},
       [](const Tensors& x) { return bincount(x[0], {.weights = x[1]}); },
       f32({3}, {1, -3, 2.5})},
      {"bincount integer weights",
       {i32({3}, {1, 1, 0}), i32({3}, {7, -2, 4})},
       [](const Tensors& x) { return bincount(x[0], {.weights = x[1], .minlength = 3}); },
       i32({3}, {4, 5, 0})},
  };
}

const std::vector<Misuse> kBincountErrors = {
    {throws<TypeError>(), [] { return bincount(of({3})); },
     "bincount: x are not integers (x float32[3])"},
    {throws<TypeError>(), [] { return bincount(of({3}, "bool")); },
     "bincount: x are not integers (x bool[3])"},
    {throws<ValueError>(), [] { return bincount(of({3, 2}, "int32")); },
     "bincount: x has rank 2, not 1 (x int32[3,2])"},
    {throws<ValueError>(), [] { return bincount(of({3}, "int32"), {.weights = of({2})}); },
     "bincount: x and weights have different lengths (x int32[3], weights float32[2])"},
    {throws<ValueError>(), [] { return bincount(of({3}, "int32"), {.weights = 2}); },
     "bincount: weights has rank 0, not 1 (weights float32[])"},
    {throws<TypeError>(), [] { return bincount(of({3}, "int32"), {.weights = of({3}, "bool")}); },
     "bincount: weights is bool, not a number (weights bool[3])"},
    {throws<ValueError>(), [] { return bincount(of({3}, "int32"), {.minlength = -1}); },
     "bincount: minlength is -1"},
    {throws<ValueError>(), [] { return bincount(of({3}, "int32"), {.length = -2}); },
     "bincount: length is -2"},
    {throws<ValueError>(), [] { return bincount(of({3}, "int32"), {.minlength = 2, .length = 2}); },
     "bincount: both minlength and length are set"},
};

}  // namespace

TEST_CASE("bincount", "[k]") { run(bincount_rows()); }

TEST_CASE("bincount: lengths that depend on data", "[k]") {
  for (const Row& row : rows_of_data_lengths()) {
    INFO(row.name);
    Tensors x;
    for (const Array& input : row.inputs) {
      x.push_back(placeholder({.shape = {None}, .dtype = input.dtype()}));
    }
    const Tensor y = row.build(x);
    CHECK(int_shape(y) == std::vector<std::optional<std::int64_t>>{{}});
    CHECK(difference(evaluate(x, {y}, row.inputs)[0], row.expected, 0) == "");
  }
}

TEST_CASE("bincount: misuse", "[k]") { run(kBincountErrors); }

TEST_CASE("bincount: elements are checked at the call", "[k]") {
  const Tensor x = of({None}, "int32"), weights = of({None});
  const Function any = function({x}, {bincount(x)}, {.backend = tested_backend()});
  CHECK(any({i32({2}, {0, 4})})[0] == i64({5}, {1, 0, 0, 0, 1}));
  CHECK_THROWS_AS(any({i32({2}, {0, -1})}), ValueError);
  CHECK_THROWS_AS(any({i32({1}, {INT32_MIN})}), ValueError);
  const Function three = function({x, weights}, {bincount(x, {.weights = weights, .length = 3})},
                                  {.backend = tested_backend()});
  CHECK(three({i32({2}, {2, 0}), f32({2}, {5, 6})})[0] == f32({3}, {6, 0, 5}));
  CHECK_THROWS_AS(three({i32({2}, {0, 3}), f32({2}, {5, 6})}), ValueError);
  CHECK_THROWS_AS(three({i32({2}, {0, 1}), f32({3}, {5, 6, 7})}), ValueError);
}

TEST_CASE("bincount: a matrix of confusions", "[k]") {
  const Tensor labels = of({None}, "int32"), guesses = of({None}, "int32");
  const Tensor cells = bincount(labels * 3 + guesses, {.length = 9});
  const Tensor matrix = reshape(cells, {3, 3});
  const Array got = evaluate({labels, guesses}, {matrix},
                             {i32({5}, {0, 1, 2, 2, 2}), i32({5}, {0, 2, 2, 2, 1})})[0];
  CHECK(got == i64({3, 3}, {1, 0, 0, 0, 0, 1, 0, 1, 2}));
}

}  // namespace kiln::test
