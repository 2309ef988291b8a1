// The formulas of the LSTM: Hochreiter and Schmidhuber 1997 with a forget gate.
#include "tools/kiln/bench/models.h"

#include <kiln/train.h>

#include <cmath>

namespace kiln::bench {
namespace {

Tensor weight(const std::vector<std::int64_t>& shape, const std::string& dtype = "float32") {
  const double scale = 1 / std::sqrt(static_cast<double>(shape.front()));
  return random_uniform_variable(shape, -scale, scale, {.dtype = dtype, .seed = 1});
}

}  // namespace

std::vector<Tensor> LstmWeights::all() const {
  std::vector<Tensor> joined = input;
  joined.insert(joined.end(), recurrent.begin(), recurrent.end());
  joined.insert(joined.end(), bias.begin(), bias.end());
  return joined;
}

LstmWeights lstm_weights(std::int64_t inputs, std::int64_t units) {
  LstmWeights weights;
  for (int gate = 0; gate < 4; ++gate) {
    weights.input.push_back(weight({inputs, units}));
    weights.recurrent.push_back(weight({units, units}));
    weights.bias.push_back(zeros({units}));
  }
  return weights;
}

StepResult lstm_step(const LstmWeights& weights, const Tensor& in,
                     const std::vector<Tensor>& states) {
  const auto gate = [&](std::size_t i) {
    return dot(in, weights.input[i]) + dot(states[0], weights.recurrent[i]) + weights.bias[i];
  };
  const Tensor c = sigmoid(gate(1)) * states[1] + sigmoid(gate(0)) * tanh(gate(2));
  const Tensor h = sigmoid(gate(3)) * tanh(c);
  return {h, {h, c}};
}

RnnResult lstm(const LstmWeights& weights, const Tensor& x, const std::vector<Tensor>& states,
               const Tensor& mask) {
  const auto step = [&](const Tensor& in, const std::vector<Tensor>& state) {
    return lstm_step(weights, in, state);
  };
  return rnn(step, x, states, {.mask = mask});
}

std::vector<UpdateOp> adam_updates(const std::vector<Tensor>& weights,
                                   const std::vector<Tensor>& gradients) {
  return optimizers::Adam({.epsilon = 1e-8}).updates(gradients, weights);
}

std::vector<UpdateOp> sgd_updates(const std::vector<Tensor>& weights,
                                  const std::vector<Tensor>& slopes) {
  std::vector<UpdateOp> updates;
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    updates.push_back(update_sub(weights[i], 0.01 * slopes[i]));
  }
  return updates;
}

Mlp mlp(const Tensor& x, const std::vector<std::int64_t>& sizes) {
  Mlp net{{}, x};
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    const Tensor matrix = weight({sizes[i], sizes[i + 1]}, dtype(x));
    const Tensor bias = zeros({sizes[i + 1]}, {.dtype = dtype(x)});
    net.weights.insert(net.weights.end(), {matrix, bias});
    net.output = dot(i == 0 ? x : relu(net.output), matrix) + bias;
  }
  return net;
}

}  // namespace kiln::bench
