// Each model is trained on squares of differences from y (rows, 1).
#include "tests/distributed/training/models.h"

#include <kiln/k.h>

namespace kiln::testing {
namespace {

namespace D = distributed;
namespace L = layers;

/// Completes a model of these layers from its inputs and outputs.
Model trained(const Tensor& x, const Tensor& out, const std::vector<L::Layer>& layers,
              const ModelOptions& options) {
  const Tensor y = placeholder({.shape = {None, 1}, .dtype = options.dtype, .name = "y"});
  const Tensor loss = mean(square(out - y));
  D::Shards shards;
  if (options.shards != 0) shards = {.count = options.shards, .split = {x, y}};
  const auto averaged = [&](const Tensor& value) {
    return D::all_reduce(value, {.reduction = D::Reduction::Mean, .shards = shards});
  };
  Model model;
  const auto dims = int_shape(x);
  for (std::size_t axis = 1; axis < dims.size(); ++axis) model.sample.push_back(*dims[axis]);
  std::vector<UpdateOp> updates = L::updates(layers);
  for (UpdateOp& average : updates) average.value = averaged(average.value);
  const std::vector<Tensor> weights = L::trainable_weights(layers);
  const bool is_half = std::string(options.dtype) == "float16";
  const optimizers::Optimizer optimizer = is_half ? optimizers::SGD({.learning_rate = 0.05})
                                                  : optimizers::Adam({.learning_rate = 0.05});
  model.gradients = D::gradients(loss, weights, {.shards = shards});
  const std::vector<UpdateOp> learn = optimizer.updates(model.gradients, weights);
  updates.insert(updates.end(), learn.begin(), learn.end());
  model.step =
      function({x, y, learning_phase()}, {averaged(loss)}, {.updates = updates, .name = "train"});
  model.variables = L::weights(layers);
  for (const Tensor& state : optimizer.variables()) model.variables.push_back(state);
  return model;
}

}  // namespace

double Model::train(const distributed::Group& world, std::int64_t step_number,
                    std::int64_t rows) const {
  const auto [begin, end] = world.shard(rows);
  return step({rows_of_step(step_number, begin, end, sample),
               rows_of_step(step_number + 5, begin, end, {1}), true})[0]
      .astype(DType::Float64)
      .item<double>();
}

Model dense_model(const ModelOptions& options) {
  const Tensor x = placeholder({.shape = {None, 6}, .dtype = options.dtype, .name = "x"});
  const L::Dense hidden(5, {.activation = "tanh", .dtype = options.dtype});
  const L::Dense out(1, {.dtype = options.dtype});
  return trained(x, out(L::Dropout(0.3)(hidden(x))), {hidden, out}, options);
}

Model lstm_model(const ModelOptions& options) {
  const Tensor x = placeholder({.shape = {None, 4, 3}, .dtype = options.dtype, .name = "x"});
  const L::LSTM lstm(4, {.dtype = options.dtype});
  const L::Dense out(1, {.dtype = options.dtype});
  return trained(x, out(lstm(x)), {lstm, out}, options);
}

Model convolution_model(const ModelOptions& options) {
  const Tensor x = placeholder({.shape = {None, 5, 5, 2}, .dtype = options.dtype, .name = "x"});
  const L::Conv2D convolve(3, 3, {.use_bias = false, .dtype = options.dtype});
  const L::BatchNormalization norm({.momentum = 0.9, .dtype = options.dtype});
  const L::Dense out(1, {.dtype = options.dtype});
  const Tensor features = L::Flatten()(relu(norm(convolve(x))));
  return trained(x, out(features), {convolve, norm, out}, options);
}

}  // namespace kiln::testing
