// The rows of loops over time: cells written through K::rnn, with all gradients.
#include "tools/kiln/bench/models.h"
#include "tools/kiln/bench/rows.h"

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

/// The limit of forward and backward through cells with that many gates and activations per unit.
Limit recurrent_limit(std::int64_t cells, std::int64_t inputs, std::int64_t units, int gates,
                      int activations) {
  const auto unit_steps = static_cast<double>(cells * units);
  const double matmuls = 3 * 2 * unit_steps * static_cast<double>((inputs + units) * gates);
  return {.formula = text("3 times the forward matmuls, + 30 operations for each of ", activations,
                          " activations a unit"),
          .operations = matmuls + unit_steps * activations * 30};
}

std::string described(const RecurrentSizes& s) {
  return text("T=", s.time, ", batch ", s.samples, ", ", s.inputs, " inputs, ", s.units,
              " units: mean square of the last output, all gradients and that of x");
}

/// Zeros as first states; `mask` may be empty.
Work lstm_work(const RecurrentSizes& s, const WorkBuilder& builder, const Tensor& x,
               const Tensor& mask) {
  const LstmWeights weights = lstm_weights(s.inputs, s.units);
  const Tensor zero = constant(Array::zeros({s.samples, s.units}));
  const Tensor loss = mean(square(lstm(weights, x, {zero, zero}, mask).last_output));
  std::vector<Tensor> wanted = weights.all();
  wanted.push_back(x);
  std::vector<Tensor> outputs = gradients(loss, wanted);
  outputs.push_back(loss);
  return builder.work(outputs);
}

Tensor matrix(std::int64_t rows, std::int64_t columns) {
  const double scale = 1 / std::sqrt(static_cast<double>(columns));
  return random_uniform_variable({rows, columns}, -scale, scale, {.seed = 1});
}

/// The work on x (samples, time, inputs) of a cell with `states` states that start as zeros: the
/// mean square of the last output, the gradients of the weights and of x.
Work train_work(const StepFunction& step, const std::vector<Tensor>& weights,
                const RecurrentSizes& s, int states, Memory memory) {
  WorkBuilder builder(memory);
  const Tensor x = builder.input(drawn({s.samples, s.time, s.inputs}));
  const Tensor zero = constant(Array::zeros({s.samples, s.units}));
  const std::vector<Tensor> start(static_cast<std::size_t>(states), zero);
  const Tensor loss = mean(square(rnn(step, x, start).last_output));
  std::vector<Tensor> wanted = weights;
  wanted.push_back(x);
  std::vector<Tensor> outputs = gradients(loss, wanted);
  outputs.push_back(loss);
  return builder.work(outputs);
}

/// Cho et al. 2014, with the reset gate after the candidate's recurrent matmul.
Row gru_train(const RecurrentSizes& s) {
  return {"gru_train",
          text("GRU (reset after the matmul), ", described(s)),
          recurrent_limit(s.time * s.samples, s.inputs, s.units, 3, 3),
          [=] {
            std::vector<Tensor> w, u, b;  // update, reset, candidate
            for (int gate = 0; gate < 3; ++gate) {
              w.push_back(matrix(s.inputs, s.units));
              u.push_back(matrix(s.units, s.units));
              b.push_back(zeros({s.units}));
            }
            const Tensor inner = zeros({s.units});
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
            return train_work(step, weights, s, 1, Memory::Host);
          },
          Timing::Steady,
          "KILN_DUMP=timings, AVX2, 1 thread: matmuls are 85 %, at 124 to 128 GFLOP/s (half of the "
          "peak with AVX-512 is 126 to 131), but the six weight gradients at 105 to 118; kernels "
          "of the steps are 5 %"};
}

/// The matmuls and activations of all steps.
Limit inference_limit(const RecurrentSizes& s) {
  const auto unit_steps = static_cast<double>(s.time * s.samples * s.units);
  const double matmuls = 2 * unit_steps * 4 * static_cast<double>(s.inputs + s.units);
  return {.formula = "matmuls at the peak, + 30 operations for each of 5 activations a unit",
          .operations = matmuls + unit_steps * 5 * 30};
}

/// As in serving: states in, states out.
Row lstm_step_row(const RecurrentSizes& s) {
  const auto weights = static_cast<std::size_t>(4 * s.units * (s.inputs + s.units + 1));
  Limit limit{.formula = "one pass over the weights: 1 array read, 4 B a weight",
              .reads = 1,
              .floats = weights};
  return {"lstm_step",
          text("one step of an LSTM of ", s.inputs, " inputs and ", s.units, " units, batch ",
               s.samples, ", states in and out"),
          limit, [=] {
            WorkBuilder builder(Memory::Host);
            const Tensor x = builder.input(drawn({s.samples, s.inputs}));
            const Tensor h = builder.input(drawn({s.samples, s.units}));
            const Tensor c = builder.input(drawn({s.samples, s.units}));
            return builder.work(lstm_step(lstm_weights(s.inputs, s.units), x, {h, c}).states);
          }};
}

