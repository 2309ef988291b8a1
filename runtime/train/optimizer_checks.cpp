// Checks the weights, gradients and numbers that optimisers get.
#include "runtime/train/optimizer_checks.h"

#include "core/types/text.h"
#include "runtime/train/not_trained.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace kiln::optimizers {
namespace {

void require_variable(const std::vector<Tensor>& weights, std::size_t i, Call call) {
  if (weights[i].empty() || !is_variable(weights[i])) {
    throw TypeError(call.function, "weights", text(shown_weight(weights, i), " is not a variable"),
                    call.where);
  }
  const std::string type = dtype(weights[i]);
  if (type.find("float") != std::string::npos) return;
  throw TypeError(call.function, "weights",
                  text(shown_weight(weights, i), " is ", type, ", not floating point"), call.where);
}

void require_distinct(const std::vector<Tensor>& weights, Call call) {
  std::map<const TensorImpl*, std::size_t> positions;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto [first, is_new] = positions.emplace(weights[i].impl().get(), i);
    if (is_new) continue;
    throw ValueError(
        call.function, "weights",
        text(shown_weight(weights, i), " is the same variable as weights[", first->second, "]"),
        call.where);
  }
}

void require_trainable(const std::vector<Tensor>& weights, std::size_t i, Call call) {
  if (!is_marked_not_trained(Variable(weights[i]))) return;
  throw ValueError(call.function, "weights",
                   text(shown_weight(weights, i),
                        " is not trainable: pass trainable_weights() instead of weights()"),
                   call.where);
}

/// ValueError for two weights of one name: their state could not be saved, which a user would
/// notice only after the training.
void require_distinct_names(const std::vector<Tensor>& weights, Call call) {
  std::map<std::string, std::size_t> positions;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::string name = weights[i].name();
    if (name.empty()) continue;
    const auto [first, is_new] = positions.emplace(name, i);
    if (is_new) continue;
    throw ValueError(
        call.function, "weights",
        text("weights[", first->second, "] and weights[", i, "] are both named '", name,
             "': give each, or its layer, a .name of its own, or make them in name scopes"),
        call.where);
  }
}

/// Whether sizes that are known on both sides are equal.
bool may_equal(const std::vector<std::optional<std::int64_t>>& x,
               const std::vector<std::optional<std::int64_t>>& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](const auto& a, const auto& b) { return !a || !b || *a == *b; });
}

/// ValueError with the reason of gradients() unless the loss has a gradient of that weight.
void require_found(const Tensor& gradient, Call call) {
  if (!gradient.empty() || !gradient.impl()) return;
  try {
    static_cast<void>(ndim(gradient));
  } catch (const ValueError& error) {  // "minimize: x is empty: <reason>"
    const std::string all = error.message(), before = " is empty: ";
    const std::size_t at = all.find(before);
    if (at == std::string::npos) throw;
    throw ValueError(call.function, "weights", all.substr(at + before.size()), call.where);
  }
}

void require_fitting(const Tensor& gradient, const Tensor& weight, std::size_t i, Call call) {
  if (!gradient.impl()) {
    throw ValueError(call.function, "gradients", text("gradients[", i, "] is an empty tensor"),
                     call.where);
  }
  require_found(gradient, call);
  const auto have = int_shape(gradient), want = int_shape(weight);
  if (!may_equal(have, want)) {
    throw ValueError(call.function, "gradients",
                     text("gradients[", i, "] has shape ", shown_shape(have), ", its weight '",
                          weight.name(), "' ", shown_shape(want)),
                     call.where);
  }
  if (dtype(gradient) == dtype(weight)) return;
  throw TypeError(call.function, "gradients",
                  text("gradients[", i, "] is ", dtype(gradient), ", its weight '", weight.name(),
                       "' ", dtype(weight)),
                  call.where);
}

}  // namespace

std::string shown_weight(const std::vector<Tensor>& weights, std::size_t i) {
  const std::string name = weights[i].name();
  return name.empty() ? text("weights[", i, "]") : text("weights[", i, "] '", name, "'");
}

std::string shown_shape(const std::vector<std::optional<std::int64_t>>& dims) {
  std::string shown = "(";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    shown += (i == 0 ? "" : ", ") + (dims[i] ? text(*dims[i]) : "None");
  }
  return shown + ")";
}

void require_weights(const std::vector<Tensor>& weights, Call call) {
  if (weights.empty()) throw ValueError(call.function, "weights", "weights is empty", call.where);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    require_variable(weights, i, call);
    require_trainable(weights, i, call);
  }
  require_distinct(weights, call);
  require_distinct_names(weights, call);
}

void require_gradients(const std::vector<Tensor>& gradients, const std::vector<Tensor>& weights,
                       Call call) {
  if (gradients.size() != weights.size()) {
    throw ValueError(
        call.function, "gradients",
        text("there are ", gradients.size(), " gradients for ", weights.size(), " weights"),
        call.where);
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    require_fitting(gradients[i], weights[i], i, call);
  }
}

void require_range(double value, double low, double high, bool below_high, const char* argument,
                   Call call) {
  if (value >= low && (below_high ? value < high : value <= high)) return;
  throw ValueError(
      call.function, argument,
      text(argument, " ", value, " is outside [", low, ", ", high, below_high ? ")" : "]"),
      call.where);
}

void require_not_negative(double value, const char* argument, Call call) {
  if (std::isfinite(value) && value >= 0) return;
  throw ValueError(call.function, argument,
                   text(argument, " ", value, " is negative or not finite"), call.where);
}

}  // namespace kiln::optimizers
