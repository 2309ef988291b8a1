// Tests every form of matmul against plain sums in double.
#include "tests/support/catch.h"
#include "tests/backends/cpu_onednn/naive.h"

using namespace products_test;

namespace {

void agrees(const OneDnnMatmulShape& shape) {
  INFO(kiln::cpu::to_string(shape));
  REQUIRE_FALSE(kiln::cpu::rejection_of(shape));
  const auto matmul = OneDnnMatmul::create(shape);
  INFO(matmul->implementation());
  const Operands in(shape);
  CHECK(worst_error(shape, in, run(*matmul, in)) < 1);
}

void agrees_with_and_without_bias(OneDnnMatmulShape shape) {
  for (const bool bias : {false, true}) {
    shape.bias_per_column = bias;
    agrees(shape);
  }
}

const std::int64_t sizes[][3] = {{1, 1, 1},     {1, 7, 5},     {7, 1, 5},      {5, 7, 1},
                                 {1, 1, 33},    {3, 17, 19},   {8, 16, 32},    {9, 33, 31},
                                 {64, 10, 65},  {65, 63, 10},  {33, 100, 17},  {129, 31, 130},
                                 {16, 10, 999}, {1500, 30, 9}, {30, 1500, 12}, {300, 300, 40}};

}  // namespace

TEST_CASE("matmul: all transposes and bias, at odd sizes") {
  for (const auto& [m, n, k] : sizes) {
    for (int form = 0; form < 4; ++form) {
      agrees_with_and_without_bias(dense_shape(m, n, k, form & 1, form & 2));
    }
  }
}

TEST_CASE("matmul: in parts of larger matrices the padding between rows does not change") {
  for (const auto& [m, n, k] : sizes) {
    OneDnnMatmulShape shape{m, n, k, {k + 3, 1}, {n + 2, 1}, n + 7, false};
    agrees_with_and_without_bias(shape);
    shape.lhs = {1, m + 4};
    shape.rhs = {1, k + 1};
    agrees_with_and_without_bias(shape);
  }
}

TEST_CASE("matmul: strides of dimensions of size 1 are ignored") {
  OneDnnMatmulShape row = dense_shape(1, 9, 6);
  row.lhs.row_stride = 0;
  row.result_row = -3;
  agrees_with_and_without_bias(row);
  OneDnnMatmulShape column = dense_shape(9, 1, 6);
  column.rhs.column_stride = 77;
  agrees_with_and_without_bias(column);
  OneDnnMatmulShape outer = dense_shape(9, 8, 1);
  outer.lhs = {1, 0};
  outer.rhs = {0, 1};
  agrees_with_and_without_bias(outer);
}

TEST_CASE("matmul: NaN and infinity propagate, also times zeros of the other operand") {
  const OneDnnMatmulShape shape = dense_shape(20, 17, 18);
  Operands in(shape);
  in.lhs[2 * 18 + 3] = NAN;
  in.lhs[4 * 18 + 1] = INFINITY;
  for (std::size_t j = 0; j < 17; ++j) in.rhs[3 * 17 + j] = in.rhs[1 * 17 + j] = 0;
  const std::vector<float> got = run(*OneDnnMatmul::create(shape), in);
  for (std::size_t j = 0; j < 17; ++j) {
    CHECK(std::isnan(got[2 * 17 + j]));
    CHECK(std::isnan(got[4 * 17 + j]));
    CHECK(std::isfinite(got[3 * 17 + j]));
  }
}
