// Tests ranks above 64, which no array or module can have: each function that makes one says so.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/k/row.h"

#include "core/module/module.h"

#include <functional>

namespace kiln::test {
namespace {

using Dims = std::vector<std::int64_t>;

struct RankRow {
  const char* name;
  std::function<void()> call;
};

}  // namespace

TEST_CASE("rank 64: functions whose result would exceed it name themselves", "[k]") {
  STATIC_REQUIRE(module::kMaxDims == Array::kMaxRank);
  const Dims most(64, 1), above(65, 1);
  const Tensor x = placeholder({.shape = most}), i = placeholder({.shape = most, .dtype = "int32"});
  const Tensor half = placeholder({.shape = Dims(40, 1)});
  const Tensor one = constant(1, {.dtype = "int64"});
  std::vector<ShapeEntry> data(64, ShapeEntry(1));
  data.emplace_back(one);
  const auto grow = [&](const Tensor&) { return x; };
  const RankRow rows[] = {
      {"placeholder", [&] { placeholder({.shape = above}); }},
      {"placeholder", [&] { placeholder({.ndim = 65}); }},
      {"placeholder", [&] { placeholder({.ndim = ~std::size_t{0}}); }},
      {"zeros", [&] { zeros(above); }},
      {"zeros", [&] { zeros(Shape(data)); }},
      {"ones", [&] { ones(above, {.dtype = "int8"}); }},
      {"random_uniform_variable", [&] { random_uniform_variable(above, 0, 1); }},
      {"random_normal_variable", [&] { random_normal_variable(above, 0, 1); }},
      {"random_uniform", [&] { random_uniform(above); }},
      {"random_normal", [&] { random_normal(above); }},
      {"random_binomial", [&] { random_binomial(above); }},
      {"truncated_normal", [&] { truncated_normal(above); }},
      {"reshape", [&] { reshape(x, above); }},
      {"expand_dims", [&] { expand_dims(x); }},
      {"expand_dims", [&] { expand_dims(x, {.axis = 0}); }},
      {"stack", [&] { stack({x, x}); }},
      {"one_hot", [&] { one_hot(i, 3); }},
      {"gather", [&] { gather(half, placeholder({.shape = Dims(26, 1), .dtype = "int32"})); }},
      {"dot", [&] { dot(half, half); }},
      {"batch_dot", [&] { batch_dot(half, half, {.axes = {39, 38}}); }},
      {"map_fn", [&] { map_fn(grow, placeholder({.shape = {2}})); }},
      {"tile", [&] { tile(x, Dims(64, 2)); }},
      {"repeat_elements", [&] { repeat_elements(x, 2, 0); }},
  };
  for (const RankRow& row : rows) {
    INFO(row.name);
    const std::string text = testing::error_text<ValueError>(row.call);
    INFO(text);
    CHECK(text.rfind(std::string(row.name) + ": rank ", 0) == 0);
    CHECK(text.find(" exceeds 64") != std::string::npos);
  }
}

TEST_CASE("rank 64: functions compute with it", "[k]") {
  const Dims most(64, 1);
  const Tensor x = placeholder({.shape = most});
  const Tensor w = ones(most);
  const Array fed = Array::full(most, 3);
  const Function f = function({x}, {x * w + 1, sum(x), gradients(sum(square(x) * w), {w})[0]},
                              {.backend = tested_backend()});
  const std::vector<Array> results = f({fed});
  CHECK(results[0] == Array::full(most, 4));
  CHECK(results[1].item<float>() == 3);
  CHECK(results[2] == Array::full(most, 9));
}

}  // namespace kiln::test
