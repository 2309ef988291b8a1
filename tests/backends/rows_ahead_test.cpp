// Kernels of the cpu backend that go over each row several times fetch the next one meanwhile:
// which ones do, and that no size of a row makes them wrong.
#include "tests/catch.h"
#include "tests/scratch.h"

#include <kiln/k.h>

#include <cmath>
#include <random>

using namespace kiln;
using kiln::testing::contents_of, kiln::testing::Scratch;

TEST_CASE("kernels that go over far rows again fetch the next row, and no other ones") {
  const Scratch scratch;
  const Tensor far = placeholder({.shape = {None, 1000}}), near = placeholder({.shape = {None, 8}}),
               unknown = placeholder({.shape = {None, None}}),
               doubles = placeholder({.shape = {None, 40}, .dtype = "float64"});
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
      {"columns", far, softmax(far, {.axis = 0}), false},
      {"elements", far, tanh(far), false},
  };
  int number = 0;
  for (const auto& row : rows) {
    INFO(row.name);
    const std::string folder = scratch.path("dump" + std::to_string(number++));
    function({row.x}, {row.y}, {.backend = "cpu", .dump = folder, .dump_stages = Stage::LlvmIr});
    const std::string ir = contents_of(folder + "/54-llvm_ir.ll");
    CHECK(ir.find("define ") != std::string::npos);
    CHECK((ir.find("call void @llvm.prefetch") != std::string::npos) == row.fetches);
  }
}

TEST_CASE("rows of any size, at the end of memory, too") {
  const Tensor x = placeholder({.shape = {None, None}});
  const Tensor y = softmax(x);
  const Function fast = function({x}, {y}, {.backend = "cpu"});
  const Function plain = function({x}, {y}, {.backend = "reference"});
  std::minstd_rand generator(1);
  std::uniform_real_distribution<float> uniform(-3, 3);
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{1, 70'000}, {2, 5'000},
                                      {7, 129}, {5, 64}, {300, 3}, {1, 1}, {0, 5}, {4, 0}}) {
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
