// The interface of L-BFGS: options, and the weights as one vector.
#include "core/types/text.h"
#include "runtime/train/lbfgs_state.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace kiln::optimizers {

struct [[gnu::visibility("hidden")]] LBFGS::Impl {
  /// Errors of updates() for weights.
  void check(const std::vector<Tensor>& weights, Call call) const;
  /// Creates the state unless it was created. REQUIRES: check().
  void create(const std::vector<Tensor>& weights);
  Results<UpdateOp> updates(const Tensor& loss, const std::vector<Tensor>& gradients,
                            const std::vector<Tensor>& weights, Call call);
  void require_built(Call call) const {
    if (!weights.empty()) return;
    throw ValueError(call.function, "",
                     text("the state of '", settings.name,
                          "' is not built: call minimize or build(weights) first"),
                     call.where);
  }

  LbfgsSettings settings;
  LbfgsState state;
  std::vector<Tensor> weights;  // empty until the state is built
};

namespace {

std::int64_t elements_of(const Tensor& weight) {
  const std::vector<std::int64_t> dims = get_variable_shape(weight);
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

void require_at_least_one(WholeNumber value, const char* argument, Call call) {
  if (value >= 1) return;
  throw ValueError(call.function, argument,
                   text(argument, " ", std::int64_t{value}, " is less than 1"), call.where);
}

void require_line_search(double c1, double c2, Call call) {
  if (c1 > 0 && c1 < 0.5 && c1 < c2 && c2 < 1) return;
  throw ValueError(call.function, "c1",
                   text("c1 ", c1, " and c2 ", c2, " are not 0 < c1 < c2 < 1 with c1 < 0.5"),
                   call.where);
}

void require_no_constraints(const std::vector<Tensor>& weights, Call call) {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!Variable(weights[i]).constraint()) continue;
    throw ValueError(
        call.function, "weights",
        text(shown_weight(weights, i), " has a constraint: L-BFGS minimises without constraints"),
        call.where);
  }
}

Tensor require_loss(const Operand& loss, Call call) {
  if (!loss.is_tensor() || dtype(loss.tensor()).find("float") == std::string::npos) {
    throw TypeError(call.function, "loss", "loss is not a floating-point tensor", call.where);
  }
  return ndim(loss.tensor()) == 0 ? loss.tensor() : sum(loss);
}

double epsilon_of(const std::string& type) {
  if (type == "float64") return std::numeric_limits<double>::epsilon();
  if (type == "float32") return std::numeric_limits<float>::epsilon();
  return type == "float16" ? 0x1p-10 : 0x1p-7;  // or bfloat16
}

Tensor joined(const std::vector<Tensor>& tensors, const std::string& type) {
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) parts.push_back(cast(flatten(tensor), type));
  return concatenate(parts);
}

std::vector<Tensor> split(const Tensor& point, const std::vector<Tensor>& weights) {
  std::vector<Tensor> parts;
  std::int64_t begin = 0;
  for (const Tensor& weight : weights) {
    const std::int64_t end = begin + elements_of(weight);
    const Tensor part = cast(point.slice(begin, end), dtype(weight));
    parts.push_back(reshape(part, get_variable_shape(weight)));
    begin = end;
  }
  return parts;
}

}  // namespace

void LBFGS::Impl::check(const std::vector<Tensor>& given, Call call) const {
  require_weights(given, call);
  require_no_constraints(given, call);
  if (weights.empty()) return;
  if (std::equal(given.begin(), given.end(), weights.begin(), weights.end(), same_node)) return;
  throw ValueError(call.function, "weights",
                   text("weights are not the ", weights.size(), " variables that the state of '",
                        settings.name, "' was built for, in their order"),
                   call.where);
}

void LBFGS::Impl::create(const std::vector<Tensor>& given) {
  if (!weights.empty()) return;
  std::int64_t n = 0;
  bool is_wide = false;
  for (const Tensor& weight : given) {
    n += elements_of(weight);
    is_wide = is_wide || dtype(weight) == "float64";
  }
  create_lbfgs_vectors(state, settings, n, is_wide ? "float64" : "float32");
  weights = given;
}

