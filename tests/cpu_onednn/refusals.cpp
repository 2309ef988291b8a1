// Shapes that never reach the library, and what is said of them.
#include "tests/catch.h"
#include "tests/cpu_onednn/naive.h"

#include <kiln/error.h>

using namespace products_test;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string reason(const ProductShape& shape) {
  CHECK_THROWS_AS(Product::create(shape), kiln::BackendError);
  return kiln::cpu::refusal(shape).value_or("taken");
}

}  // namespace

TEST_CASE("an empty dimension is a fault of the caller") {
  for (int at = 0; at < 4; ++at) {
    ProductShape shape = dense_shape(2, 3, 4, 5);
    std::int64_t* const dims[] = {&shape.batch, &shape.m, &shape.n, &shape.k};
    for (const std::int64_t bad : {0, -1}) {
      *dims[at] = bad;
      CHECK_THROWS_AS(Product::create(shape), kiln::InternalError);
      CHECK(kiln::cpu::refusal(shape));
    }
  }
}

TEST_CASE("strides that the library does not take have a reason") {
  const ProductShape good = dense_shape(2, 3, 4, 5);
  ProductShape shape = good;
  shape.lhs = {10, 2, 100};
  CHECK_THAT(reason(shape), ContainsSubstring("of lhs"));
  shape = good;
  shape.rhs = {3, 1, 100};
  CHECK_THAT(reason(shape), ContainsSubstring("of rhs"));
  shape = good;
  shape.rhs = {0, 1, 100};
  CHECK_THAT(reason(shape), ContainsSubstring("of rhs"));
  shape = good;
  shape.result = {-4, 1, 100};
  CHECK_THAT(reason(shape), ContainsSubstring("of result"));
  shape = good;
  shape.result.batch_stride = 0;
  CHECK_THAT(reason(shape), ContainsSubstring("overlap"));
  shape.result.batch_stride = 11;
  CHECK_THAT(reason(shape), ContainsSubstring("overlap"));
  shape = good;
  shape.lhs.batch_stride = -15;
  CHECK_THAT(reason(shape), ContainsSubstring("negative"));
}

TEST_CASE("a column-major result takes neither bias nor packed rhs") {
  ProductShape shape = dense_shape(1, 3, 4, 5, false, false, true);
  CHECK_FALSE(kiln::cpu::refusal(shape));
  shape.bias_per_column = true;
  CHECK_THAT(reason(shape), ContainsSubstring("bias per column"));
  shape.bias_per_column = false;
  shape.packed_rhs = true;
  CHECK_THAT(reason(shape), ContainsSubstring("packed"));
}

TEST_CASE("sizes whose offsets could overflow have a reason, and the error names the shape") {
  const std::int64_t huge = std::int64_t{1} << 40;
  ProductShape shape = dense_shape(1, 1000, 1000, 1000);
  shape.m = huge;
  CHECK_THAT(reason(shape), ContainsSubstring("2^48"));
  CHECK_THROWS_WITH(Product::create(shape),
                    ContainsSubstring("1099511627776x1000 times 1000x1000"));
  shape = dense_shape(1, 3, 4, 5);
  shape.batch = huge;
  shape.lhs.batch_stride = huge;
  CHECK_THAT(reason(shape), ContainsSubstring("2^48"));
  shape = dense_shape(1, 3, 4, 5);
  shape.rhs.row_stride = std::int64_t{1} << 62;
  CHECK_THAT(reason(shape), ContainsSubstring("2^48"));
}

TEST_CASE("packing what is not packed is a status, not a fault") {
  const auto product = Product::create(dense_shape(1, 3, 4, 5));
  CHECK(product->packed_rhs_bytes() == 0);
  float value = 0;
  CHECK(product->pack_rhs(&value, &value) != 0);
  CHECK(kiln::cpu::status_text(product->pack_rhs(&value, &value)) == "invalid arguments");
}
