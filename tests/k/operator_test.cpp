// Tests operators on tensors, elements and slices, and shapes that are computed from shapes.
#include "tests/support/catch.h"
#include "tests/k/row.h"

namespace kiln::test {
namespace {

const Array& whole() {
  static const Array array = i32({4}, {7, -7, 0, 3});
  return array;
}

}  // namespace

std::vector<Row> operator_rows() {
  return {
      {"operator+",
       {mixed_signs(), f32({3}, {1, 2, 3})},
       [](const Tensors& x) { return x[0] + x[1]; },
       f32({2, 3}, {-1, 1.5, 3, 1.5, 3, 6})},
      {"operator+ number",
       {mixed_signs()},
       [](const Tensors& x) { return 1 + x[0] + 0.5; },
       f32({2, 3}, {-0.5, 1, 1.5, 2, 2.5, 4.5})},
      {"operator-",
       {mixed_signs(), f32({2, 1}, {1, 2})},
       [](const Tensors& x) { return x[0] - x[1]; },
       f32({2, 3}, {-3, -1.5, -1, -1.5, -1, 1})},
      {"operator- number",
       {mixed_signs()},
       [](const Tensors& x) { return 1 - x[0]; },
       f32({2, 3}, {3, 1.5, 1, 0.5, 0, -2})},
      {"operator- unary",
       {whole()},
       [](const Tensors& x) { return -x[0]; },
       i32({4}, {-7, 7, 0, -3})},
      {"operator* both stretched",
       {f32({2, 1}, {2, 3}), f32({1, 2}, {5, 7})},
       [](const Tensors& x) { return x[0] * x[1]; },
       f32({2, 2}, {10, 14, 15, 21})},
      {"operator/",
       {mixed_signs()},
       [](const Tensors& x) { return x[0] / 2; },
       f32({2, 3}, {-1, -0.25, 0, 0.25, 0.5, 1.5})},
      {"operator/ integers",
       {whole()},
       [](const Tensors& x) { return x[0] / 2 + 5 / x[0]; },
       i32({4}, {3, -3, 0, 2})},
      {"operator<",
       {mixed_signs()},
       [](const Tensors& x) { return x[0] < 0; },
       bools({2, 3}, {true, true, false, false, false, false})},
      {"operator<=",
       {mixed_signs()},
       [](const Tensors& x) { return x[0] <= 0; },
       bools({2, 3}, {true, true, true, false, false, false})},
      {"operator>",
       {mixed_signs()},
       [](const Tensors& x) { return 0 > x[0]; },
       bools({2, 3}, {true, true, false, false, false, false})},
      {"operator>=",
       {mixed_signs()},
       [](const Tensors& x) { return x[0] >= 1; },
       bools({2, 3}, {false, false, false, false, true, true})},
      {"operator==",
       {whole()},
       [](const Tensors& x) { return x[0] == 3; },
       bools({4}, {false, false, false, true})},
      {"operator!=",
       {whole()},
       [](const Tensors& x) { return 3 != x[0]; },
       bools({4}, {true, true, true, false})},
      {"operator&&",
       {mixed_signs(), f32({3}, {-2, 0, 3})},
       [](const Tensors& x) { return x[0] <= 0 && x[0] != x[1]; },
       bools({2, 3}, {false, true, true, false, false, false})},
      {"operator||",
       {mixed_signs(), f32({2, 1}, {-2, 3})},
       [](const Tensors& x) { return x[0] == x[1] || x[0] == 0; },
       bools({2, 3}, {true, false, true, false, false, true})},
      {"operator!",
       {mixed_signs()},
       [](const Tensors& x) { return !(x[0] > 0) && !!(x[0] < 0); },
       bools({2, 3}, {true, true, false, false, false, false})},
      {"operator[]",
       {mixed_signs()},
       [](const Tensors& x) { return x[0][1]; },
       f32({3}, {0.5, 1, 3})},
      {"operator[] from the end",
       {mixed_signs()},
       [](const Tensors& x) { return x[0][-1][-2]; },
       f32({}, {1})},
      {"slice", {whole()}, [](const Tensors& x) { return x[0].slice(1, 3); }, i32({2}, {-7, 0})},
      {"slice from the end",
       {whole()},
       [](const Tensors& x) { return x[0].slice(-3, {}); },
       i32({3}, {-7, 0, 3})},
      {"slice past the end",
       {whole()},
       [](const Tensors& x) { return x[0].slice({}, 9); },
       whole()},
      {"slice of nothing",
       {whole()},
       [](const Tensors& x) { return x[0].slice(3, 1); },
       i32({0}, {})},
      {"reshape by a shape",
       {mixed_signs()},
       [](const Tensors& x) { return reshape(x[0], {shape(x[0])[1], -1}); },
       f32({3, 2}, {-2, -0.5, 0, 0.5, 1, 3})},
      {"reshape by arithmetic on a shape",
       {mixed_signs()},
       [](const Tensors& x) { return reshape(x[0], {shape(x[0])[0] * 3, shape(x[0])[1] / 3}); },
       f32({6, 1}, {-2, -0.5, 0, 0.5, 1, 3})},
      {"reshape by a concatenated shape",
       {mixed_signs()},
       [](const Tensors& x) {
         const Tensor sizes = shape(x[0]);
         return reshape(x[0], concatenate({sizes.slice(1, {}), sizes.slice({}, 1)}));
       },
       f32({3, 2}, {-2, -0.5, 0, 0.5, 1, 3})},
  };
}

TEST_CASE("operators", "[k]") { run(operator_rows()); }

TEST_CASE("sizes: reshape keeps their symbols", "[k]") {
  const Tensor x = placeholder({.shape = {None, 6}, .name = "x"});
  const Tensor y = reshape(x, {shape(x)[0], 2, -1});
  CHECK(int_shape(y) == std::vector<std::optional<std::int64_t>>{{}, 2, 3});
  CHECK(int_shape(y + zeros_like(y))[0] == std::nullopt);
}

TEST_CASE("sizes: a shape computed from a shape keeps its symbols", "[k]") {
  const Tensor x = placeholder({.shape = {None, 4, 3}, .name = "x"});
  const Tensor sizes = shape(x);
  const auto shape_of = [&](const Tensor& rows) { return int_shape(reshape(x, {rows, -1})); };
  using Sizes = std::vector<std::optional<std::int64_t>>;
  CHECK(shape_of(sizes[0]) == Sizes{{}, 12});
  CHECK(shape_of(sizes[0] * 4) == Sizes{{}, 3});
  CHECK(shape_of(prod(sizes.slice(0, 2))) == Sizes{{}, 3});
  CHECK(shape_of(gather(sizes, 1) * sizes[0]) == Sizes{{}, 3});
  CHECK(shape_of(prod(sizes) / 6) == Sizes{{}, 6});
  CHECK(shape_of(cast(sizes, "int32")[0]) == Sizes{{}, 12});
  CHECK(int_shape(reshape(x, reverse(sizes, 0))) == Sizes{3, 4, {}});
  CHECK(int_shape(x.slice(1, {})[0]) == Sizes{4, 3});
}

TEST_CASE("operands: integers of the full range are exact", "[k]") {
  const Operand large(std::uint64_t{1} << 63);
  CHECK(large.kind() == Operand::Kind::Unsigned);
  CHECK(large.unsigned_integer() == std::uint64_t{1} << 63);
  CHECK(large.floating() == 0x1p63);
  CHECK(Operand(std::int64_t{-5}).integer() == -5);
  CHECK(Operand(std::uint64_t{7}).kind() == Operand::Kind::Integer);
}

TEST_CASE("sizes: a known size is kept when it meets an unknown one", "[k]") {
  const Tensor x = placeholder({.shape = {None, None}, .name = "x"});
  const Tensor y = placeholder({.shape = {4, 3}, .name = "y"});
  CHECK(int_shape(x + y) == std::vector<std::optional<std::int64_t>>{4, 3});
}

}  // namespace kiln::test
