// Runs rows (row.h): values with known and with unknown sizes, gradients, errors.
#include "tests/k/row.h"

#include "core/types/text.h"
#include "tests/support/build_folder.h"
#include "tests/support/catch.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>

namespace kiln::test {
namespace {

std::string backend_file(const std::string& name) {
  return testing::build_folder() + "/lib/libkiln_" + name + ".so";
}

const std::string& oracle_backend() {
  static const std::string name = load_backend(backend_file("reference"));
  return name;
}

Function compile(const Tensors& inputs, const Tensors& outputs) {
  return function(inputs, outputs, {.backend = tested_backend()});
}

Function compile_as_written(const Tensors& inputs, const Tensors& outputs) {
  return function(inputs, outputs, {.backend = oracle_backend(), .optimize = false});
}

/// The allowed difference of two orders of computation, relative to the largest element.
double rounding_of(DType dtype) {
  switch (dtype) {
    case DType::Float64: return 1e-10;
    case DType::Float32: return 1e-4;
    case DType::Float16: return 1e-2;
    case DType::BFloat16: return 6e-2;
    default: return 0;
  }
}

double largest_finite(const Array& array) {
  double largest = 0;
  const Array wide = array.astype(DType::Float64);
  for (const double element : wide.as<double>()) {
    if (std::isfinite(element)) largest = std::max(largest, std::abs(element));
  }
  return largest;
}

/// Unless `known_dims`, every size but 1 is None, since only a literal 1 broadcasts.
Tensors placeholders(const std::vector<Array>& inputs, bool known_dims) {
  Tensors x;
  for (const Array& input : inputs) {
    std::vector<ShapeEntry> shape;
    for (const std::int64_t size : input.dims()) {
      shape.push_back(known_dims || size == 1 ? ShapeEntry(size) : ShapeEntry(None));
    }
    x.push_back(placeholder({.shape = shape, .dtype = input.dtype(), .name = text("x", x.size())}));
  }
  return x;
}

void check_value(const Row& row, bool known_dims) {
  INFO("row: " << row.name << (known_dims ? "" : ", unknown dims"));
  const Tensors x = placeholders(row.inputs, known_dims);
  const Tensor y = row.build(x);
  const Array result = compile(x, {y})(row.inputs)[0];
  CHECK(difference(result, row.expected, row.tolerance) == "");
  INFO("as written");
  const Array oracle = compile_as_written(x, {y})(row.inputs)[0];
  CHECK(difference(oracle, row.expected, row.tolerance) == "");
  if (known_dims) {
    CHECK(int_shape(y) == std::vector<std::optional<std::int64_t>>(row.expected.dims().begin(),
                                                                   row.expected.dims().end()));
  }
}

/// A random array that depends on the seed alone.
Array drawn(const std::vector<std::int64_t>& dims, double low, double high, unsigned seed) {
  std::mt19937_64 generator(seed);
  Array array = Array::zeros(dims, DType::Float64);
  for (double& element : array.as<double>()) {
    // Computed here, since distributions differ between standard libraries.
    const double unit = static_cast<double>(generator() >> 11) * 0x1p-53;
    element = low + (high - low) * unit;
  }
  return array;
}

Array moved(const Array& x, const Array& direction, double step) {
  Array result = x;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    result.as<double>()[at] = x.as<double>()[at] + step * direction.as<double>()[at];
  }
  return result;
}

Tensor fixed(const Array& value) { return constant(value, {.dtype = "float64"}); }

/// The derivative of a scalar along directions: the sum over the inputs of gradient * direction.
Tensor along(const Tensor& scalar, const Tensors& x, const std::vector<Array>& directions) {
  Tensor sum_of_all = fixed(0.0);
  const Tensors gradient = gradients(scalar, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (gradient[i].empty()) continue;
    sum_of_all = sum_of_all + sum(gradient[i] * fixed(directions[i]));
  }
  return sum_of_all;
}

}  // namespace

Array counted(std::vector<std::int64_t> dims) {
  Array array = Array::zeros(std::move(dims));
  const auto elements = array.as<float>();
  std::iota(elements.begin(), elements.end(), 0.0f);
  return array;
}

const Array& m23() {
  static const Array array = counted({2, 3});
  return array;
}

const Array& mixed_signs() {
  static const Array array = f32({2, 3}, {-2, -0.5, 0, 0.5, 1, 3});
  return array;
}

