// Creates and lists the variables of layers, and checks their inputs.
#include "runtime/train/layer_state.h"

#include "core/types/nearest.h"
#include "runtime/train/not_trained.h"

#include <algorithm>
#include <cmath>

namespace kiln::layers {
namespace {

/// Calls visit(state) for a layer and the layers inside it. ValueError if it has no weights yet.
template <class Visit>
void visit_built(const char* function, const Layer::State& state, const Visit& visit) {
  if (state.has_weights() && !state.is_built) {
    throw ValueError(
        function, "",
        text("layer '", state.name, "' has no variables yet: they are created at its first call"));
  }
  visit(state);
  for (const auto& inner : state.inner) visit_built(function, *inner, visit);
}

/// The variables that gradients change, the others, or both.
Results<Tensor> weights_of(const char* function, const Layer::State& state, bool with_trainable,
                           bool with_others) {
  Results<Tensor> found;
  visit_built(function, state, [&](const Layer::State& part) {
    for (const auto& weight : part.weights) {
      const bool is_trained = part.is_trainable && weight.is_trainable;
      if (is_trained ? with_trainable : with_others) found.push_back(weight.variable);
    }
  });
  return found;
}

void set_all_trainable(Layer::State& state, bool value) {
  state.is_trainable = value;
  for (const auto& inner : state.inner) set_all_trainable(*inner, value);
}

template <class T>
void append_all(Results<T>& to, const Results<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

Layer::State::State(const char* kind, const char* prefix, const StringArgument& given_name,
                    const DTypeArgument& given_dtype, bool trainable)
    : kind(kind), name(given_name), is_trainable(trainable) {
  const std::string dtype_name = given_dtype.is_set() ? given_dtype.name() : floatx();
  const std::optional<DType> known = dtype_of_name(dtype_name);
  if (!known || !is_float(*known)) {
    throw TypeError(kind, "dtype", text("dtype ", dtype_name, " is not floating point"));
  }
  dtype = *known;
  if (!name.empty()) return;
  const std::int64_t number = get_uid(prefix);
  name = number == 1 ? std::string(prefix) : text(prefix, "_", number - 1);
}

Variable Layer::State::add_weight(const char* suffix, const std::vector<std::int64_t>& shape,
                                  const WeightOptions& options) {
  const Array value = options.initializer(shape, dtype);
  const Constraint constraint = options.is_trainable ? options.constraint : NotTrained();
  const Variable created =
      variable(value, {.dtype = dtype, .name = text(name, "/", suffix), .constraint = constraint});
  weights.push_back({created, options.regularizer, options.is_trainable});
  return created;
}

void Layer::State::reject(const char* argument, const std::string& message) const {
  throw ValueError(kind, argument, text("layer '", name, "' ", message));
}

void Layer::State::require_rank(const Tensor& x, int rank, const char* argument) const {
  if (ndim(x) == rank) return;
  reject(argument, text("requires ", argument, " of rank ", rank, ", not ", x));
}

void Layer::State::require_rank_from(const Tensor& x, int rank, const char* argument) const {
  if (ndim(x) >= rank) return;
  reject(argument, text("requires ", argument, " of rank ", rank, " or more, not ", x));
}

void Layer::State::require_dtype(const Tensor& x, const char* argument) const {
  if (kiln::dtype(x) == dtype_name(dtype)) return;
  throw TypeError(kind, argument,
                  text("layer '", name, "' requires ", argument, " of dtype ", dtype, ", not ", x));
}

std::int64_t Layer::State::size_of(const Tensor& x, int axis, std::optional<std::int64_t> expected,
                                   const char* argument) const {
  const auto sizes = int_shape(x);
  const std::size_t at =
      axis < 0 ? sizes.size() - static_cast<std::size_t>(-axis) : static_cast<std::size_t>(axis);
  if (!sizes[at]) {
    reject(argument, text("requires a known size of axis ", axis, " of ", argument, ", not ", x));
  }
  if (expected && *sizes[at] != *expected) {
    reject(argument, text("requires size ", *expected, " of axis ", axis, " of ", argument,
                          ", as at its first call, not ", x));
  }
  return *sizes[at];
}

const std::string& Layer::name() const& { return state_->name; }
bool Layer::trainable() const { return state_->is_trainable; }
void Layer::set_trainable(Flag value) const { set_all_trainable(*state_, value); }

Results<Tensor> Layer::weights(Where where) const {
  return at_call("weights", where, [&] { return weights_of("weights", *state_, true, true); });
}

Results<Tensor> Layer::trainable_weights(Where where) const {
  return at_call("trainable_weights", where,
                 [&] { return weights_of("trainable_weights", *state_, true, false); });
}

Results<Tensor> Layer::non_trainable_weights(Where where) const {
  return at_call("non_trainable_weights", where,
                 [&] { return weights_of("non_trainable_weights", *state_, false, true); });
}

Results<Tensor> Layer::losses(Where where) const {
  return at_call("losses", where, [&] {
    Results<Tensor> found;
    visit_built("losses", *state_, [&](const State& part) {
      if (!part.is_trainable) return;
      const CallScope scope(part.name, where);
      for (const auto& weight : part.weights) {
        if (weight.regularizer) found.push_back(weight.regularizer(weight.variable));
      }
    });
    return found;
  });
}

Results<UpdateOp> Layer::updates(Where where) const {
  return at_call("updates", where, [&] {
    Results<UpdateOp> found;
    visit_built("updates", *state_, [&](const State& part) {
      found.insert(found.end(), part.updates.begin(), part.updates.end());
    });
    return found;
  });
}

Results<Tensor> weights(const std::vector<Layer>& layers, Where where) {
  return named_call("weights", where, [&] {
    Results<Tensor> all;
    for (const Layer& layer : layers) append_all(all, layer.weights(where));
    return all;
  });
}

Results<Tensor> trainable_weights(const std::vector<Layer>& layers, Where where) {
  return named_call("trainable_weights", where, [&] {
    Results<Tensor> all;
    for (const Layer& layer : layers) append_all(all, layer.trainable_weights(where));
    return all;
  });
}

Results<Tensor> losses(const std::vector<Layer>& layers, Where where) {
  return named_call("losses", where, [&] {
    Results<Tensor> all;
    for (const Layer& layer : layers) append_all(all, layer.losses(where));
    return all;
  });
}

Results<UpdateOp> updates(const std::vector<Layer>& layers, Where where) {
  return named_call("updates", where, [&] {
    Results<UpdateOp> all;
    for (const Layer& layer : layers) append_all(all, layer.updates(where));
    return all;
  });
}

Phases phases_of(const Tensor& x, const OptionalOperand& training) {
  Phases phases;
  const auto is_called = [&x](bool& flag) {
    return [&x, &flag] {
      flag = true;
      return x;
    };
  };
  static_cast<void>(
      in_train_phase(is_called(phases.has_training), is_called(phases.has_testing), training));
  return phases;
}

void require_epsilon(const char* function, double epsilon, Where where) {
  if (std::isfinite(epsilon) && epsilon >= 0) return;
  throw ValueError(function, "epsilon", text("epsilon ", epsilon, " is negative or not finite"),
                   where);
}

void require_rate(const char* function, const char* argument, double rate, Where where) {
  if (rate >= 0 && rate < 1) return;
  throw ValueError(function, argument, text(argument, " ", rate, " is outside [0, 1)"), where);
}

void require_positive(const char* function, const char* argument, std::int64_t value, Where where) {
  if (value > 0) return;
  throw ValueError(function, argument, text(argument, " ", value, " is not positive"), where);
}

void require_one_of(const char* function, const char* argument, const std::string& value,
                    const std::vector<std::string>& known, Where where) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  throw ValueError(function, argument,
                   text("unknown ", argument, " '", value, "': expected ", join_text(known)),
                   where);
}

std::string data_format_of(const char* function, const std::optional<StringArgument>& option,
                           Where where) {
  if (!option) return image_data_format(where);
  require_one_of(function, "data_format", *option, {"channels_last", "channels_first"}, where);
  return *option;
}

}  // namespace kiln::layers
