// Draws: golden values of Philox 4x32-10 from the known-answer test of its authors, and statistics.
#include "tests/catch.h"
#include "tests/ops/evaluate.h"

#include "core/ops/build.h"

#include <cmath>

using namespace kiln;
using namespace kiln::test;

namespace {

ir::Value draw(DType dtype, std::int64_t count, std::int64_t seed, std::int64_t position = 0) {
  return ir::make(ir::Op::RandomUniform, ir::RandomAttrs{{dtype, {count}}, seed, 0},
                  {ir::scalar_constant_int(DType::Int64, position)});
}

}  // namespace

TEST_CASE("draws follow the documented layout") {
  // Philox 4x32-10 with key 0 and counter 0 gives 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
  const Array x = evaluate({}, {draw(DType::Float32, 1, 0)}, {})[0];
  CHECK(x.item<float>() == static_cast<float>(0x6627e8) * 0x1p-24f);
  const Array wide = evaluate({}, {draw(DType::Float64, 1, 0)}, {})[0];
  CHECK(wide.item<double>() == static_cast<double>(0x6627e8d5e169c58dull >> 11) * 0x1p-53);
}

TEST_CASE("draws are uniform, repeatable and differ by seed and position") {
  const std::int64_t n = 20000;
  const auto values = doubles(evaluate({}, {draw(DType::Float32, n, 1)}, {})[0]);
  double sum = 0, squares = 0;
  for (double v : values) {
    REQUIRE((v >= 0 && v < 1));
    sum += v;
    squares += v * v;
  }
  const double mean = sum / static_cast<double>(n);
  CHECK(mean == Approx(0.5).margin(0.01));
  CHECK(squares / static_cast<double>(n) - mean * mean == Approx(1.0 / 12).margin(0.005));
  CHECK(doubles(evaluate({}, {draw(DType::Float32, n, 1)}, {})[0]) == values);
  CHECK(doubles(evaluate({}, {draw(DType::Float32, n, 2)}, {})[0]) != values);
  CHECK(doubles(evaluate({}, {draw(DType::Float32, n, 1, 5)}, {})[0]) != values);
}
