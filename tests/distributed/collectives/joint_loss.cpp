// Central differences; the step is a compromise of rounding and truncation for values near 1.
#include "tests/distributed/collectives/joint_loss.h"
#include "tests/distributed/collectives/expected_results.h"

#include <kiln/distributed.h>
#include <kiln/k.h>

#include <algorithm>

namespace kiln::testing {
namespace {

namespace D = kiln::distributed;

constexpr double kStep = 1e-4;

Array extreme_mean(const RankArrays& z, const RankArrays& at, const Array& extreme) {
  Array mean = Array::zeros({z[0].dims().begin(), z[0].dims().end()}, DType::Float64);
  const auto to = mean.as<double>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    double ties = 0;
    for (std::size_t rank = 0; rank < z.size(); ++rank) {
      if (std::as_const(at[rank]).as<double>()[i] != extreme.as<double>()[i]) continue;
      to[i] += z[rank].as<double>()[i];
      ++ties;
    }
    to[i] /= ties;
  }
  return mean;
}

DifferentiableCollective reduction(const char* name, D::Reduction kind, Combination combination,
                                   const RankArrays& at) {
  const auto call = [kind](const Tensor& z) { return D::all_reduce(z, {.reduction = kind}); };
  if (combination == Combination::Sum || combination == Combination::Mean) {
    return {name, call,
            [combination](const RankArrays& z, std::size_t) { return combined(z, combination); }};
  }
  return {name, call, [at, extreme = combined(at, combination)](const RankArrays& z, std::size_t) {
            return extreme_mean(z, at, extreme);
          }};
}

DifferentiableCollective gather(const char* name, int axis) {
  return {name, [axis](const Tensor& z) { return D::all_gather(z, {.axis = axis}); },
          [axis](const RankArrays& z, std::size_t) {
            return concatenated(z, static_cast<std::size_t>(axis));
          }};
}

DifferentiableCollective scatter(const char* name, int axis) {
  return {name, [axis](const Tensor& z) { return D::reduce_scatter(z, {.axis = axis}); },
          [axis](const RankArrays& z, std::size_t rank) {
            return part_of(combined(z, Combination::Sum), static_cast<std::size_t>(axis),
                           static_cast<std::int64_t>(rank), static_cast<std::int64_t>(z.size()));
          }};
}

DifferentiableCollective broadcast_of(const char* name, std::size_t root) {
  return {name, [root](const Tensor& z) { return D::broadcast(z, {.root = root}); },
          [root](const RankArrays& z, std::size_t) { return z[root]; }};
}

/// An array for each rank: its element i is derivative(rank, i).
RankArrays derivatives(const RankArrays& x,
                       const std::function<double(std::size_t, std::size_t)>& derivative) {
  RankArrays all = x;
  for (std::size_t rank = 0; rank < x.size(); ++rank) {
    const auto elements = all[rank].as<double>();
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = derivative(rank, i);
  }
  return all;
}

RankArrays moved(RankArrays x, const RankArrays& direction, double by) {
  for (std::size_t rank = 0; rank < x.size(); ++rank) {
    const auto elements = x[rank].as<double>();
    for (std::size_t i = 0; i < elements.size(); ++i) {
      elements[i] += by * direction[rank].as<double>()[i];
    }
  }
  return x;
}

}  // namespace

Array combined_value(const Array& x) {
  Array z = x;
  for (double& element : z.as<double>()) element = element * element + element;
  return z;
}

Tensor combined_value(const Tensor& x) { return x * x + x; }

Array loss_factors(std::span<const std::int64_t> dims) {
  Array factors = Array::zeros({dims.begin(), dims.end()}, DType::Float64);
  const auto elements = factors.as<double>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    elements[i] = 1 + 0.25 * static_cast<double>(i % 4);
  }
  return factors;
}

std::vector<DifferentiableCollective> differentiable_collectives(const RankArrays& x) {
  RankArrays at;
  for (const Array& array : x) at.push_back(combined_value(array));
  return {reduction("sum", D::Reduction::Sum, Combination::Sum, at),
          reduction("mean", D::Reduction::Mean, Combination::Mean, at),
          reduction("max", D::Reduction::Max, Combination::Max, at),
          reduction("min", D::Reduction::Min, Combination::Min, at),
          gather("all_gather", 0),
          gather("all_gather of columns", 1),
          scatter("reduce_scatter", 0),
          scatter("reduce_scatter of columns", 1),
          broadcast_of("broadcast", 0),
          broadcast_of("broadcast of rank 1", 1)};
}

double joint_loss(const DifferentiableCollective& collective, const RankArrays& x) {
  RankArrays z;
  for (const Array& array : x) z.push_back(combined_value(array));
  double sum = 0;
  for (std::size_t rank = 0; rank < x.size(); ++rank) {
    const Array y = collective.plain(z, rank), factors = loss_factors(y.dims());
    double loss = 0;
    for (std::size_t i = 0; i < factors.as<double>().size(); ++i) {
      const double element = y.as<double>()[i];
      loss += factors.as<double>()[i] * element * element * element;
    }
    sum += static_cast<double>(1 + rank) * loss;
  }
  return sum;
}

RankArrays joint_gradients(const DifferentiableCollective& collective, const RankArrays& x) {
  return derivatives(x, [&](std::size_t rank, std::size_t i) {
    const auto at = [&](double step) {
      RankArrays changed = x;
      changed[rank].as<double>()[i] += step;
      return joint_loss(collective, changed);
    };
    return (at(kStep) - at(-kStep)) / (2 * kStep);
  });
}

RankArrays joint_second_gradients(const DifferentiableCollective& collective, const RankArrays& x,
                                  const RankArrays& direction) {
  const RankArrays after = moved(x, direction, kStep), before = moved(x, direction, -kStep);
  const RankArrays later = joint_gradients(collective, after);
  const RankArrays earlier = joint_gradients(collective, before);
  return derivatives(x, [&](std::size_t rank, std::size_t i) {
    return (later[rank].as<double>()[i] - earlier[rank].as<double>()[i]) / (2 * kStep);
  });
}

}  // namespace kiln::testing
