// Compares gradients of random programs with finite differences. Backends and passes share gradient
// rules, so that only this shows a wrong rule of an op, of a K function or of a closed body.
#include "tests/support/catch.h"
#include "tests/backends/random_programs/program.h"
#include "tests/backends/random_programs/wanted_seeds.h"

#include <cmath>

using namespace kiln;
using namespace kiln::testing;

namespace {

/// A program's loss, its first and second derivatives along random directions, and the point at
/// which they are taken.
struct Slope {
  Program program;
  std::vector<Array> directions;  // of each differentiable tensor
  Function function;  // returns the loss and its derivatives
};

Array random_direction(Draw& draw, const std::vector<std::int64_t>& dims) {
  Array direction = Array::zeros(dims, DType::Float64);
  for (double& element : direction.as<double>()) element = draw.between(-1, 1);
  return direction;
}

/// The sum over all tensors of gradient times direction.
Tensor along(const Tensor& scalar, const Slope& slope) {
  const std::vector<Tensor> x = slope.program.differentiable();
  const std::vector<Tensor> dx = gradients(scalar, x);
  Tensor total = constant(0.0, {.dtype = "float64"});
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (dx[i].empty()) continue;
    total = total + sum(dx[i] * constant(slope.directions[i], {.dtype = "float64"}));
  }
  return total;
}

Slope slope_of(std::uint64_t seed, int order) {
  Slope slope{random_loss(seed), {}, {}};
  const Program& program = slope.program;
  Draw draw(seed + 1);
  const auto add = [&](const Array& x) {
    slope.directions.push_back(random_direction(draw, x.dims()));
  };
  for (std::size_t i = 0; i < program.feeds.size(); ++i) {
    if (!program.is_exact[i]) add(program.feeds[i]);
  }
  for (const Array& start : program.starts) add(start);
  std::vector<Tensor> results{program.loss};
  for (int i = 0; i < order; ++i) results.push_back(along(results.back(), slope));
  slope.function = function(program.inputs, results, {.backend = "reference", .optimize = false});
  return slope;
}

Array moved(const Array& x, const Array& direction, double step) {
  Array result = x;
  const auto elements = result.as<double>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    elements[i] += step * direction.as<double>()[i];
  }
  return result;
}

/// The loss and its derivatives at `step` along the directions.
std::vector<double> at(const Slope& slope, double step) {
  const Program& program = slope.program;
  std::vector<Array> feeds = program.feeds;
  std::size_t next = 0;
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    if (!program.is_exact[i]) feeds[i] = moved(feeds[i], slope.directions[next++], step);
  }
  for (std::size_t i = 0; i < program.variables.size(); ++i) {
    set_value(program.variables[i], moved(program.starts[i], slope.directions[next++], step));
  }
  set_random_seed(1);  // the same draws in every call
  std::vector<double> results;
  for (const Array& result : slope.function(feeds)) results.push_back(result.item<double>());
  return results;
}

/// Whether result `i + 1` is the derivative of result `i`. A step across a jump or a kink proves
/// nothing, so several step sizes are tried; a wrong derivative agrees with none of them.
bool is_derivative(const Slope& slope, std::size_t i, double derivative) {
  for (const double step : {1e-5, 1e-6, 1e-4, 1e-7}) {
    const double difference = (at(slope, step)[i] - at(slope, -step)[i]) / (2 * step);
    UNSCOPED_INFO("difference at steps of " << step << ": " << difference);
    if (std::fabs(difference - derivative) <= 2e-5 * (1 + std::fabs(derivative))) return true;
  }
  return false;
}

/// Whether the program has a derivative at all.
bool check_seed(std::uint64_t seed, int order) {
  clear_session();
  set_random_seed(static_cast<std::int64_t>(seed));
  const Slope slope = slope_of(seed, order);
  INFO("seed " << seed << ": " << slope.program.text);
  const std::vector<double> here = at(slope, 0);
  for (std::size_t i = 0; i + 1 < here.size(); ++i) {
    INFO("derivative of order " << i + 1 << ": " << here[i + 1]);
    REQUIRE(std::isfinite(here[i + 1]));
    CHECK(is_derivative(slope, i, here[i + 1]));
  }
  return here[1] != 0;
}

int order_of(std::uint64_t seed) { return seed % 4 == 0 ? 2 : 1; }

void check_seeds(std::uint64_t first, std::uint64_t count) {
  std::uint64_t sloping = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    sloping += check_seed(seed, order_of(seed)) ? 1 : 0;
  }
  CHECK(10 * sloping >= 8 * count);
}

}  // namespace

TEST_CASE("gradients of random programs agree with finite differences") { check_seeds(0, 150); }

TEST_CASE("gradients of random programs agree with finite differences, many seeds", "[matrix]") {
  check_seeds(150, 2000);
}

TEST_CASE("gradients of KILN_RANDOM_PROGRAMS agree with finite differences", "[.][gradients]") {
  const Seeds seeds = wanted_seeds();
  for (std::uint64_t i = 0; i < seeds.count; ++i) {
    check_seed(seeds.first + i, order_of(seeds.first + i));
  }
}
