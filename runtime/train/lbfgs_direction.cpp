// The direction of L-BFGS from its history, in the compact representation of R. Byrd, J. Nocedal
// and R. Schnabel (1994), theorem 2.2. It equals the two-loop recursion (J. Nocedal and S. Wright,
// Numerical Optimization, algorithm 7.4), whose 2m dependent loops over n elements become few
// independent ones and two loops over m numbers.
#include "runtime/train/lbfgs_state.h"

namespace kiln::optimizers {
namespace {

/// Solves matrix * x = b for a triangular matrix [m, m].
Tensor solve_triangular(const Tensor& matrix, const Tensor& b, std::int64_t m, bool is_upper) {
  const auto solve_row = [&](const Tensor& k, const Tensor& x) {
    const Tensor i = is_upper ? m - 1 - k : k;
    const Tensor row = gather(matrix, i);
    const Tensor value = (gather(b, i) - sum(row * x)) / gather(row, i);
    return x + cast(one_hot(i, m), "float64") * value;
  };
  return fori_loop(0, m, solve_row, constant(0, {.dtype = "float64", .shape = {m}}));
}

}  // namespace

Tensor inner_product(const Tensor& x, const Tensor& y) {
  return sum(cast(x, "float64") * cast(y, "float64"));
}

// Not a matmul, which would store the operands in float64.
Tensor row_products(const Tensor& rows, const Tensor& x) {
  return sum(cast(rows, "float64") * cast(x, "float64"), {.axis = 1});
}

Tensor quasi_newton_direction(const LbfgsState& state) {
  const std::int64_t m = *int_shape(state.steps)[0];
  const std::string type = dtype(state.gradient);
  const Tensor rows = arange(m, {.dtype = "int64"});
  const Tensor is_used = rows >= m - state.pairs;
  const Tensor are_used = expand_dims(is_used, {.axis = 1}) && is_used;
  const Tensor identity = cast(one_hot(rows, m), "float64");
  const auto used = [&](const Tensor& sums) { return where(is_used, sums, 0); };
  const Tensor products = where(are_used, state.products, identity);
  const Tensor squares = where(are_used, state.squares, identity);
  const Tensor scale = products[-1][-1] / squares[-1][-1];  // 1 without pairs

  // Unused rows are those of the identity and 0 on the right: their unknowns are 0.
  const Tensor upper = triu(products);
  const Tensor along_steps = used(row_products(state.steps, state.gradient));
  const Tensor along_changes = used(row_products(state.changes, state.gradient));
  const Tensor u = solve_triangular(upper, along_steps, m, true);
  const Tensor right = dot(products * identity + scale * squares, u) - scale * along_changes;
  const Tensor v = solve_triangular(transpose(upper), right, m, false);
  return -(cast(scale, type) * state.gradient + dot(cast(v, type), state.steps) -
           dot(cast(scale * u, type), state.changes));
}

}  // namespace kiln::optimizers