Array pattern(std::vector<std::int64_t> dims, std::int64_t factor, std::int64_t modulus) {
  Array array = Array::zeros(std::move(dims));
  std::int64_t i = 0;
  for (float& element : array.as<float>()) {
    element = static_cast<float>(i++ * factor % modulus - modulus / 2);
  }
  return array;
}

const std::string& tested_backend() {
  static const std::string name = [] {
    const char* set = std::getenv("KILN_TEST_BACKEND");
    const std::string chosen = set && *set ? set : "reference";
    if (chosen.find('/') != std::string::npos) return load_backend(chosen);
    return load_backend(backend_file(chosen));
  }();
  return name;
}

std::string difference(const Array& actual, const Array& expected, double tolerance) {
  if (actual.dtype() != expected.dtype()) {
    return text("dtype ", actual.dtype(), " is not ", expected.dtype());
  }
  if (actual.dims() != expected.dims()) {
    return text("dims (", join_text(actual.dims()), ") are not (", join_text(expected.dims()), ")");
  }
  const Array a = actual.astype(DType::Float64), b = expected.astype(DType::Float64);
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.size()); ++i) {
    const double have = a.as<double>()[i], want = b.as<double>()[i];
    if (have == want || (std::isnan(have) && std::isnan(want))) continue;
    if (std::abs(have - want) <= tolerance * (1 + std::abs(want)) && std::isfinite(want)) continue;
    return text("element ", i, " is ", have, ", not ", want);
  }
  return "";
}

std::vector<Array> evaluate(const Tensors& inputs, const Tensors& outputs,
                            const std::vector<Array>& feeds) {
  const std::vector<Array> found = compile(inputs, outputs)(feeds);
  const std::vector<Array> oracle = compile_as_written(inputs, outputs)(feeds);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    INFO("output " << i << " beside the oracle");
    const double scale = rounding_of(oracle[i].dtype()) * (1 + largest_finite(oracle[i]));
    CHECK(difference(found[i], oracle[i], scale) == "");
  }
  return found;
}

void run(const Row& row) {
  check_value(row, true);
  check_value(row, false);
}

void run(const std::vector<Row>& rows) {
  for (const Row& row : rows) run(row);
}

namespace {

/// The row's loss and its derivatives along `directions`.
Tensors derivatives(const SmoothRow& row, const Tensors& x, const std::vector<Array>& directions,
                    const Array& upstream) {
  const Tensor loss = sum(row.build(x) * fixed(upstream));
  const Tensor first = along(loss, x, directions), second = along(first, x, directions);
  return {loss, first, second};
}

}  // namespace

void run(const SmoothRow& row) {
  INFO("row: " << row.name);
  std::vector<Array> values, directions;
  for (const auto& dims : row.inputs) {
    const auto seed = static_cast<unsigned>(values.size());
    values.push_back(drawn(dims, row.low, row.high, seed + 1));
    directions.push_back(drawn(dims, -1, 1, seed + 100));
  }
  const Tensors x = placeholders(values, true);
  std::vector<std::int64_t> dims;
  for (const auto& size : int_shape(row.build(x))) dims.push_back(*size);
  const Array upstream = drawn(dims, -1, 1, 1000);
  const Tensors results = derivatives(row, x, directions, upstream);
  const Function f = compile(x, results);
  const auto at = [&](double step) {
    std::vector<Array> inputs;
    for (std::size_t i = 0; i < values.size(); ++i) {
      inputs.push_back(moved(values[i], directions[i], step));
    }
    return f(inputs);
  };
  constexpr double kStep = 1e-5;
  const auto here = at(0), before = at(-kStep), after = at(kStep);
  const Tensors y = placeholders(values, false);
  const auto unknown = compile(y, derivatives(row, y, directions, upstream))(values);
  const auto oracle = compile_as_written(x, results)(values);
  for (const std::size_t order : {1u, 2u}) {
    const double slope =
        (after[order - 1].item<double>() - before[order - 1].item<double>()) / (2 * kStep);
    INFO("order " << order);
    CHECK(here[order].item<double>() == Approx(slope).epsilon(1e-6).margin(1e-6));
    CHECK(unknown[order].item<double>() == Approx(here[order].item<double>()).margin(1e-9));
    CHECK(here[order].item<double>() == Approx(oracle[order].item<double>()).margin(1e-9));
  }
}

}  // namespace kiln::test
