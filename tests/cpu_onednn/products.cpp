// Every form of product against plain sums in double.
#include "tests/catch.h"
#include "tests/cpu_onednn/naive.h"

using namespace products_test;

namespace {

void agrees(const ProductShape& shape) {
  INFO(kiln::cpu::to_string(shape));
  REQUIRE_FALSE(kiln::cpu::refusal(shape));
  const auto product = Product::create(shape);
  INFO(product->implementation());
  const Operands in(shape);
  CHECK(worst_error(shape, in, run(*product, in)) < 1);
}

void agrees_in_all_forms(ProductShape shape) {
  const bool column_major = shape.result.column_stride != 1 && shape.m > 1 && shape.n > 1;
  for (const bool accumulate : {false, true}) {
    shape.accumulate = accumulate;
    agrees(shape);
    if (column_major) continue;
    for (const int form : {1, 2, 3}) {
      ProductShape more = shape;
      more.bias_per_column = form & 1;
      more.packed_rhs = form & 2;
      agrees(more);
    }
  }
}

const std::int64_t sizes[][3] = {{1, 1, 1},    {1, 7, 5},    {7, 1, 5},    {5, 7, 1},
                                 {1, 1, 33},   {3, 17, 19},  {8, 16, 32},  {9, 33, 31},
                                 {64, 10, 65}, {65, 63, 10}, {33, 100, 17}, {129, 31, 130}};

}  // namespace

TEST_CASE("all transposes, bias, accumulate and packed, at odd sizes") {
  for (const auto& [m, n, k] : sizes) {
    for (int form = 0; form < 8; ++form) {
      agrees_in_all_forms(dense_shape(1, m, n, k, form & 1, form & 2, form & 4));
    }
  }
}

TEST_CASE("batches of all transposes") {
  for (const auto& [m, n, k] : sizes) {
    for (int form = 0; form < 8; ++form) {
      agrees_in_all_forms(dense_shape(3, m, n, k, form & 1, form & 2, form & 4));
    }
  }
}

TEST_CASE("operands shared by a batch") {
  for (const auto& [m, n, k] : sizes) {
    for (int form = 0; form < 4; ++form) {
      ProductShape shape = dense_shape(4, m, n, k, form & 1, form & 2);
      shape.rhs.batch_stride = 0;
      agrees_in_all_forms(shape);
      shape.lhs.batch_stride = 0;
      agrees_in_all_forms(shape);
      shape.rhs.batch_stride = k * n;
      agrees_in_all_forms(shape);
    }
  }
}

TEST_CASE("parts of larger matrices: padding between rows stays as it was") {
  for (const auto& [m, n, k] : sizes) {
    ProductShape shape{2, m, n, k, {k + 3, 1, m * (k + 3) + 5}, {n + 2, 1, k * (n + 2) + 1},
                       {n + 7, 1, m * (n + 7) + 9}, false, false, false};
    agrees_in_all_forms(shape);
    shape.lhs = {1, m + 4, k * (m + 4)};
    shape.rhs = {1, k + 1, n * (k + 1)};
    agrees_in_all_forms(shape);
  }
}

TEST_CASE("matrices of a batch side by side, as heads of attention lie") {
  for (const auto& [m, n, k] : sizes) {
    const std::int64_t batch = 3;
    agrees_in_all_forms({batch, m, n, k, {batch * k, 1, k}, {1, batch * k, k},
                         {batch * n, 1, n}, false, false, false});
  }
}

TEST_CASE("strides of dimensions of size 1 are ignored") {
  ProductShape row = dense_shape(1, 1, 9, 6);
  row.lhs.row_stride = 0;
  row.result.row_stride = -3;
  row.lhs.batch_stride = row.rhs.batch_stride = row.result.batch_stride = 0;
  agrees_in_all_forms(row);
  ProductShape column = dense_shape(1, 9, 1, 6);
  column.rhs.column_stride = 77;
  column.result.column_stride = 0;
  agrees_in_all_forms(column);
  ProductShape outer = dense_shape(1, 9, 8, 1);
  outer.lhs = {1, 0, 0};
  outer.rhs = {0, 1, 0};
  agrees_in_all_forms(outer);
}

TEST_CASE("packing again at the same place does not count on what was there") {
  ProductShape shape = dense_shape(1, 5, 19, 23);
  shape.packed_rhs = true;
  const auto product = Product::create(shape);
  const Buffer packed = buffer(product->packed_rhs_bytes());
  const Buffer scratch = buffer(product->scratch_bytes());
  for (unsigned seed = 0; seed < 3; ++seed) {
    const Operands in(shape, seed);
    std::memset(packed.get(), 0xff, product->packed_rhs_bytes());
    REQUIRE(product->pack_rhs(in.rhs.data(), packed.get()) == 0);
    std::vector<float> result(in.result);
    REQUIRE(product->run(in.lhs.data(), packed.get(), nullptr, result.data(), scratch.get()) == 0);
    CHECK(worst_error(shape, in, result) < 1);
  }
}

TEST_CASE("NaN and infinity come through, zeros in the other operand included") {
  for (const bool packed : {false, true}) {
    ProductShape shape = dense_shape(1, 20, 17, 18);
    shape.packed_rhs = packed;
    Operands in(shape);
    in.lhs[2 * 18 + 3] = NAN;
    in.lhs[4 * 18 + 1] = INFINITY;
    for (std::size_t j = 0; j < 17; ++j) in.rhs[3 * 17 + j] = in.rhs[1 * 17 + j] = 0;
    const std::vector<float> got = run(*Product::create(shape), in);
    for (std::size_t j = 0; j < 17; ++j) {
      CHECK(std::isnan(got[2 * 17 + j]));
      CHECK(std::isnan(got[4 * 17 + j]));
      CHECK(std::isfinite(got[3 * 17 + j]));
    }
  }
}
