// Tests tril and triu (kiln/shape_ops.h). Expected values are those of NumPy 2.4's functions, or of
// a loop over rows and columns.
#include "tests/support/catch.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

namespace kiln::test {
namespace {

using testing::throws;
using testing::Misuse;

const std::vector<Misuse> kTriangleErrors = {
    {throws<ValueError>(), [] { return tril(of({3})); },
     "tril: x has rank 1, not 2 or more (x float32[3])"},
    {throws<ValueError>(), [] { return triu(of({}), {.k = 1}); },
     "triu: x has rank 0, not 2 or more (x float32[])"},
    {throws<ValueError>(), [] { return triu(Tensor()); }, "triu: x is an empty tensor"},
};

}  // namespace

std::vector<Row> triangle_rows() {
  return {
      {"tril",
       {m23()},
       [](const Tensors& x) { return tril(x[0]); },
       f32({2, 3}, {0, 0, 0, 3, 4, 0})},
      {"tril above the main diagonal",
       {m23()},
       [](const Tensors& x) { return tril(x[0], {.k = 1}); },
       f32({2, 3}, {0, 1, 0, 3, 4, 5})},
      {"tril NaN and infinities become 0",
       {f32({2, 2}, {1, kNaN, 2, -kInf})},
       [](const Tensors& x) { return tril(x[0], {.k = -1}); },
       f32({2, 2}, {0, 0, 2, 0})},
      {"tril batches",
       {counted({2, 1, 2, 2})},
       [](const Tensors& x) { return tril(x[0]); },
       f32({2, 1, 2, 2}, {0, 0, 2, 3, 4, 0, 6, 7})},
      {"tril far below, where nothing is left",
       {m23()},
       [](const Tensors& x) { return tril(x[0], {.k = INT64_MIN}); },
       none({2, 3})},
      {"tril far above",
       {m23()},
       [](const Tensors& x) { return tril(x[0], {.k = INT64_MAX}); },
       m23()},
      {"tril bools",
       {bools({2, 2}, {true, true, true, true})},
       [](const Tensors& x) { return tril(x[0]); },
       bools({2, 2}, {true, false, true, true})},
      {"tril of no rows",
       {none({0, 3})},
       [](const Tensors& x) { return tril(x[0]); },
       none({0, 3})},
      {"tril gradient",
       {f32({2, 2}, {1, kNaN, 3, 4})},
       [](const Tensors& x) { return slope(square(tril(x[0])), x[0]); },
       f32({2, 2}, {2, 0, 6, 8})},
      {"triu",
       {m23()},
       [](const Tensors& x) { return triu(x[0]); },
       f32({2, 3}, {0, 1, 2, 0, 4, 5})},
      {"triu above the main diagonal",
       {i32({3, 2}, {1, 2, 3, 4, 5, 6})},
       [](const Tensors& x) { return triu(x[0], {.k = 1}); },
       i32({3, 2}, {0, 2, 0, 0, 0, 0})},
      {"triu far below",
       {m23()},
       [](const Tensors& x) { return triu(x[0], {.k = INT64_MIN}); },
       m23()},
      {"triu far above, where nothing is left",
       {m23()},
       [](const Tensors& x) { return triu(x[0], {.k = INT64_MAX}); },
       none({2, 3})},
      {"triu of one element",
       {f32({1, 1}, {5})},
       [](const Tensors& x) { return triu(x[0]); },
       f32({1, 1}, {5})},
      {"triu gradient",
       {m23()},
       [](const Tensors& x) { return slope(square(triu(x[0], {.k = 1})), x[0]); },
       f32({2, 3}, {0, 2, 4, 0, 0, 10})},
  };
}

TEST_CASE("tril and triu", "[k]") { run(triangle_rows()); }
TEST_CASE("tril and triu: misuse", "[k]") { run(kTriangleErrors); }

TEST_CASE("tril and triu: every diagonal of several shapes", "[k]") {
  for (const auto& [rows, columns] : {std::pair{3, 5}, {5, 3}, {4, 4}, {1, 6}, {6, 1}}) {
    const Tensor x = of({rows, columns});
    const Array values = pattern({rows, columns}, 7, 31);
    Tensors outputs;
    for (int k = -7; k <= 7; ++k) {
      outputs.push_back(tril(x, {.k = k}));
      outputs.push_back(triu(x, {.k = k}));
    }
    const std::vector<Array> got = evaluate({x}, outputs, {values});
    for (int k = -7; k <= 7; ++k) {
      INFO(rows << " x " << columns << ", diagonal " << k);
      Array lower = Array::zeros({rows, columns}), upper = Array::zeros({rows, columns});
      for (int i = 0; i < rows * columns; ++i) {
        const int distance = i % columns - i / columns;
        const auto at = static_cast<std::size_t>(i);
        if (distance <= k) lower.as<float>()[at] = values.as<float>()[at];
        if (distance >= k) upper.as<float>()[at] = values.as<float>()[at];
      }
      CHECK(got[static_cast<std::size_t>(2 * (k + 7))] == lower);
      CHECK(got[static_cast<std::size_t>(2 * (k + 7) + 1)] == upper);
    }
  }
}

}  // namespace kiln::test
