// Tests prefetches of the cpu backend: kernels that read each row several times prefetch the next
// row; loops down columns, and those whose rows an index chooses, prefetch some rows ahead. Checks
// which kernels do so, and values for every size of a row.
#include "tests/support/catch.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <cmath>
#include <limits>
#include <random>

using namespace kiln;
using kiln::testing::contents_of, kiln::testing::Scratch;

TEST_CASE("prefetch: kernels that read far rows several times fetch the next row, and no others") {
  const Scratch scratch;
  const Tensor far = placeholder({.shape = {None, 1000}}), near = placeholder({.shape = {None, 8}}),
               unknown = placeholder({.shape = {None, None}}),
               doubles = placeholder({.shape = {None, 40}, .dtype = "float64"}),
               few = placeholder({.shape = {500, 1000}}),
               wide = placeholder({.shape = {20, 50000}});
  const struct {
    const char* name;
    Tensor x, y;
    bool fetches;
  } rows[] = {
      {"far rows", far, softmax(far), true},
      {"rows of unknown size", unknown, softmax(unknown), true},
      {"rows of float64", doubles, softmax(doubles), true},
      {"rows that share lines", near, softmax(near), false},
      {"one loop for each row", far, sum(far, {.axis = {1}}), false},
      {"columns", far, softmax(far, {.axis = 0}), true},
      {"columns of few elements", few, softmax(few, {.axis = 0}), false},
      {"columns of few rows", wide, softmax(wide, {.axis = 0}), false},
      {"columns of rows that share lines", near, softmax(near, {.axis = 0}), false},
      {"elements", far, tanh(far), false},
  };
  int number = 0;
  for (const auto& row : rows) {
    INFO(row.name);
    const std::string folder = scratch.path("dump" + std::to_string(number++));
    const Function compiled = function(
        {row.x}, {row.y}, {.backend = "cpu", .dump = folder, .dump_stages = Stage::Kernels});
    const std::string schedule = contents_of(folder + "/54-schedule.txt");
    CHECK(schedule.find(" along i") != std::string::npos);
    CHECK((schedule.find("; prefetch ") != std::string::npos) == row.fetches);
  }
}

TEST_CASE("prefetch: gathered rows of a large table are fetched ahead, and no others") {
  const Scratch scratch;
  const Tensor i = placeholder({.shape = {None}, .dtype = "int32"}),
               pairs = placeholder({.shape = {None, 2}, .dtype = "int64"}),
               large = placeholder({.shape = {50000, 64}}),
               small = placeholder({.shape = {50, 64}}),
               unknown = placeholder({.shape = {None, None}}),
               list = placeholder({.shape = {None}});
  const struct {
    const char* name;
    std::vector<Tensor> inputs;
    Tensor y;
    bool fetches;
  } rows[] = {
      {"a large table", {large, i}, gather(large, i), true},
      {"two indices a row", {large, pairs}, gather(large, pairs), true},
      {"an index that is computed", {large, i}, gather(large, i * 2 + 1), true},
      {"a table of unknown size", {unknown, i}, gather(unknown, i), true},
      {"a small table", {small, i}, gather(small, i), false},
      {"single elements", {list, i}, gather(list, i), false},
  };
  int number = 0;
  for (const auto& row : rows) {
    INFO(row.name);
    const std::string folder = scratch.path("dump" + std::to_string(number++));
    const Function compiled = function(
        row.inputs, {row.y}, {.backend = "cpu", .dump = folder, .dump_stages = Stage::Kernels});
    const std::string schedule = contents_of(folder + "/54-schedule.txt");
    CHECK(schedule.find(" along i") != std::string::npos);
    CHECK((schedule.find("; prefetch ") != std::string::npos) == row.fetches);
  }
}

TEST_CASE("prefetch: fewer gathered rows than are fetched ahead, and a bad last index") {
  const Tensor table = placeholder({.shape = {None, 20}});
  const Tensor i = placeholder({.shape = {None}, .dtype = "int32"});
  const Function fast = function({table, i}, {gather(table, i)}, {.backend = "cpu"});
  std::vector<float> values(300 * 20);
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<float>(k);
  const Array fed(values, {300, 20});
  for (const std::int32_t count : {0, 1, 2, 7, 8, 9, 100}) {
    INFO(count);
    std::vector<std::int32_t> chosen;
    for (std::int32_t k = 0; k < count; ++k) chosen.push_back(k * 131 % 300);
    const Array got = fast({fed, Array(chosen, {count})})[0];
    REQUIRE(got.dims() == std::vector<std::int64_t>{count, 20});
    for (std::int32_t k = 0; k < count; ++k) {
      for (std::int32_t j = 0; j < 20; ++j) {
        REQUIRE(got.as<float>()[static_cast<std::size_t>(k * 20 + j)] ==
                static_cast<float>(k * 131 % 300 * 20 + j));
      }
    }
    chosen.push_back(std::numeric_limits<std::int32_t>::min());
    REQUIRE_THROWS_WITH(fast({fed, Array(chosen, {count + 1})}),
                        Catch::Matchers::ContainsSubstring("-2147483648"));
  }
}

TEST_CASE("prefetch: rows of any size, also at the end of memory") {
  const Tensor x = placeholder({.shape = {None, None}});
  const Tensor y = softmax(x);
  const Function fast = function({x}, {y}, {.backend = "cpu"});
  const Function plain = function({x}, {y}, {.backend = "reference"});
  std::minstd_rand generator(1);
  std::uniform_real_distribution<float> uniform(-3, 3);
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{1, 70'000},
                                      {2, 5'000},
                                      {7, 129},
                                      {5, 64},
                                      {300, 3},
                                      {1, 1},
                                      {0, 5},
                                      {4, 0}}) {
    INFO(rows << " x " << columns);
    std::vector<float> values(static_cast<std::size_t>(rows * columns));
    for (float& value : values) value = uniform(generator);
    const Array fed(values, {rows, columns});
    const Array got = fast({fed})[0], want = plain({fed})[0];
    REQUIRE(got.size() == want.size());
    for (std::size_t i = 0; i < static_cast<std::size_t>(got.size()); ++i) {
      const float right = want.as<float>()[i];
      REQUIRE(std::abs(got.as<float>()[i] - right) <= 2e-6f * right);
    }
  }
}
