// The rows of loops over time: cells written through K::rnn, with all gradients.
#include "tools/kiln/bench/call.h"
#include "tools/kiln/bench/models.h"
#include "tools/kiln/bench/row.h"

#include "core/types/text.h"

#include <cmath>

namespace kiln::bench {
namespace {

/// Right-padded masks of between half and all of the steps.
Array drawn_mask(std::int64_t samples, std::int64_t time) {
  Array mask = Array::zeros({samples, time});
  const auto values = mask.as<float>();
  for (std::int64_t i = 0; i < samples; ++i) {
    const std::int64_t length = time - (i * (time / 2)) / samples;
    for (std::int64_t t = 0; t < length; ++t) values[static_cast<std::size_t>(i * time + t)] = 1;
  }
  return mask;
}

/// Of forward and backward through cells with that many gates and activations a unit.
Limit recurrent_limit(std::int64_t cells, std::int64_t inputs, std::int64_t units, int gates,
                      int activations) {
  const auto unit_steps = static_cast<double>(cells * units);
  const double products = 3 * 2 * unit_steps * static_cast<double>((inputs + units) * gates);
  return {text("3 times the products forward, + 30 operations for each of ", activations,
               " activations a unit"),
          products + unit_steps * activations * 30};
}

Row lstm_masked_train(std::int64_t time, std::int64_t samples, std::int64_t inputs,
                      std::int64_t units) {
  Limit limit = recurrent_limit(time * samples, inputs, units, 4, 5);
  return {"lstm_masked_train",
          text("masked LSTM, T=", time, ", batch ", samples, ", ", inputs, " inputs, ", units,
               " units: mean square of the last output, all gradients and that of x"),
          limit, [=] {
            const Tensor x = placeholder({.shape = {samples, time, inputs}});
            const Tensor mask = placeholder({.shape = {samples, time}});
            const LstmWeights weights = lstm_weights(inputs, units);
            const Tensor zero = constant(Array::zeros({samples, units}));
            const RnnResult run = lstm(weights, x, {zero, zero}, mask);
            const Tensor loss = mean(square(run.last_output));
            std::vector<Tensor> wanted = weights.all();
            wanted.push_back(x);
            std::vector<Tensor> outputs = gradients(loss, wanted);
            outputs.push_back(loss);
            return call_of({x, mask}, outputs, {},
                           {drawn({samples, time, inputs}), drawn_mask(samples, time)});
          }};
}

Tensor matrix(std::int64_t rows, std::int64_t columns) {
  const double scale = 1 / std::sqrt(static_cast<double>(columns));
  return random_uniform_variable({rows, columns}, -scale, scale, {.seed = 1});
}

/// The work on x (samples, time, inputs) of a cell with `states` states of `units` that start as
/// zeros: the mean square of the last output, the gradients of the weights and of x.
std::function<void()> train_call(const StepFunction& step, const std::vector<Tensor>& weights,
                                 std::vector<std::int64_t> dims, std::int64_t units, int states) {
  const Tensor x = placeholder({.shape = dims});
  const Tensor zero = constant(Array::zeros({dims[0], units}));
  const std::vector<Tensor> start(static_cast<std::size_t>(states), zero);
  const Tensor loss = mean(square(rnn(step, x, start).last_output));
  std::vector<Tensor> wanted = weights;
  wanted.push_back(x);
  std::vector<Tensor> outputs = gradients(loss, wanted);
  outputs.push_back(loss);
  return call_of({x}, outputs, {}, {drawn(dims)});
}

/// Cho et al. 2014, with the reset gate after the recurrent product of the candidate.
Row gru_train(std::int64_t time, std::int64_t samples, std::int64_t inputs, std::int64_t units) {
  return {"gru_train",
          text("GRU (reset after the product), T=", time, ", batch ", samples, ", ", inputs,
               " inputs, ", units,
               " units: mean square of the last output, all gradients and that of x"),
          recurrent_limit(time * samples, inputs, units, 3, 3), [=] {
            std::vector<Tensor> w, u, b;  // update, reset, candidate
            for (int gate = 0; gate < 3; ++gate) {
              w.push_back(matrix(inputs, units));
              u.push_back(matrix(units, units));
              b.push_back(zeros({units}));
            }
            const Tensor inner = zeros({units});
            const auto step = [=](const Tensor& in, const std::vector<Tensor>& states) {
              const Tensor& h = states[0];
              const Tensor z = sigmoid(dot(in, w[0]) + dot(h, u[0]) + b[0]);
              const Tensor r = sigmoid(dot(in, w[1]) + dot(h, u[1]) + b[1]);
              const Tensor fresh = tanh(dot(in, w[2]) + b[2] + r * (dot(h, u[2]) + inner));
              const Tensor next = z * h + (1.0 - z) * fresh;
              return StepResult{next, {next}};
            };
            std::vector<Tensor> weights = w;
            weights.insert(weights.end(), u.begin(), u.end());
            weights.insert(weights.end(), b.begin(), b.end());
            weights.push_back(inner);
            return train_call(step, weights, {samples, time, inputs}, units, 1);
          }};
}

Tensor normal(const Tensor& x, const Tensor& scale, const Tensor& offset) {
  const AxisOptions last{.axis = -1, .keepdims = true};
  return (x - mean(x, last)) / sqrt(var(x, last) + 1e-5) * scale + offset;
}

/// Ba, Kiros and Hinton 2016: both products and the cell are normalised.
Row lnlstm_train(std::int64_t time, std::int64_t samples, std::int64_t inputs,
                 std::int64_t units) {
  return {"lnlstm_train",
          text("layer-norm LSTM, T=", time, ", batch ", samples, ", ", inputs, " inputs, ", units,
               " units: mean square of the last output, all gradients and that of x"),
          recurrent_limit(time * samples, inputs, units, 4, 5), [=] {
            const Tensor w = matrix(inputs, 4 * units), u = matrix(units, 4 * units);
            const Tensor scale_x = ones({4 * units}), offset = zeros({4 * units});
            const Tensor scale_h = ones({4 * units}), shift_h = zeros({4 * units});
            const Tensor scale_c = ones({units}), shift_c = zeros({units});
            const auto step = [=](const Tensor& in, const std::vector<Tensor>& states) {
              const Tensor gates = normal(dot(in, w), scale_x, offset) +
                                   normal(dot(states[0], u), scale_h, shift_h);
              const auto gate = [&](std::int64_t i) {
                return slice(gates, {0, i * units}, {samples, units});
              };
              const Tensor c =
                  sigmoid(gate(1)) * states[1] + sigmoid(gate(0)) * tanh(gate(2));
              const Tensor cell = normal(c, scale_c, shift_c);
              const Tensor h = sigmoid(gate(3)) * tanh(cell);
              return StepResult{h, {h, cell}};
            };
            return train_call(step, {w, u, scale_x, offset, scale_h, shift_h, scale_c, shift_c},
                              {samples, time, inputs}, units, 2);
          }};
}

}  // namespace

std::vector<Row> recurrent_rows(bool tiny) {
  const auto sized = [&](auto row) { return tiny ? row(4, 2, 3, 4) : row(50, 32, 128, 128); };
  return {sized(lstm_masked_train), sized(gru_train), sized(lnlstm_train)};
}

}  // namespace kiln::bench