Results<UpdateOp> LBFGS::Impl::updates(const Tensor& loss, const std::vector<Tensor>& gradients,
                                       const std::vector<Tensor>& given, Call call) {
  require_gradients(gradients, given, call);
  create(given);
  const std::string type = dtype(state.point);
  const Evaluation at{joined(weights, type), joined(gradients, type), cast(loss, "float64"),
                      epsilon_of(dtype(loss))};
  const LbfgsState next = next_lbfgs_state(state, at, settings);
  Results<UpdateOp> updates;
  const std::vector<Tensor> variables = state.all(), values = next.all();
  for (std::size_t i = 0; i < variables.size(); ++i) {
    updates.push_back(update(variables[i], values[i]));
  }
  const std::vector<Tensor> moved = split(next_lbfgs_point(state, next, at), weights);
  for (std::size_t i = 0; i < weights.size(); ++i) updates.push_back(update(weights[i], moved[i]));
  return updates;
}

LBFGS::LBFGS(const LBFGSOptions& options, Where where) {
  named_call("LBFGS", where, [&] {
    const Call call{"LBFGS", where};
    require_at_least_one(options.history_size, "history_size", call);
    require_at_least_one(options.max_trials, "max_trials", call);
    require_not_negative(options.tolerance_grad, "tolerance_grad", call);
    require_not_negative(options.tolerance_change, "tolerance_change", call);
    require_line_search(options.c1, options.c2, call);
    const std::string name = options.name;
    impl_ = std::make_shared<Impl>(
        Impl{{options.history_size, options.tolerance_grad, options.tolerance_change, options.c1,
              options.c2, options.max_trials, name},
             create_lbfgs_scalars(name),
             {}});
  });
}

Results<UpdateOp> LBFGS::minimize(const Operand& loss, const std::vector<Tensor>& weights,
                                  Where where) const {
  return named_call("minimize", where, [&] {
    const Call call{"minimize", where};
    impl_->check(weights, call);
    const Tensor scalar = require_loss(loss, call);
    return impl_->updates(scalar, gradients(scalar, weights), weights, call);
  });
}

Results<UpdateOp> LBFGS::updates(const Operand& loss, const std::vector<Tensor>& gradients,
                                 const std::vector<Tensor>& weights, Where where) const {
  return named_call("updates", where, [&] {
    const Call call{"updates", where};
    impl_->check(weights, call);
    return impl_->updates(require_loss(loss, call), gradients, weights, call);
  });
}

void LBFGS::build(const std::vector<Tensor>& weights, Where where) const {
  named_call("build", where, [&] {
    impl_->check(weights, {"build", where});
    impl_->create(weights);
  });
}

Results<Tensor> LBFGS::variables(Where where) const {
  return named_call("variables", where, [&]() -> Results<Tensor> {
    impl_->require_built({"variables", where});
    return impl_->state.all();
  });
}

Tensor LBFGS::stopped() const { return impl_->state.stopped; }
Tensor LBFGS::converged() const { return impl_->state.converged; }
Tensor LBFGS::best_loss() const { return impl_->state.best_loss; }
Tensor LBFGS::iterations() const { return impl_->state.iterations; }

void LBFGS::restore_best_weights(Where where) const {
  named_call("restore_best_weights", where, [&] {
    impl_->require_built({"restore_best_weights", where});
    const LbfgsState& state = impl_->state;
    if (get_value(state.best_loss).item<double>() == kInfinity) return;
    // Trial step 0 is the best point. The next call finds it too short, and tries the first step;
    // it is not counted as a trial.
    Results<UpdateOp> updates{update(state.trial, 0), update(state.low, 0),
                              update(state.trials, -1), update(state.high, kInfinity)};
    const std::vector<Tensor> best = split(state.point, impl_->weights);
    for (std::size_t i = 0; i < best.size(); ++i) {
      updates.push_back(update(impl_->weights[i], best[i]));
    }
    function({}, {}, {.updates = updates})();
  });
}

void LBFGS::reset(Where where) const {
  named_call("reset", where, [&] { reset_lbfgs(impl_->state); });
}

std::string LBFGS::name() const { return impl_->settings.name; }

}  // namespace kiln::optimizers
