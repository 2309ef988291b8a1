// Compares relu under every combination of its options and every dtype with plain loops.
#include "tests/support/catch.h"
#include "tests/k/row.h"

#include "core/types/text.h"

#include <cmath>

namespace kiln::test {
namespace {

const std::vector<double> kNumbers{
    -4,  -3, -2.5, -2, -1, -0.5,          -0.25,        0,           0.25, 0.5, 1,
    1.5, 2,  3,    4,  8,  -double{kInf}, double{kInf}, double{kNaN}};

struct Expected {
  double value, slope;
};

/// The specification, for one number.
Expected plain_relu(double x, const ReluOptions& options) {
  const double t = options.threshold;
  if (t == 0 ? x <= 0 : x < t) {
    if (options.alpha == 0) return {0, 0};
    return {options.alpha * (x - t), options.alpha};
  }
  if (!options.max_value || std::isnan(x)) return {x, 1};
  const double high = std::fmax(*options.max_value, 0);
  if (x > high) return {high, 0};
  if (x < 0) return {0, 0};
  return {x, 1};
}

std::vector<ReluOptions> all_options() {
  std::vector<ReluOptions> all;
  for (const double threshold : {-2., -0.5, 0., 1., 3.}) {
    for (const double alpha : {0., 0.5, 2., -1.}) {
      for (const std::optional<double> max_value :
           {std::optional<double>(), std::optional(0.), std::optional(2.), std::optional(0.5),
            std::optional(-1.), std::optional(double{kInf})}) {
        all.push_back({.alpha = alpha, .max_value = max_value, .threshold = threshold});
      }
    }
  }
  return all;
}

/// Whether the dtype holds the options and their results.
bool suits(DType dtype, const ReluOptions& options) {
  if (is_float(dtype)) return true;
  for (const double number : {options.threshold, options.alpha, options.max_value.value_or(0)}) {
    if (number != std::trunc(number) || std::isinf(number)) return false;
    if (dtype >= DType::UInt8 && number < 0) return false;
  }
  return true;
}

void check(DType dtype, const ReluOptions& options) {
  INFO(dtype_name(dtype) << " alpha " << options.alpha << " threshold " << options.threshold
                         << " max_value " << options.max_value.value_or(kNaN));
  std::vector<double> numbers, values, slopes;
  for (const double number : kNumbers) {
    const bool is_whole = number == std::trunc(number) && std::isfinite(number);
    if (!is_float(dtype) && (!is_whole || (dtype >= DType::UInt8 && number < 0))) continue;
    const Expected expected = plain_relu(number, options);
    if (!is_float(dtype) && dtype >= DType::UInt8 && expected.value < 0) continue;
    numbers.push_back(number);
    values.push_back(expected.value);
    slopes.push_back(expected.slope);
  }
  const Tensor x = placeholder({.shape = {None}, .dtype = dtype});
  const Tensor y = relu(x, options);
  Tensors outputs{y};
  if (is_float(dtype)) outputs.push_back(gradients(sum(y), {x})[0]);
  const auto found =
      function({x}, outputs, {.backend = tested_backend()})({Array(numbers).astype(dtype)});
  CHECK(difference(found[0], Array(values).astype(dtype), 0) == "");
  if (!is_float(dtype)) return;
  // The gradient at NaN is not specified.
  CHECK(difference(Array(std::vector<double>(slopes.begin(), slopes.end() - 1)).astype(dtype),
                   eval(constant(found[1], {.dtype = dtype}).slice({}, -1)), 0) == "");
}

}  // namespace

TEST_CASE("relu: all combinations of its options, in every dtype", "[k]") {
  for (const DType dtype :
       {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64, DType::Int8, DType::Int16,
        DType::Int32, DType::Int64, DType::UInt8, DType::UInt16, DType::UInt32, DType::UInt64}) {
    for (const ReluOptions& options : all_options()) {
      if (suits(dtype, options)) check(dtype, options);
    }
  }
}

}  // namespace kiln::test
