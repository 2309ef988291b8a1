// Dense, Activation, Dropout, Flatten, Embedding.
#include <kiln/layers_core.h>

#include "runtime/train/layer_state.h"

namespace kiln::layers {
namespace {

struct DenseState : Layer::State {
  DenseState(std::int64_t units, const DenseOptions& options)
      : State("Dense", "dense", options.name, options.dtype, options.trainable),
        units(units),
        options(options) {}
  std::int64_t units;
  DenseOptions options;
  Tensor kernel, bias;

  void build(std::int64_t inputs) {
    const DenseOptions& o = options;
    kernel = add_weight("kernel", {inputs, units},
                        {o.kernel_initializer, o.kernel_regularizer, o.kernel_constraint});
    if (!o.use_bias) return;
    bias = add_weight("bias", {units}, {o.bias_initializer, o.bias_regularizer, o.bias_constraint});
  }
};

/// The state of a layer without variables.
struct PlainState : Layer::State {
  PlainState(const char* kind, const char* prefix, const StringArgument& name)
      : State(kind, prefix, name, {}) {}
  bool has_weights() const override { return false; }
};

struct ActivationState : PlainState {
  using PlainState::PlainState;
  ActivationArgument activation = None;
};

struct DropoutState : PlainState {
  using PlainState::PlainState;
  double rate = 0;
  DropoutLayerOptions options;
};

struct FlattenState : PlainState {
  using PlainState::PlainState;
  bool is_channels_first = false;
};

struct EmbeddingState : Layer::State {
  EmbeddingState(std::int64_t rows, std::int64_t columns, const EmbeddingOptions& options)
      : State("Embedding", "embedding", options.name, options.dtype, options.trainable),
        rows(rows),
        columns(columns),
        options(options) {}
  std::int64_t rows, columns;
  EmbeddingOptions options;
  Tensor embeddings;
};

}  // namespace

Dense::Dense(WholeNumber units, const DenseOptions& options, Where where)
    : Layer(at_call("Dense", where, [&] {
        require_positive("Dense", "units", units, where);
        return std::make_shared<DenseState>(units, options);
      })) {}

Tensor Dense::operator()(const Tensor& inputs, Where where) const {
  return call_layer(*state_, where, [&] {
    auto& self = static_cast<DenseState&>(*state_);
    self.require_rank_from(inputs, 2);
    self.require_dtype(inputs);
    self.build_once([&] { self.build(self.size_of(inputs, -1)); });
    self.size_of(inputs, -1, int_shape(self.kernel)[0]);
    Tensor y = dot(inputs, self.kernel);
    if (self.options.use_bias) y = y + self.bias;
    return self.options.activation(y);
  });
}

Activation::Activation(ActivationArgument activation, const LayerOptions& options, Where where)
    : Layer(at_call("Activation", where, [&] {
        auto state = std::make_shared<ActivationState>("Activation", "activation", options.name);
        state->activation = std::move(activation);
        return state;
      })) {}

Tensor Activation::operator()(const Tensor& inputs, Where where) const {
  return call_layer(*state_, where,
                    [&] { return static_cast<ActivationState&>(*state_).activation(inputs); });
}

Dropout::Dropout(double rate, const DropoutLayerOptions& options, Where where)
    : Layer(at_call("Dropout", where, [&] {
        require_rate("Dropout", "rate", rate, where);
        auto state = std::make_shared<DropoutState>("Dropout", "dropout", options.name);
        state->rate = rate;
        state->options = options;
        return state;
      })) {}

Tensor Dropout::operator()(const Tensor& inputs, const TrainingOptions& options,
                           Where where) const {
  return call_layer(*state_, where, [&] {
    const auto& self = static_cast<DropoutState&>(*state_);
    if (self.rate == 0) return inputs;
    const Tensor dropped = dropout(
        inputs, self.rate, {.noise_shape = self.options.noise_shape, .seed = self.options.seed});
    return in_train_phase(dropped, inputs, options.training);
  });
}

Flatten::Flatten(const FlattenOptions& options, Where where)
    : Layer(at_call("Flatten", where, [&] {
        auto state = std::make_shared<FlattenState>("Flatten", "flatten", options.name);
        state->is_channels_first =
            data_format_of("Flatten", options.data_format, where) == "channels_first";
        return state;
      })) {}

Tensor Flatten::operator()(const Tensor& inputs, Where where) const {
  return call_layer(*state_, where, [&] {
    const auto& self = static_cast<FlattenState&>(*state_);
    self.require_rank_from(inputs, 1);
    const int rank = ndim(inputs);
    if (!self.is_channels_first || rank < 3) return batch_flatten(inputs);
    std::vector<std::int64_t> channels_last{0};
    for (int axis = 2; axis < rank; ++axis) channels_last.push_back(axis);
    channels_last.push_back(1);
    return batch_flatten(permute_dimensions(inputs, channels_last));
  });
}

Embedding::Embedding(WholeNumber input_dim, WholeNumber output_dim, const EmbeddingOptions& options,
                     Where where)
    : Layer(at_call("Embedding", where, [&] {
        require_positive("Embedding", "input_dim", input_dim, where);
        require_positive("Embedding", "output_dim", output_dim, where);
        return std::make_shared<EmbeddingState>(input_dim, output_dim, options);
      })) {}

Tensor Embedding::operator()(const Tensor& inputs, Where where) const {
  return call_layer(*state_, where, [&] {
    auto& self = static_cast<EmbeddingState&>(*state_);
    const EmbeddingOptions& o = self.options;
    self.build_once([&] {
      self.embeddings = self.add_weight(
          "embeddings", {self.rows, self.columns},
          {o.embeddings_initializer, o.embeddings_regularizer, o.embeddings_constraint});
    });
    return gather(self.embeddings, inputs);
  });
}

Tensor Embedding::compute_mask(const Tensor& inputs, Where where) const {
  return call_layer(*state_, where, [&] {
    const auto& self = static_cast<EmbeddingState&>(*state_);
    return self.options.mask_zero ? not_equal(inputs, 0) : Tensor();
  });
}

}  // namespace kiln::layers
