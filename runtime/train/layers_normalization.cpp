// BatchNormalization, LayerNormalization.
#include <kiln/layers_normalization.h>

#include <kiln/collectives.h>

#include "runtime/train/layer_state.h"
#include "runtime/train/widened.h"

#include <algorithm>

namespace kiln::layers {
namespace {

struct BatchNormalizationState : Layer::State {
  explicit BatchNormalizationState(const BatchNormalizationLayerOptions& options)
      : State("BatchNormalization", "batch_normalization", options.name, options.dtype,
              options.trainable),
        options(options) {}
  BatchNormalizationLayerOptions options;
  OptionalOperand gamma = None, beta = None;
  Tensor moving_mean, moving_variance;

  void build(std::int64_t channels) {
    const BatchNormalizationLayerOptions& o = options;
    if (o.scale) {
      gamma = add_weight("gamma", {channels},
                         {o.gamma_initializer, o.gamma_regularizer, o.gamma_constraint});
    }
    if (o.center) {
      beta = add_weight("beta", {channels},
                        {o.beta_initializer, o.beta_regularizer, o.beta_constraint});
    }
    moving_mean = add_weight("moving_mean", {channels},
                             {.initializer = o.moving_mean_initializer, .is_trainable = false});
    moving_variance =
        add_weight("moving_variance", {channels},
                   {.initializer = o.moving_variance_initializer, .is_trainable = false});
    updates.clear();
  }

  /// As normalize_batch_in_training, with the statistics of the batches of all ranks.
  NormalizedBatch normalize_over_ranks(const Tensor& inputs, const Axes& others,
                                       std::int64_t axis) const {
    const Tensor x = widened(inputs);
    const Tensor count = distributed::all_reduce(sum(ones_like(x), {.axis = others}));
    const Tensor mean = distributed::all_reduce(sum(x, {.axis = others})) / count;
    std::vector<std::int64_t> shape(static_cast<std::size_t>(ndim(x)), 1);
    shape[static_cast<std::size_t>(axis)] = get_variable_shape(moving_mean)[0];
    const Tensor deviations = square(x - reshape(mean, shape));
    const Tensor variance = distributed::all_reduce(sum(deviations, {.axis = others})) / count;
    const Tensor narrow_mean = cast(mean, dtype), narrow_variance = cast(variance, dtype);
    return {.normed = batch_normalization(inputs, narrow_mean, narrow_variance, beta, gamma,
                                          {.axis = axis, .epsilon = options.epsilon}),
            .mean = narrow_mean,
            .var = narrow_variance};
  }

  /// Adds a batch to the update of a moving average: after those of earlier calls, if any.
  void move(const Tensor& average, const Tensor& of_batch, const OptionalOperand& training,
            Where where) {
    const auto earlier = std::find_if(updates.begin(), updates.end(), [&](const UpdateOp& update) {
      return same_node(update.variable, average);
    });
    if (earlier == updates.end()) {
      const Tensor moved = moving_average_update(average, of_batch, options.momentum).value;
      updates.emplace_back(average, in_train_phase(moved, average, training), where);
      return;
    }
    const Tensor momentum = constant(options.momentum, {.dtype = dtype});
    const Tensor moved = earlier->value * momentum + of_batch * (1.0 - momentum);
    earlier->value = in_train_phase(moved, earlier->value, training);
  }
};

struct LayerNormalizationState : Layer::State {
  explicit LayerNormalizationState(const LayerNormalizationOptions& options)
      : State("LayerNormalization", "layer_normalization", options.name, options.dtype,
              options.trainable),
        options(options) {}
  bool has_gamma() const { return options.scale || options.rms_scaling; }
  bool has_beta() const { return options.center && !options.rms_scaling; }

  LayerNormalizationOptions options;
  Tensor gamma, beta;

  void build(const std::vector<std::int64_t>& shape) {
    const LayerNormalizationOptions& o = options;
    if (has_gamma()) {
      gamma = add_weight("gamma", shape,
                         {o.gamma_initializer, o.gamma_regularizer, o.gamma_constraint});
    }
    if (has_beta()) {
      beta = add_weight("beta", shape, {o.beta_initializer, o.beta_regularizer, o.beta_constraint});
    }
  }

  /// The normalized axes of x in ascending order, all in range and different.
  std::vector<std::int64_t> axes_of(const Tensor& x) const {
    const std::int64_t rank = ndim(x);
    std::vector<std::int64_t> axes = options.axis.axes();
    for (std::int64_t& axis : axes) {
      if (axis < -rank || axis >= rank) {
        reject("axis", text("has axis ", axis, ", which is out of range for inputs ", x));
      }
      if (axis < 0) axis += rank;
    }
    std::sort(axes.begin(), axes.end());
    if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
      reject("axis", text("has a repeated axis for inputs ", x));
    }
    return axes;
  }
};

}  // namespace