Row lstm_infer_one(const RecurrentSizes& s) {
  return {
      "lstm_infer_one",
      text("LSTM, T=", s.time, ", batch ", s.samples, ", ", s.inputs, " inputs, ", s.units,
           " units: all outputs"),
      inference_limit(s), [=] {
        WorkBuilder builder(Memory::Host);
        const Tensor x = builder.input(drawn({s.samples, s.time, s.inputs}));
        const Tensor zero = constant(Array::zeros({s.samples, s.units}));
        return builder.work({lstm(lstm_weights(s.inputs, s.units), x, {zero, zero}, {}).outputs});
      }};
}

Tensor normal(const Tensor& x, const Tensor& scale, const Tensor& offset) {
  const AxisOptions last{.axis = -1, .keepdims = true};
  return (x - mean(x, last)) / sqrt(var(x, last) + 1e-5) * scale + offset;
}

}  // namespace

Row lstm_masked_train(const RecurrentSizes& s, Memory memory) {
  return {"lstm_masked_train",
          "masked LSTM, " + described(s),
          recurrent_limit(s.time * s.samples, s.inputs, s.units, 4, 5),
          [=] {
            WorkBuilder builder(memory);
            const Tensor x = builder.input(drawn({s.samples, s.time, s.inputs}));
            return lstm_work(s, builder, x, builder.input(drawn_mask(s.samples, s.time)));
          },
          Timing::Steady,
          "KILN_DUMP=timings, Zen 3, 1 thread: the loops are 48 %; eight matmuls of 128x128x1600, "
          "lhs transposed, in parts of 16 rows, 33 %, at 57 % of the peak (then 65 %)"};
}

Row lstm_train(const RecurrentSizes& s, Memory memory) {
  return {"lstm_train", "LSTM, " + described(s),
          recurrent_limit(s.time * s.samples, s.inputs, s.units, 4, 5), [=] {
            WorkBuilder builder(memory);
            const Tensor x = builder.input(drawn({s.samples, s.time, s.inputs}));
            return lstm_work(s, builder, x, {});
          }};
}

/// Ba, Kiros and Hinton 2016: both matmuls and the cell are normalised.
Row lnlstm_train(const RecurrentSizes& s, Memory memory) {
  const std::int64_t samples = s.samples, units = s.units;
  return {"lnlstm_train", "layer-norm LSTM, " + described(s),
          recurrent_limit(s.time * s.samples, s.inputs, s.units, 4, 5), [=] {
            const Tensor w = matrix(s.inputs, 4 * units), u = matrix(units, 4 * units);
            const Tensor scale_x = ones({4 * units}), offset = zeros({4 * units});
            const Tensor scale_h = ones({4 * units}), shift_h = zeros({4 * units});
            const Tensor scale_c = ones({units}), shift_c = zeros({units});
            const auto step = [=](const Tensor& in, const std::vector<Tensor>& states) {
              const Tensor gates =
                  normal(dot(in, w), scale_x, offset) + normal(dot(states[0], u), scale_h, shift_h);
              const auto gate = [&](std::int64_t i) {
                return slice(gates, {0, i * units}, {samples, units});
              };
              const Tensor c = sigmoid(gate(1)) * states[1] + sigmoid(gate(0)) * tanh(gate(2));
              const Tensor cell = normal(c, scale_c, shift_c);
              const Tensor h = sigmoid(gate(3)) * tanh(cell);
              return StepResult{h, {h, cell}};
            };
            return train_work(step, {w, u, scale_x, offset, scale_h, shift_h, scale_c, shift_c}, s,
                              2, memory);
          }};
}

std::vector<Row> recurrent_rows(bool tiny) {
  const RecurrentSizes sizes = tiny ? RecurrentSizes{4, 2, 3, 4} : RecurrentSizes{50, 32, 128, 128};
  return {lstm_masked_train(sizes, Memory::Host), gru_train(sizes),
          lnlstm_train(sizes, Memory::Host),
          lstm_step_row(tiny ? RecurrentSizes{1, 1, 3, 4} : RecurrentSizes{1, 1, 512, 512}),
          lstm_infer_one(tiny ? RecurrentSizes{4, 1, 3, 4} : RecurrentSizes{100, 1, 256, 256})};
}

}  // namespace kiln::bench
