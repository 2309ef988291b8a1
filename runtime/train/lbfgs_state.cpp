// Creates and resets the variables of L-BFGS.
#include "runtime/train/lbfgs_state.h"

namespace kiln::optimizers {

std::vector<Tensor> LbfgsState::all() const {
  std::vector<Tensor> all{iterations, converged, stopped, best_loss, slope,
                          trial,      low,       high,    trials,    pairs};
  if (!point.empty())
    all.insert(all.end(), {point, gradient, direction, steps, changes, products, squares});
  return all;
}

LbfgsState create_lbfgs_scalars(const std::string& name) {
  const auto create = [&](const char* part, double value, const char* dtype) -> Tensor {
    return variable(value, {.dtype = dtype, .name = name + "/" + part});
  };
  return {.iterations = create("iteration", 0, "int64"),
          .converged = create("converged", 0, "bool"),
          .stopped = create("stopped", 0, "bool"),
          .best_loss = create("best_loss", kInfinity, "float64"),
          .slope = create("slope", 0, "float64"),
          .trial = create("trial", 0, "float64"),
          .low = create("low", 0, "float64"),
          .high = create("high", kInfinity, "float64"),
          .trials = create("trials", 0, "int64"),
          .pairs = create("pairs", 0, "int64")};
}

void create_lbfgs_vectors(LbfgsState& state, const LbfgsSettings& settings, std::int64_t n,
                          const std::string& dtype) {
  const auto create = [&](const char* part, const Shape& shape, const std::string& type) {
    return zeros(shape, {.dtype = type, .name = settings.name + "/" + part});
  };
  const std::int64_t m = settings.history_size;
  state.point = create("point", {n}, dtype);
  state.gradient = create("gradient", {n}, dtype);
  state.direction = create("direction", {n}, dtype);
  state.steps = create("steps", {m, n}, dtype);
  state.changes = create("changes", {m, n}, dtype);
  state.products = create("products", {m, m}, "float64");
  state.squares = create("squares", {m, m}, "float64");
}

void reset_lbfgs(const LbfgsState& state) {
  std::vector<std::pair<Tensor, Array>> values;
  for (const Tensor& variable : state.all()) values.emplace_back(variable, Array(0));
  values.emplace_back(state.best_loss, Array(kInfinity));
  values.emplace_back(state.high, Array(kInfinity));
  batch_set_value(values);
}

}  // namespace kiln::optimizers