BatchNormalization::BatchNormalization(const BatchNormalizationLayerOptions& options, Where where)
    : Layer(at_call("BatchNormalization", where, [&] {
        require_epsilon("BatchNormalization", options.epsilon, where);
        if (!(options.momentum >= 0 && options.momentum <= 1)) {
          throw ValueError("BatchNormalization", "momentum",
                           text("momentum ", options.momentum, " is outside [0, 1]"), where);
        }
        return std::make_shared<BatchNormalizationState>(options);
      })) {}

Tensor BatchNormalization::operator()(const Tensor& inputs, const TrainingOptions& call,
                                      Where where) const {
  return call_layer(*state_, where, [&] {
    auto& self = static_cast<BatchNormalizationState&>(*state_);
    const BatchNormalizationLayerOptions& o = self.options;
    self.require_dtype(inputs);
    const std::int64_t rank = ndim(inputs);
    if (o.axis < -rank || o.axis >= rank) {
      self.reject("axis", text("has axis ", o.axis + 0, ", which is out of range for ", inputs));
    }
    const std::int64_t axis = o.axis < 0 ? o.axis + rank : static_cast<std::int64_t>(o.axis);
    self.build_once([&] { self.build(self.size_of(inputs, static_cast<int>(axis))); });
    self.size_of(inputs, static_cast<int>(axis), int_shape(self.moving_mean)[0]);
    const Phases phases = phases_of(inputs, call.training);
    const auto by_averages = [&] {
      return batch_normalization(inputs, self.moving_mean, self.moving_variance, self.beta,
                                 self.gamma, {.axis = axis, .epsilon = o.epsilon});
    };
    if (!phases.has_training || !self.is_trainable) return by_averages();
    std::vector<std::int64_t> others;
    for (std::int64_t i = 0; i < rank; ++i) {
      if (i != axis) others.push_back(i);
    }
    const bool is_of_ranks = o.synchronized && distributed::world(where).size() > 1;
    // Of one rank all_reduce() is its operand, which may not be used where those of several may
    // not.
    const NormalizedBatch batch =
        is_of_ranks
            ? self.normalize_over_ranks(inputs, others, axis)
            : normalize_batch_in_training(o.synchronized ? distributed::all_reduce(inputs) : inputs,
                                          self.gamma, self.beta, others, {.epsilon = o.epsilon});
    self.move(self.moving_mean, batch.mean, call.training, where);
    self.move(self.moving_variance, batch.var, call.training, where);
    if (!phases.has_testing) return batch.normed;
    return in_train_phase(batch.normed, by_averages(), call.training);
  });
}

LayerNormalization::LayerNormalization(const LayerNormalizationOptions& options, Where where)
    : Layer(at_call("LayerNormalization", where, [&] {
        require_epsilon("LayerNormalization", options.epsilon, where);
        if (!options.axis.is_set() || options.axis.axes().empty()) {
          throw ValueError("LayerNormalization", "axis", "there is no axis to normalize", where);
        }
        return std::make_shared<LayerNormalizationState>(options);
      })) {}

Tensor LayerNormalization::operator()(const Tensor& inputs, Where where) const {
  return call_layer(*state_, where, [&] {
    auto& self = static_cast<LayerNormalizationState&>(*state_);
    self.require_dtype(inputs);
    const std::vector<std::int64_t> axes = self.axes_of(inputs);
    std::vector<std::int64_t> shape, broadcast(static_cast<std::size_t>(ndim(inputs)), 1);
    for (const std::int64_t axis : axes) {
      shape.push_back(self.size_of(inputs, static_cast<int>(axis)));
      broadcast[static_cast<std::size_t>(axis)] = shape.back();
    }
    self.build_once([&] { self.build(shape); });
    if (!self.weights.empty()) {
      const auto built = get_variable_shape(self.weights[0].variable);
      if (built != shape) {
        self.reject("inputs", text("requires sizes (", join_text(built),
                                   ") of its axes, as at its first call, not ", inputs));
      }
    }
    const Tensor x = widened(inputs);
    const Tensor centered = x - mean(x, {.axis = axes, .keepdims = true});
    const Tensor variance = mean(square(centered), {.axis = axes, .keepdims = true});
    Tensor y = (self.options.rms_scaling ? x : centered) / sqrt(variance + self.options.epsilon);
    if (self.has_gamma()) y = y * reshape(widened(self.gamma), broadcast);
    if (self.has_beta()) y = y + reshape(widened(self.beta), broadcast);
    return cast(y, self.dtype);
  });
}

}  // namespace kiln::layers
