// Tests shapes that are rejected before they reach the library, and the reasons.
#include "tests/support/catch.h"
#include "tests/backends/cpu_onednn/naive.h"

#include "backends/abi/kiln_backend_sdk.h"

#include <kiln/error.h>

using namespace products_test;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string reason(const OneDnnMatmulShape& shape) {
  CHECK_THROWS_AS(OneDnnMatmul::create(shape), kiln::BackendError);
  return kiln::cpu::rejection_of(shape).value_or("taken");
}

}  // namespace

TEST_CASE("matmul shape: an empty dimension is an error of the caller") {
  for (int at = 0; at < 3; ++at) {
    OneDnnMatmulShape shape = dense_shape(3, 4, 5);
    std::int64_t* const dims[] = {&shape.m, &shape.n, &shape.k};
    for (const std::int64_t bad : {0, -1}) {
      *dims[at] = bad;
      CHECK_THROWS_AS(OneDnnMatmul::create(shape), kiln::InternalError);
      CHECK(kiln::cpu::rejection_of(shape));
    }
  }
}

TEST_CASE("matmul shape: strides that the library does not take have a reason") {
  const OneDnnMatmulShape good = dense_shape(3, 4, 5);
  OneDnnMatmulShape shape = good;
  shape.lhs = {10, 2};
  CHECK_THAT(reason(shape), ContainsSubstring("of lhs"));
  shape = good;
  shape.rhs = {3, 1};
  CHECK_THAT(reason(shape), ContainsSubstring("of rhs"));
  shape = good;
  shape.rhs = {0, 1};
  CHECK_THAT(reason(shape), ContainsSubstring("of rhs"));
  shape = good;
  for (const std::int64_t row : {-4, 0, 3}) {
    shape.result_row = row;
    CHECK_THAT(reason(shape), ContainsSubstring("overlap"));
  }
}

TEST_CASE("matmul shape: sizes whose offsets could overflow have a reason and name the shape") {
  OneDnnMatmulShape shape = dense_shape(1000, 1000, 1000);
  shape.m = std::int64_t{1} << 40;
  CHECK_THAT(reason(shape), ContainsSubstring("2^48"));
  CHECK_THROWS_WITH(OneDnnMatmul::create(shape),
                    ContainsSubstring("1099511627776x1000 times 1000x1000"));
  shape = dense_shape(3, 4, 5);
  shape.rhs.row_stride = std::int64_t{1} << 62;
  CHECK_THAT(reason(shape), ContainsSubstring("2^48"));
}

TEST_CASE("status: out of memory and other failures have codes of their own") {
  for (const auto& [name, code] : {std::pair{"out of memory", KILN_CODE_RESOURCE_EXHAUSTED},
                                   {"invalid arguments", KILN_CODE_INTERNAL}}) {
    int status = 0;
    while (status < 10 && kiln::cpu::status_text(status) != name) ++status;
    try {
      kiln::cpu::fail_with(status, "here");
    } catch (const kiln::sdk::Failure& failure) {
      CHECK(failure.code() == code);
      CHECK(failure.what() == "oneDNN: " + std::string(name) + " here");
    }
  }
}
