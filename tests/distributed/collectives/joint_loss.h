// The sum over ranks of a loss that goes through a collective, as plain loops over the operands of
// all ranks, and its derivatives by finite differences.
#pragma once

#include <kiln/array.h>
#include <kiln/tensor.h>

#include <functional>
#include <span>
#include <vector>

namespace kiln::testing {

/// The float64 operands of all ranks, by rank.
using RankArrays = std::vector<Array>;

struct DifferentiableCollective {
  const char* name;
  std::function<Tensor(const Tensor& z)> call;
  /// The result on a rank.
  std::function<Array(const RankArrays& z, std::size_t rank)> plain;
};

/// All kinds. `x`: where the derivatives are wanted: Max and Min divide the gradient among the
/// ranks that have the extreme, so the plain ones are means over those of x.
std::vector<DifferentiableCollective> differentiable_collectives(const RankArrays& x);

/// The operand of the collective: x * x + x.
Array combined_value(const Array& x);
Tensor combined_value(const Tensor& x);

/// The factors of the elements of y^3 in the loss of every rank: 1, 1.25, 1.5, 1.75, 1, ..
Array loss_factors(std::span<const std::int64_t> dims);

/// The sum over ranks of (1 + rank) * sum(loss_factors * y^3), y = collective(combined_value(x)).
double joint_loss(const DifferentiableCollective& collective, const RankArrays& x);

/// Its gradients with respect to each rank's x.
RankArrays joint_gradients(const DifferentiableCollective& collective, const RankArrays& x);
/// The gradients of the sum of `direction` times those.
RankArrays joint_second_gradients(const DifferentiableCollective& collective, const RankArrays& x,
                                  const RankArrays& direction);

}  // namespace kiln::testing
