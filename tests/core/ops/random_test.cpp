// Tests draws: golden values of Philox 4x32-10 from its authors' known-answer test, and statistics.
#include "tests/support/catch.h"
#include "tests/core/ops/evaluate.h"

#include "core/ops/build.h"

#include <algorithm>
#include <cmath>

using namespace kiln;
using namespace kiln::test;

namespace {

ir::Value draw(DType dtype, const ir::Dims& dims, std::int64_t seed, std::int64_t position = 0,
               std::int64_t stream = 0) {
  const ir::RandomAttrs attrs{.type = {dtype, dims}, .seed = seed, .stream = stream};
  return ir::make(ir::Op::RandomUniform, attrs, {ir::scalar_constant_int(DType::Int64, position)});
}
ir::Value draw(DType dtype, std::int64_t count, std::int64_t seed, std::int64_t position = 0) {
  return draw(dtype, ir::Dims{count}, seed, position);
}

}  // namespace

TEST_CASE("draws: the documented layout") {
  // Philox 4x32-10 with key 0 and counter 0 gives 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
  const Array x = evaluate({}, {draw(DType::Float32, 1, 0)}, {})[0];
  CHECK(x.item<float>() == static_cast<float>(0x6627e8) * 0x1p-24f);
  const Array wide = evaluate({}, {draw(DType::Float64, 1, 0)}, {})[0];
  CHECK(wide.item<double>() == static_cast<double>(0x6627e8d5e169c58dull >> 11) * 0x1p-53);
  // The next stream has the other two words of the block; the one after it has another block.
  const ir::Dims one{1};
  const Array odd = evaluate({}, {draw(DType::Float32, one, 0, 0, 1)}, {})[0];
  CHECK(odd.item<float>() == static_cast<float>(0xbc57ac) * 0x1p-24f);
  const Array odd_wide = evaluate({}, {draw(DType::Float64, one, 0, 0, 1)}, {})[0];
  CHECK(odd_wide.item<double>() == static_cast<double>(0xbc57ac4c9b00dbd8ull >> 11) * 0x1p-53);
  const Array next = evaluate({}, {draw(DType::Float32, one, 0, 0, 2)}, {})[0];
  CHECK(next.item<float>() != x.item<float>());
}

TEST_CASE("draws: streams of one block are independent") {
  const std::int64_t n = 20000;
  const auto x = doubles(evaluate({}, {draw(DType::Float32, ir::Dims{n}, 1)}, {})[0]);
  const auto y = doubles(evaluate({}, {draw(DType::Float32, ir::Dims{n}, 1, 0, 1)}, {})[0]);
  double products = 0;
  for (std::size_t i = 0; i < x.size(); ++i) products += (x[i] - 0.5) * (y[i] - 0.5);
  CHECK(products / static_cast<double>(n) * 12 == Approx(0).margin(0.03));
}

TEST_CASE("draws: uniform, repeatable, and different by seed and position") {
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

TEST_CASE("draws: any shape has the draws of as many elements in one row") {
  const auto flat = doubles(evaluate({}, {draw(DType::Float32, 1920, 3)}, {})[0]);
  for (const ir::Dims& dims : {ir::Dims{640, 3}, {5, 1, 384}, {64, 5, 2, 3}, {2, 3, 4, 5, 16}}) {
    CHECK(doubles(evaluate({}, {draw(DType::Float32, dims, 3)}, {})[0]) == flat);
  }
  // With other operands, along other axes, in sums of rows and of columns.
  const ir::Value x = draw(DType::Float32, {64, 10, 3}, 3);
  std::vector<float> numbers{1, 2, 4};
  const ir::Value steps = placeholder({DType::Float32, {3}});
  const ir::Value scaled = x * ir::broadcast(steps, x.dims(), {2});
  const auto results = evaluate({steps},
                                {scaled, ir::permute(x, {2, 0, 1}), ir::reduce_max(x, {1, 2}),
                                 ir::reduce_max(x, {0}), ir::reverse(x, {1})},
                                {Array(numbers)});
  for (std::int64_t i = 0; i < 64; ++i) {
    double row = 0;
    for (std::int64_t j = 0; j < 10; ++j) {
      for (std::int64_t k = 0; k < 3; ++k) {
        const auto at = static_cast<std::size_t>((i * 10 + j) * 3 + k);
        const double expected = flat[at];
        row = std::max(row, expected);
        CHECK(results[0].at<float>(i, j, k) == expected * (1 << k));
        CHECK(results[1].at<float>(k, i, j) == expected);
        CHECK(results[4].at<float>(i, 9 - j, k) == expected);
        CHECK(results[3].at<float>(j, k) >= expected);
      }
    }
    CHECK(results[2].at<float>(i) == row);
  }
}
