// Models of tests/runtime/onnx/cases on both backends: outputs as ONNX Runtime computed them, at
// each size of a case from one compiled function, and gradients beside finite differences.
#include "tests/runtime/onnx/case_file.h"
#include "tests/support/catch.h"

#include <kiln/k.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <string>

using namespace kiln;
using kiln::testing::Case;
using kiln::testing::CaseFile;

namespace {

/// The largest difference, relative to max(unit, |expected|); infinity for NaN on one side only.
double difference(const Array& result, const Array& expected, double unit) {
  const Array a = result.astype(DType::Float64), b = expected.astype(DType::Float64);
  double worst = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double x = a.as<double>()[static_cast<std::size_t>(i)];
    const double y = b.as<double>()[static_cast<std::size_t>(i)];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double distance = std::fabs(x - y) / std::max(unit, std::fabs(y));
    worst = std::max(worst, std::isnan(distance) ? INFINITY : distance);
  }
  return worst;
}

double tolerance_of(DType dtype) {
  if (dtype == DType::Float16) return 2e-3;
  if (dtype == DType::BFloat16) return 2e-2;
  return dtype == DType::Float64 ? 1e-9 : 2e-5;
}

/// Numbers below 1 may differ by the tolerance, but in cases of tiny numbers.
void check_equal(const Array& result, const Array& expected, const Case& one) {
  REQUIRE(result.dtype() == expected.dtype());
  REQUIRE(result.dims() == expected.dims());
  const double unit = one.name().ends_with("_tiny") ? 0 : 1;
  CHECK(difference(result, expected, unit) <= tolerance_of(expected.dtype()));
}

/// Bounds of the draws of an operator, by the beginning of a case's name; the first row holds.
const struct {
  const char* name;
  double low, high;
  bool is_whole;
} kDraws[] = {
    {"Bernoulli", 0, 1, true},
    {"Multinomial", 0, 4, true},
    {"RandomNormal_far", 85, 115, false},
    {"RandomNormal", -8, 8, false},
    {"RandomUniform_between", 5, 6, false},
    {"RandomUniform", 0, 1, false},
};

/// Checks that draws have the dtype and the dims of the expected ones, and the bounds of the case.
void check_draws(const Array& result, const Array& expected, const std::string& name) {
  REQUIRE(result.dtype() == expected.dtype());
  REQUIRE(result.dims() == expected.dims());
  const auto law = std::find_if(std::begin(kDraws), std::end(kDraws),
                                [&](const auto& row) { return name.starts_with(row.name); });
  REQUIRE(law != std::end(kDraws));
  const Array draws = result.astype(DType::Float64);
  const double* const begin = draws.as<double>().data();
  const double* const end = begin + draws.size();
  CHECK(std::all_of(begin, end, [&](double draw) {
    return draw >= law->low && draw <= law->high && (!law->is_whole || draw == std::floor(draw));
  }));
  if (!law->is_whole) CHECK(std::set<double>(begin, end).size() > 1);
}

void check_outputs(const Case& one, const std::string& backend) {
  const Model model = one.import_model();
  const Function f = function(model.inputs, model.outputs, {.backend = backend});
  for (std::size_t call = 0; call < one.calls(); ++call) {
    INFO("call " << call << " on " << backend);
    std::vector<Array> fed;
    for (const Tensor& input : model.inputs) fed.push_back(one.input(call, input.name()));
    const std::vector<Array> results = f(fed);
    for (std::size_t i = 0; i < results.size(); ++i) {
      INFO("output " << model.outputs[i].name());
      const Array expected = one.output(call, model.outputs[i].name());
      if (one.is_random()) check_draws(results[i], expected, one.name());
      else check_equal(results[i], expected, one);
    }
  }
}

/// Adds `step` to element i.
Array moved(const Array& x, std::int64_t i, double step) {
  Array copy = x;
  copy.as<float>()[static_cast<std::size_t>(i)] += static_cast<float>(step);
  return copy;
}

/// Central differences of the first output's sum, weighted by cosines so that no symmetry hides an
/// error, on `reference`.
void check_gradients(const Case& one) {
  const Model model = one.import_model();
  const Tensor y = cast(model.outputs[0], "float64");
  const Tensor weights = cos(cast(arange(prod(shape(y))), "float64") + 1.0);
  const Tensor loss = sum(flatten(y) * weights);
  std::vector<Tensor> wrt;
  for (const Tensor& input : model.inputs) {
    if (dtype(input) == "float32") wrt.push_back(input);
  }
  wrt.insert(wrt.end(), model.variables.begin(), model.variables.end());
  std::vector<Tensor> results = gradients(loss, wrt);
  results.insert(results.begin(), loss);
  const Function f = function(model.inputs, results, {.backend = "reference"});
  std::vector<Array> fed;
  for (const Tensor& input : model.inputs) fed.push_back(one.input(0, input.name()));
  const std::vector<Array> at_point = f(fed);
  const auto loss_of = [&](const std::vector<Array>& inputs) {
    return f(inputs)[0].item<double>();
  };
  constexpr double kStep = 1e-2;
  std::size_t next = 1;
  for (std::size_t k = 0; k < fed.size(); ++k) {
    if (fed[k].dtype() != DType::Float32) continue;
    INFO("input " << model.inputs[k].name());
    const Array& gradient = at_point[next++];
    for (std::int64_t i = 0; i < fed[k].size(); ++i) {
      std::vector<Array> low = fed, high = fed;
      low[k] = moved(fed[k], i, -kStep), high[k] = moved(fed[k], i, kStep);
      const double slope = (loss_of(high) - loss_of(low)) / (2 * kStep);
      const double computed = gradient.as<float>()[static_cast<std::size_t>(i)];
      CHECK(std::fabs(slope - computed) <= 2e-2 * std::max(1.0, std::fabs(slope)));
    }
  }
  for (const Variable& variable : model.variables) {
    INFO("variable " << variable.name());
    const Array value = get_value(variable), &gradient = at_point[next++];
    for (std::int64_t i = 0; i < value.size(); ++i) {
      set_value(variable, moved(value, i, kStep));
      const double above = loss_of(fed);
      set_value(variable, moved(value, i, -kStep));
      const double slope = (above - loss_of(fed)) / (2 * kStep);
      set_value(variable, value);
      const double computed = gradient.as<float>()[static_cast<std::size_t>(i)];
      CHECK(std::fabs(slope - computed) <= 2e-2 * std::max(1.0, std::fabs(slope)));
    }
  }
}

void check_group(const std::string& group) {
  const CaseFile file(group);
  for (const std::string& name : file.names()) {
    const Case one = file.find(name);
    DYNAMIC_SECTION(group << " " << name) {
      for (const char* backend : {"reference", "cpu"}) check_outputs(one, backend);
      if (one.has_gradient()) check_gradients(one);
    }
  }
}

}  // namespace

TEST_CASE("ONNX: convolution, pooling, normalisation, padding, resizing") {
  check_group("convolution");
}
TEST_CASE("ONNX: elementwise operators and activations") { check_group("elementwise"); }
TEST_CASE("ONNX: slices, gathers, scatters, selections, control flow") { check_group("indexed"); }
TEST_CASE("ONNX: matmul, recurrent layers, attention, quantisation, losses, signals") {
  check_group("matmul");
}
TEST_CASE("ONNX: movement, constants and shapes") { check_group("movement"); }
TEST_CASE("ONNX: random draws, of the shapes and dtypes of ONNX") { check_group("random"); }
TEST_CASE("ONNX: reductions, running sums and norms") { check_group("reduce"); }
