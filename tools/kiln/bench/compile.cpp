// The rows that measure compiling: from writing the graph to its first result or variables.
#include "tools/kiln/bench/models.h"
#include "tools/kiln/bench/rows.h"

#include "core/types/text.h"

#include <kiln/distributed.h>

#include <cmath>

namespace kiln::bench {
namespace {

std::string described(const CharRnnSizes& s) {
  return text("LSTM of ", s.units, " units over ", s.characters,
              " characters with Adam, sizes unknown, called with ", s.samples, " x ", s.time);
}

enum class Gradients { OfRank, Averaged };

Work char_rnn_work(const CharRnnSizes& s, Gradients kind = Gradients::OfRank) {
  WorkBuilder builder(Memory::Host);
  const Array letters = drawn_classes({s.samples, s.time}, s.characters);
  const Array state = drawn({s.samples, s.units});
  const Tensor x = builder.placeholder_for(letters, {None, None});
  const Tensor y = builder.placeholder_for(letters, {None, None});
  const Tensor h = builder.placeholder_for(state, {None, s.units});
  const Tensor c = builder.placeholder_for(state, {None, s.units});
  const Tensor embedding = random_uniform_variable({s.characters, s.units}, -1, 1);
  const LstmWeights cell = lstm_weights(s.units, s.units);
  const RnnResult run = lstm(cell, gather(embedding, x), {h, c}, {});
  const Mlp dense = mlp(run.outputs, {s.units, s.characters});
  std::vector<Tensor> weights = cell.all();
  weights.push_back(embedding);
  weights.insert(weights.end(), dense.weights.begin(), dense.weights.end());
  const Tensor loss = mean(sparse_categorical_crossentropy(y, dense.output, {.from_logits = true}));
  if (kind == Gradients::OfRank) {
    return builder.work({loss}, adam_updates(weights, gradients(loss, weights)));
  }
  const Tensor mean_loss =
      distributed::all_reduce(loss, {.reduction = distributed::Reduction::Mean});
  return builder.work({mean_loss}, adam_updates(weights, distributed::gradients(loss, weights)));
}

/// 16 nodes: a dense layer with layer norm and a residual connection.
Tensor residual_block(const Tensor& x, std::int64_t width, std::vector<Tensor>& weights) {
  const Mlp dense = mlp(x, {width, width});
  const Tensor scale = ones({width}), offset = zeros({width});
  weights.insert(weights.end(), dense.weights.begin(), dense.weights.end());
  weights.insert(weights.end(), {scale, offset});
  const AxisOptions last{.axis = -1, .keepdims = true};
  const Tensor centred = dense.output - mean(dense.output, last);
  const Tensor normal = centred / sqrt(mean(square(centred), last) + 1e-5);
  return x + tanh(normal * scale + offset);
}

Row compile_1000(int blocks, std::int64_t width) {
  return {"compile_1000",
          text(blocks, " residual blocks (16 nodes each) with all gradients: graph to first ",
               "result, new process"),
          {},
          [=] {
            WorkBuilder builder(Memory::Host);
            const Tensor x = builder.input(drawn({32, width}));
            std::vector<Tensor> weights;
            Tensor y = x;
            for (int i = 0; i < blocks; ++i) y = residual_block(y, width, weights);
            return builder.work(gradients(mean(square(y)), weights));
          },
          Timing::FirstCall};
}

/// The variables of a residual network, initialised as in Keras: filters of convolutions by
/// glorot_uniform, all others by zeros and ones.
class InitialisedVariables {
 public:
  void convolution(std::int64_t size, std::int64_t inputs, std::int64_t filters) {
    const double limit = std::sqrt(6 / static_cast<double>(size * size * (inputs + filters)));
    all_.push_back(variable(
        random_uniform({size, size, inputs, filters}, {.minval = -limit, .maxval = limit})));
    filled(0, filters);
    for (const double value : {1, 0, 0, 1}) filled(value, filters);  // batch normalisation
  }

  /// Three convolutions, and one for the input of the first block of a stage.
  void block(std::int64_t inputs, std::int64_t width, bool is_first) {
    convolution(1, inputs, width);
    convolution(3, width, width);
    convolution(1, width, 4 * width);
    if (is_first) convolution(1, inputs, 4 * width);
  }

 private:
  void filled(double value, std::int64_t count) {
    all_.push_back(variable(constant(value, {.shape = {count}})));
  }

  std::vector<Variable> all_;
};

void make_resnet50_variables(std::int64_t width) {
  InitialisedVariables variables;
  variables.convolution(7, 3, width);
  std::int64_t inputs = width;
  for (const int blocks : {3, 4, 6, 3}) {
    for (int i = 0; i < blocks; ++i) {
      variables.block(inputs, width, i == 0);
      inputs = 4 * width;
    }
    width *= 2;
  }
  variables.convolution(1, inputs, 1000);
}

Row compile_initialisers(std::int64_t width) {
  return {"compile_initialisers",
          text("all variables of ResNet50 with ", width, " filters in its first layer, by Keras' ",
               "initialisers, new process"),
          {},
          [=] {
            make_resnet50_variables(width);
            return Work{[] {}, [] {}, [] { return FunctionStats{}; }};
          },
          Timing::FirstCall};
}

}  // namespace

Row char_rnn_train(const CharRnnSizes& s) {
  return {"char_rnn_train", described(s), {}, [=] { return char_rnn_work(s); }};
}

Row char_rnn_average(const CharRnnSizes& s) {
  return {"char_rnn_average", described(s) + " on each rank", {}, [=] {
            return char_rnn_work(s, Gradients::Averaged);
          }};
}

Row compile_char_rnn(const CharRnnSizes& s) {
  return {"compile_char_rnn",
          described(s) + ": graph to first step, new process",
          {},
          [=] { return char_rnn_work(s); },
          Timing::FirstCall};
}

std::vector<Row> compile_rows(bool tiny) {
  const CharRnnSizes sizes = tiny ? CharRnnSizes{5, 4, 16, 32} : CharRnnSizes{96, 64, 16, 32};
  return {compile_char_rnn(sizes), compile_1000(tiny ? 2 : 62, 64),
          compile_initialisers(tiny ? 2 : 64)};
}

}  // namespace kiln::bench
