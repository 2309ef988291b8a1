// Both orders in one function.
#include "tests/distributed/collectives/gradient_rows.h"
#include "tests/distributed/collectives/joint_loss.h"

#include <cmath>

namespace K = kiln;
namespace D = kiln::distributed;

namespace kiln::testing {
namespace {

/// Distinct values, of which the first four are shared by all ranks and the next four by two.
RankArrays values_with_ties(std::int64_t ranks) {
  RankArrays all;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    Array x = Array::zeros({ranks, 2 * ranks}, DType::Float64);
    const auto elements = x.as<double>();
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const std::int64_t place = i < 4 ? 0 : i < 8 ? std::min<std::int64_t>(rank, 1) : rank;
      elements[i] = 0.3 + 0.05 * static_cast<double>(i % 7) + 0.1 * static_cast<double>(place);
      if (i % 2 == 1) elements[i] = 1 - elements[i];
    }
    all.push_back(x);
  }
  return all;
}

RankArrays directions(const RankArrays& x) {
  RankArrays all = x;
  for (std::size_t rank = 0; rank < x.size(); ++rank) {
    for (double& element : all[rank].as<double>()) {
      element = std::sin(11 * element + static_cast<double>(rank));
    }
  }
  return all;
}

void expect_near(Faults& faults, const std::string& subject, const Array& found,
                 const Array& expected) {
  double most = 1, difference = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    most = std::max(most, std::fabs(expected.as<double>()[at]));
    difference =
        std::max(difference, std::fabs(found.as<double>()[at] - expected.as<double>()[at]));
  }
  const bool is_near = found.dims() == expected.dims() && difference < 1e-6 * most;
  faults.expect(is_near, subject + ": " + printed(found) + " is not " + printed(expected));
}

/// Gradients of both orders for each of the collectives.
K::Function gradient_function(const std::vector<DifferentiableCollective>& collectives,
                              const Shape& shape, const char* backend) {
  const auto x = K::placeholder({.shape = shape, .dtype = "float64"});
  const auto direction = K::placeholder({.shape = shape, .dtype = "float64"});
  const auto factor = K::placeholder({.shape = {}, .dtype = "float64"});
  std::vector<K::Tensor> results;
  for (const DifferentiableCollective& collective : collectives) {
    const auto y = collective.call(combined_value(x));
    std::vector<std::int64_t> dims;
    for (const auto& dim : K::int_shape(y)) dims.push_back(*dim);
    const auto factors = K::constant(loss_factors(dims), {.dtype = "float64"});
    const auto loss = factor * K::sum(factors * y * y * y);
    const auto gradient = K::gradients(loss, {x})[0];
    results.push_back(gradient);
    results.push_back(K::gradients(K::sum(direction * gradient), {x})[0]);
  }
  return K::function({x, direction, factor}, results, {.backend = backend});
}

}  // namespace

std::string run_gradient_rows(const fake::Settings& settings,
                              std::span<const char* const> backends) {
  const RankArrays x = values_with_ties(settings.ranks), direction = directions(x);
  const auto collectives = differentiable_collectives(x);
  std::vector<RankArrays> expected;
  for (const DifferentiableCollective& collective : collectives) {
    expected.push_back(joint_gradients(collective, x));
    expected.push_back(joint_second_gradients(collective, x, direction));
  }
  return run_sessions(settings, [&](const D::Group& world) {
    Faults faults;
    const auto rank = static_cast<std::size_t>(world.rank());
    for (const char* backend : backends) {
      const auto function = gradient_function(collectives, x[0].dims(), backend);
      const auto found = function({x[rank], direction[rank], K::Array(1. + world.rank())});
      for (std::size_t i = 0; i < found.size(); ++i) {
        expect_near(faults,
                    std::string(collectives[i / 2].name) + " on " + backend + ", order " +
                        std::to_string(1 + i % 2),
                    found[i], expected[i][rank]);
      }
    }
    return faults.text();
  });
}

}  // namespace kiln::testing
