// Tests kiln/linalg.h: values, from NumPy's dot and einsum.
#include "tests/support/catch.h"
#include "tests/k/row.h"

namespace kiln::test {
namespace {

/// first, first + step, ...
Array counting(std::vector<std::int64_t> dims, float step = 1, float first = 0) {
  Array array = Array::zeros(std::move(dims));
  for (float& element : array.as<float>()) {
    element = first;
    first += step;
  }
  return array;
}

}  // namespace

std::vector<Row> linalg_rows() {
  return {
      {"dot",
       {counting({2, 3}, 1, 1), f32({3, 2}, {1, 0, 2, -1, 0, 3})},
       [](const Tensors& x) { return dot(x[0], x[1]); },
       f32({2, 2}, {5, 7, 14, 13})},
      {"dot with second to last axis",
       {f32({2, 3}, {1, 2, 3, 4, 5, 6}), counting({4, 3, 5}, 0.1f)},
       [](const Tensors& x) { return dot(x[0], x[1]); },
       f32({2, 4, 5},
           {4,    4.6, 5.2,  5.8,  6.4,  13,   13.6, 14.2, 14.8, 15.4, 22,   22.6, 23.2, 23.8,
            24.4, 31,  31.6, 32.2, 32.8, 33.4, 8.5,  10,   11.5, 13,   14.5, 31,   32.5, 34,
            35.5, 37,  53.5, 55,   56.5, 58,   59.5, 76,   77.5, 79,   80.5, 82}),
       1e-5},
      {"dot of more axes and a matrix",
       {counting({2, 3, 4}), counting({4, 2})},
       [](const Tensors& x) { return dot(x[0], x[1]); },
       f32({2, 3, 2}, {28, 34, 76, 98, 124, 162, 172, 226, 220, 290, 268, 354})},
      {"dot of vectors",
       {f32({3}, {1, 2, 3}), f32({3}, {4, 5, 6})},
       [](const Tensors& x) { return dot(x[0], x[1]); },
       f32({}, {32})},
      {"dot of a vector and more axes",
       {f32({2}, {1, 2}), counting({3, 2, 2})},
       [](const Tensors& x) { return dot(x[0], x[1]); },
       f32({3, 2}, {4, 7, 16, 19, 28, 31})},
      {"dot of a matrix and a vector",
       {counting({2, 3}), f32({3}, {1, -1, 2})},
       [](const Tensors& x) { return dot(x[0], x[1]); },
       f32({2}, {3, 9})},
      {"dot with a number",
       {counting({2, 2})},
       [](const Tensors& x) { return dot(x[0], 2); },
       f32({2, 2}, {0, 2, 4, 6})},
      {"dot int32",
       {i32({1, 2}, {3, -4}), i32({2, 1}, {5, 6})},
       [](const Tensors& x) { return dot(x[0], x[1]); },
       i32({1, 1}, {-9})},
      {"dot over nothing",
       {f32({2, 0}, {}), f32({0, 2}, {})},
       [](const Tensors& x) { return dot(x[0], x[1]); },
       f32({2, 2}, {0, 0, 0, 0})},
      // The example of Keras 2.3.1's documentation.
      {"batch_dot of matrices",
       {f32({2, 2}, {1, 2, 3, 4}), f32({2, 2}, {5, 6, 7, 8})},
       [](const Tensors& x) { return batch_dot(x[0], x[1], {.axes = 1}); },
       f32({2, 1}, {17, 53})},
      {"batch_dot of matrices without axes",
       {f32({2, 2}, {1, 2, 3, 4}), f32({2, 2}, {5, 6, 7, 8})},
       [](const Tensors& x) { return batch_dot(x[0], x[1]); },
       f32({2, 1}, {17, 53})},
      {"batch_dot",
       {counting({2, 3, 2}), counting({2, 2, 3})},
       [](const Tensors& x) { return batch_dot(x[0], x[1]); },
       f32({2, 3, 3},
           {3, 4, 5, 9, 14, 19, 15, 24, 33, 99, 112, 125, 129, 146, 163, 159, 180, 201})},
      {"batch_dot axes",
       {counting({2, 3, 2}), counting({2, 2, 3})},
       [](const Tensors& x) { return batch_dot(x[0], x[1], {.axes = {1, -1}}); },
       f32({2, 2, 2}, {10, 28, 13, 40, 172, 244, 193, 274})},
      {"batch_dot of four axes",
       {counting({2, 2, 3, 2}), counting({2, 3, 2, 2})},
       [](const Tensors& x) { return batch_dot(x[0], x[1], {.axes = {2, 1}}); },
       f32({2, 2, 2, 2, 2}, {40,  46,  52,  58,   52,   61,   70,   79,   112,  136, 160,
                             184, 124, 151, 178,  205,  688,  730,  772,  814,  736, 781,
                             826, 871, 976, 1036, 1096, 1156, 1024, 1087, 1150, 1213})},
      {"batch_dot of three axes and two",
       {counting({2, 3, 2}), f32({2, 2}, {1, 2, 3, 4})},
       [](const Tensors& x) { return batch_dot(x[0], x[1]); },
       f32({2, 3}, {2, 8, 14, 46, 60, 74})},
      {"dot over nothing",
       {Array::zeros({2, 0}), Array::zeros({0, 3})},
       [](const Tensors& x) { return dot(x[0], x[1]); },
       Array::zeros({2, 3})},
      {"dot of no rows",
       {Array::zeros({0, 3}), Array::zeros({3, 2})},
       [](const Tensors& x) { return dot(x[0], x[1]); },
       Array::zeros({0, 2})},
      {"dot of single elements",
       {f32({1, 1}, {2}), f32({1, 1}, {3})},
       [](const Tensors& x) { return dot(x[0], x[1]); },
       f32({1, 1}, {6})},
      {"dot of a number",
       {f32({2}, {1, 3})},
       [](const Tensors& x) { return dot(2, x[0]); },
       f32({2}, {2, 6})},
      {"dot of a vector and a matrix",
       {f32({2}, {1, 2}), f32({2, 2}, {1, 2, 3, 4})},
       [](const Tensors& x) { return dot(x[0], x[1]); },
       f32({2}, {7, 10})},
      {"dot int32",
       {i32({1, 2}, {1, 2}), i32({2, 1}, {3, -4})},
       [](const Tensors& x) { return dot(x[0], x[1]); },
       i32({1, 1}, {-5})},
      {"batch_dot of no samples",
       {Array::zeros({0, 3, 2}), Array::zeros({0, 2, 4})},
       [](const Tensors& x) { return batch_dot(x[0], x[1]); },
       Array::zeros({0, 3, 4})},
      {"batch_dot over nothing",
       {Array::zeros({2, 3, 0}), Array::zeros({2, 0, 4})},
       [](const Tensors& x) { return batch_dot(x[0], x[1]); },
       Array::zeros({2, 3, 4})},
      {"batch_dot of one sample",
       {f32({1, 2}, {1, 2}), f32({1, 2}, {3, 4})},
       [](const Tensors& x) { return batch_dot(x[0], x[1], {.axes = -1}); },
       f32({1, 1}, {11})},
      {"gather of no indices",
       {counting({3, 2}), i64({0, 2}, {})},
       [](const Tensors& x) { return gather(x[0], x[1]); },
       Array::zeros({0, 2, 2})},
      {"gather of single elements",
       {f32({1}, {5}), i32({1, 1}, {0})},
       [](const Tensors& x) { return gather(x[0], x[1]); },
       f32({1, 1}, {5})},
      {"transpose of nothing",
       {Array::zeros({2, 0, 3})},
       [](const Tensors& x) { return transpose(x[0]); },
       Array::zeros({3, 0, 2})},
      {"transpose",
       {counting({2, 1, 3})},
       [](const Tensors& x) { return transpose(x[0]); },
       f32({3, 1, 2}, {0, 3, 1, 4, 2, 5})},
      {"transpose of a scalar",
       {f32({}, {7})},
       [](const Tensors& x) { return transpose(x[0]); },
       f32({}, {7})},
      {"gather",
       {counting({3, 2}), i64({2, 2}, {2, 0, 1, 2})},
       [](const Tensors& x) { return gather(x[0], x[1]); },
       f32({2, 2, 2}, {4, 5, 0, 1, 2, 3, 4, 5})},
      {"gather of a number",
       {counting({3, 2})},
       [](const Tensors& x) { return gather(x[0], 1); },
       f32({2}, {2, 3})},
      {"gather gradient adds up",
       {counting({3, 2}), i32({3}, {2, 0, 2})},
       [](const Tensors& x) { return gradients(sum(gather(x[0], x[1])), {x[0]})[0]; },
       f32({3, 2}, {1, 1, 0, 0, 2, 2})},
  };
}

TEST_CASE("matmuls and lookups", "[k]") { run(linalg_rows()); }

TEST_CASE("batch_dot: static shapes", "[k]") {
  using Sizes = std::vector<std::optional<std::int64_t>>;
  const auto sizes = [](const Shape& x, const Shape& y, const Axes& axes) {
    return int_shape(
        batch_dot(placeholder({.shape = x}), placeholder({.shape = y}), {.axes = axes}));
  };
  CHECK(sizes({None, 3, 4, 5}, {None, 2, 3, 4}, {2, 3}) == Sizes{{}, 3, 5, 2, 3});
  CHECK(sizes({None, None, None}, {None, None, None}, None) == Sizes{{}, {}, {}});
  CHECK(sizes({None, None}, {None, None}, 1) == Sizes{{}, 1});
  CHECK(sizes({32, 20}, {32, 30, 20}, {1, 2}) == Sizes{32, 30});
}

TEST_CASE("dot: unknown sizes are compared at the call", "[k]") {
  const Tensor x = placeholder({.shape = {2, None}, .name = "x"});
  const Tensor y = placeholder({.shape = {None, 2}, .name = "y"});
  const Function f = function({x, y}, {dot(x, y)}, {.backend = tested_backend()});
  CHECK(f({counting({2, 3}), counting({3, 2})})[0] == f32({2, 2}, {10, 13, 28, 40}));
  CHECK_THROWS_AS(f({counting({2, 3}), counting({4, 2})}), ValueError);
  CHECK(f({counting({2, 1}), counting({1, 2})})[0] == f32({2, 2}, {0, 0, 0, 1}));
}

}  // namespace kiln::test
