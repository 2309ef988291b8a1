// EarlyStopping: ends a training whose monitored value has stopped improving.
#include <kiln/early_stopping.h>
#include <kiln/k.h>

#include "core/types/text.h"

#include <cmath>
#include <limits>

namespace kiln {
namespace {

void require_whole(const char* argument, WholeNumber value, Where where) {
  if (value >= 0) return;
  throw ValueError("EarlyStopping", argument, text(argument, " ", value, " is negative"), where);
}

void require_number(const char* argument, double value, Where where) {
  if (!std::isnan(value)) return;
  throw ValueError("EarlyStopping", argument, text(argument, " is NaN"), where);
}

void require_options(const EarlyStoppingOptions& options, Where where) {
  if (options.mode != "min" && options.mode != "max") {
    throw ValueError("EarlyStopping", "mode",
                     text("mode '", options.mode, "' is neither 'min' nor 'max'"), where);
  }
  require_whole("patience", options.patience, where);
  require_whole("start_from_epoch", options.start_from_epoch, where);
  require_number("min_delta", options.min_delta, where);
  if (options.baseline) require_number("baseline", *options.baseline, where);
  for (std::size_t i = 0; i < options.restore_best_weights.size(); ++i) {
    if (is_variable(options.restore_best_weights[i])) continue;
    throw TypeError("EarlyStopping", "restore_best_weights",
                    text("restore_best_weights[", i, "] is not a variable"), where);
  }
}

/// A variable of zeros for the best values of `weight`, named below `name`.
Variable best_of(const Tensor& weight, const std::string& name) {
  const Array value = get_value(weight);
  const std::string own = weight.name();
  return variable(Array::zeros(value.dims(), value.dtype()),
                  {.dtype = value.dtype(), .name = own.empty() ? "" : text(name, "/", own)});
}

}  // namespace

struct EarlyStopping::State {
  bool is_improvement(double value, double reference) const {
    const double delta = std::abs(options.min_delta);
    return options.mode == "min" ? value + delta < reference : value - delta > reference;
  }

  /// Copies the weights as those of the best epoch.
  void keep(std::int64_t of_epoch) {
    const std::vector<Array> values = batch_get_value(options.restore_best_weights);
    std::vector<std::pair<Tensor, Array>> copies;
    for (std::size_t i = 0; i < values.size(); ++i) copies.emplace_back(best_weights[i], values[i]);
    batch_set_value(copies);
    best_epoch = of_epoch;
  }

  EarlyStoppingOptions options;
  double best = 0;
  std::int64_t epoch = 0;       // of the next value
  std::int64_t wait = 0;        // epochs without improvement
  std::int64_t best_epoch = -1;  // below 0 before the first
  std::vector<Variable> best_weights;
};

EarlyStopping::EarlyStopping(const EarlyStoppingOptions& options, Where where) {
  named_call("EarlyStopping", where, [&] {
    require_options(options, where);
    state_ = std::make_shared<State>();
    state_->options = options;
    const double infinity = std::numeric_limits<double>::infinity();
    state_->best = options.mode == "min" ? infinity : -infinity;
    for (const Tensor& weight : options.restore_best_weights) {
      state_->best_weights.push_back(best_of(weight, options.name));
    }
  });
}

bool EarlyStopping::should_stop(double value, Where where) {
  return named_call("EarlyStopping::should_stop", where, [&] {
    State& state = *state_;
    const EarlyStoppingOptions& options = state.options;
    const std::int64_t epoch = state.epoch;
    const bool is_monitored = epoch >= options.start_from_epoch;
    const bool is_best = is_monitored && state.is_improvement(value, state.best);
    // The first weights are kept even if no value is ever a number. Copying them may throw: then
    // this epoch was not counted.
    if (is_best || (is_monitored && state.best_epoch < 0)) state.keep(epoch);
    ++state.epoch;
    if (!is_monitored) return false;
    ++state.wait;
    if (is_best) {
      state.best = value;
      if (!options.baseline || state.is_improvement(value, *options.baseline)) state.wait = 0;
      return false;
    }
    if (state.wait < options.patience || epoch == 0) return false;
    restore(where);
    return true;
  });
}

void EarlyStopping::restore(Where where) const {
  named_call("EarlyStopping::restore", where, [&] {
    if (state_->best_epoch < 0) return;
    const std::vector<Tensor>& weights = state_->options.restore_best_weights;
    std::vector<std::pair<Tensor, Array>> values;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      values.emplace_back(weights[i], get_value(state_->best_weights[i]));
    }
    batch_set_value(values);
  });
}

double EarlyStopping::best() const { return state_->best; }

std::optional<std::int64_t> EarlyStopping::best_epoch() const {
  if (state_->best_epoch < 0) return std::nullopt;
  return state_->best_epoch;
}

const std::vector<Variable>& EarlyStopping::variables() const& { return state_->best_weights; }

std::vector<CheckpointNumber> EarlyStopping::numbers() const {
  const std::string& name = state_->options.name;
  return {{name + ".best", &state_->best},
          {name + ".epoch", &state_->epoch},
          {name + ".wait", &state_->wait},
          {name + ".best_epoch", &state_->best_epoch}};
}

}  // namespace kiln
