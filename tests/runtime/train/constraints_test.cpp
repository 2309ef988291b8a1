// Tests kiln/constraints.h against plain loops, and its misuse.
#include "tests/support/catch.h"
#include "tests/support/misuse.h"

#include <kiln/train.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace kiln {
namespace {

using testing::throws;

/// `values` as two columns, each scaled by factor(its norm).
std::vector<double> scaled_columns(const std::vector<double>& values,
                                   const std::function<double(double)>& factor) {
  std::vector<double> scaled(values.size());
  for (std::size_t column = 0; column < 2; ++column) {
    double squares = 0;
    for (std::size_t i = column; i < values.size(); i += 2) squares += values[i] * values[i];
    for (std::size_t i = column; i < values.size(); i += 2) {
      scaled[i] = values[i] * factor(std::sqrt(squares));
    }
  }
  return scaled;
}

const std::vector<double> kValues{3, 0.1, -4, -0.2, 0, 0.2};

}  // namespace

TEST_CASE("constraints: scale each vector by its norm") {
  struct Row {
    const char* name;
    Constraint constraint;
    std::function<double(double)> factor;
  };
  const std::vector<Row> rows{
      {"MaxNorm", constraints::MaxNorm(), [](double n) { return std::min(n, 2.0) / (1e-7 + n); }},
      {"UnitNorm", constraints::UnitNorm(), [](double n) { return 1 / (1e-7 + n); }},
      {"MinMaxNorm", constraints::MinMaxNorm({.min_value = 1, .max_value = 4, .rate = 0.25}),
       [](double n) { return (0.25 * std::clamp(n, 1.0, 4.0) + 0.75 * n) / (1e-7 + n); }}};
  const auto w = variable(Array(kValues, {3, 2}), {.dtype = "float64"});
  for (const Row& row : rows) {
    INFO(row.name);
    const Array result = eval(row.constraint(w));
    const std::vector<double> expected = scaled_columns(kValues, row.factor);
    REQUIRE(result.dims() == std::vector<std::int64_t>{3, 2});
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CHECK(result.as<double>()[i] == Approx(expected[i]).margin(1e-12));
    }
  }
}

TEST_CASE("constraints: norms of float16 and bfloat16 are computed in float32") {
  for (const char* type : {"float16", "bfloat16"}) {
    INFO(type);
    const Tensor w = cast(constant({300., 400.}), type);  // 300^2 is beyond float16
    for (const auto& [constraint, norm] :
         {std::pair(constraints::MaxNorm(), 2.),
          {constraints::UnitNorm(), 1.},
          {constraints::MinMaxNorm({.min_value = 1, .max_value = 5}), 5.}}) {
      const Tensor result = constraint(w);
      CHECK(dtype(result) == type);
      const Array values = eval(cast(result, "float32"));
      CHECK(values.at<float>(0) == Approx(norm * 0.6).epsilon(4e-3));
      CHECK(values.at<float>(1) == Approx(norm * 0.8).epsilon(4e-3));
    }
  }
}

TEST_CASE("constraints: NonNeg keeps NaN, and what is not below 0") {
  const double nan = std::nan("");
  const Array result = eval(constraints::NonNeg()(constant({-1., 0., 2., nan})));
  const auto values = result.as<float>();
  CHECK(values[0] == 0);
  CHECK(values[1] == 0);
  CHECK(values[2] == 2);
  CHECK(std::isnan(values[3]));
}

TEST_CASE("constraints: misuse") {
  using testing::Misuse;
  const double nan = std::nan("");
  testing::run(std::vector<Misuse>{
      {throws<ValueError>(), [] { constraints::MaxNorm({.max_value = -1}); },
       "MaxNorm: max_value -1 is negative or not finite"},
      {throws<ValueError>(), [=] { constraints::MaxNorm({.max_value = nan}); },
       "MaxNorm: max_value nan is negative or not finite"},
      {throws<ValueError>(), [] { constraints::MinMaxNorm({.min_value = 2}); },
       "MinMaxNorm: min_value 2 and max_value 1 are not in order, negative or not finite"},
      {throws<ValueError>(), [] { constraints::MinMaxNorm({.rate = 1.5}); },
       "MinMaxNorm: rate 1.5 is outside [0, 1]"}});
}

TEST_CASE("constraints: errors of a call have the line that made the constraint") {
  const Tensor whole = placeholder({.shape = {2}, .dtype = "int32"});
  const Tensor w = placeholder({.shape = {2}}), flags = placeholder({.shape = {}, .dtype = "bool"});
  testing::run(std::vector<testing::Misuse>{
      {throws<TypeError>(), [=] { constraints::MaxNorm()(whole); },
       "MaxNorm: x is not floating point (x int32[1])"},
      {throws<ValueError>(), [=] { constraints::UnitNorm({.axis = 3})(w); },
       "UnitNorm: axis 3 is out of range for rank 1"},
      {throws<TypeError>(), [=] { constraints::MinMaxNorm()(whole); },
       "MinMaxNorm: x is not floating point (x int32[1])"},
      {throws<TypeError>(), [=] { constraints::NonNeg()(flags); },
       "NonNeg: x is bool, not a number (x bool[], y bool[])"}});
}

}  // namespace kiln
