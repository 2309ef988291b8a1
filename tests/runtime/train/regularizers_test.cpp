// Tests kiln/regularizers.h against plain loops, and its misuse.
#include "tests/support/catch.h"
#include "tests/support/misuse.h"

#include <kiln/train.h>

#include <cmath>

namespace kiln {

TEST_CASE("regularizers: penalties are those of plain loops") {
  const std::vector<double> values{1, -2, 0.5, 3, 0, -1};
  const auto w = variable(Array(values, {3, 2}), {.dtype = "float64"});
  double sum = 0, squares = 0;
  for (const double x : values) sum += std::abs(x), squares += x * x;
  const auto penalty = [&](const Regularizer& regularizer) {
    return eval(regularizer(w)).item<double>();
  };
  CHECK(penalty(regularizers::L1()) == Approx(0.01 * sum));
  CHECK(penalty(regularizers::L2()) == Approx(0.01 * squares));
  CHECK(penalty(regularizers::L1L2({.l1 = 0.3, .l2 = 0.2})) == Approx(0.3 * sum + 0.2 * squares));
  for (const bool is_rows : {true, false}) {
    const std::size_t count = is_rows ? 3 : 2, size = is_rows ? 2 : 3;
    const auto at = [&](std::size_t i, std::size_t k) {
      return is_rows ? values[i * 2 + k] : values[k * 2 + i];
    };
    const auto dot = [&](std::size_t i, std::size_t j) {
      double products = 0;
      for (std::size_t k = 0; k < size; ++k) products += at(i, k) * at(j, k);
      return products;
    };
    double mean = 0;
    const double pairs = static_cast<double>(count * (count - 1) / 2);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        mean += std::abs(dot(i, j)) / std::sqrt(dot(i, i) * dot(j, j)) / pairs;
      }
    }
    const char* mode = is_rows ? "rows" : "columns";
    const auto regularizer = regularizers::OrthogonalRegularizer({.factor = 0.2, .mode = mode});
    CHECK(penalty(regularizer) == Approx(0.2 * mean));
  }
}

TEST_CASE("regularizers: sums of float16 and bfloat16 are computed in float32") {
  for (const char* type : {"float16", "bfloat16"}) {
    INFO(type);
    const Tensor w = cast(constant({300., 400.}), type);  // 300^2 is beyond float16
    const Tensor result = regularizers::L1L2({.l1 = 0.01, .l2 = 0.01})(w);
    CHECK(dtype(result) == type);
    CHECK(eval(cast(result, "float32")).item<float>() == Approx(2507).epsilon(4e-3));
    CHECK(eval(cast(regularizers::L2()(w), "float32")).item<float>() == Approx(2500).epsilon(4e-3));
  }
}

TEST_CASE("regularizers: misuse") {
  using testing::Misuse, testing::throws;
  namespace reg = regularizers;
  testing::run(std::vector<Misuse>{
      {throws<ValueError>(), [] { reg::L1({.l1 = -1}); }, "L1: l1 -1 is negative or not finite"},
      {throws<ValueError>(), [] { reg::L2({.l2 = NAN}); }, "L2: l2 nan is negative or not finite"},
      {throws<ValueError>(), [] { reg::L1L2({.l2 = -1}); },
       "L1L2: l2 -1 is negative or not finite"},
      {throws<ValueError>(), [] { reg::OrthogonalRegularizer({.mode = "row"}); },
       "OrthogonalRegularizer: unknown mode 'row': expected rows or columns"}});
}

TEST_CASE("regularizers: errors of a call have the line that made the regularizer") {
  using testing::Misuse, testing::throws;
  namespace reg = regularizers;
  const Tensor flags = placeholder({.shape = {2}, .dtype = "bool"});
  const Tensor vector = placeholder({.shape = {2}});
  const Tensor rows = placeholder({.shape = {None, 2}});
  testing::run(std::vector<Misuse>{
      {throws<TypeError>(), [=] { reg::L1()(flags); }, "L1: x is bool, not a number (x bool[2])"},
      {throws<TypeError>(), [=] { reg::L2()(flags); }, "L2: x is bool, not a number (x bool[2])"},
      {throws<TypeError>(), [=] { reg::L1L2()(flags); },
       "L1L2: x is bool, not a number (x bool[2])"},
      {throws<ValueError>(), [=] { reg::OrthogonalRegularizer()(vector); },
       "OrthogonalRegularizer: a variable of rank 2 is required, not float32[2]"},
      {throws<ValueError>(), [=] { reg::OrthogonalRegularizer()(rows); },
       "OrthogonalRegularizer: a size of float32[None,2] is unknown"}});
}

}  // namespace kiln
