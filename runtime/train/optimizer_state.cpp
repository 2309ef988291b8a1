// Creates the state of an optimiser for its weights.
#include "runtime/train/optimizer_impl.h"

#include "core/types/text.h"
#include "runtime/train/widened.h"

namespace kiln::optimizers {
namespace {

std::map<const TensorImpl*, std::size_t> positions_of(const std::vector<Tensor>& weights) {
  std::map<const TensorImpl*, std::size_t> positions;
  for (std::size_t i = 0; i < weights.size(); ++i) positions.emplace(weights[i].impl().get(), i);
  return positions;
}

/// The dtype that steps of `weight` are computed in. Squares of gradients can be infinite or 0 in
/// float16, and a mean that decays by 0.999 soon stops in bfloat16.
std::string dtype_of_state(const Tensor& weight) { return dtype(widened(weight)); }

/// A variable with the shape of `weight`.
Tensor filled_like(const Tensor& weight, double value, const std::string& name) {
  const std::string type = dtype_of_state(weight);
  const DType wide = type == "float64" ? DType::Float64 : DType::Float32;
  const Array initial = Array::full(get_variable_shape(weight), value, wide);
  return variable(initial, {.dtype = type, .name = name});
}

}  // namespace

void Optimizer::Impl::check(const std::vector<Tensor>& weights, Call call) const {
  require_weights(weights, call);
  if (!state) return;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (state->positions.count(weights[i].impl().get()) != 0) continue;
    throw ValueError(call.function, "weights",
                     text(shown_weight(weights, i), " is not one of the ", state->weights.size(),
                          " variables that the state of '", options.name, "' was built for"),
                     call.where);
  }
}

void Optimizer::Impl::require_complete(Call call) const {
  if (state || (rule.slots.empty() && !rule.shared)) return;
  const std::string slot = rule.slots.empty() ? rule.shared->name : rule.slots[0].name;
  throw ValueError(call.function, "",
                   text("the state of '", options.name, "' is not built, so that '", slot,
                        "' would be missing: call minimize or build(weights) first"),
                   call.where);
}

void Optimizer::Impl::create(const std::vector<Tensor>& weights) {
  if (state) return;
  State created{weights, {}, {}, positions_of(weights)};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::string given = weights[i].name();
    const std::string base =
        options.name + "/" + (given.empty() ? text("variable_", i) : given) + "_";
    std::vector<Tensor>& slots = created.slots.emplace_back();
    for (const Slot& slot : rule.slots) {
      slots.push_back(filled_like(weights[i], slot.initial, base + slot.name));
    }
  }
  if (rule.shared) {
    const std::string name = options.name + "/" + rule.shared->name;
    created.shared =
        variable(rule.shared->initial, {.dtype = dtype_of_state(weights[0]), .name = name});
  }
  state = std::move(created);
}

}  // namespace kiln::optimizers
