// The rows that measure compiling: from writing the graph to its first result.
#include "tools/kiln/bench/call.h"
#include "tools/kiln/bench/models.h"
#include "tools/kiln/bench/row.h"

#include "core/types/text.h"

namespace kiln::bench {
namespace {

/// A model like that of tools/examples/char_rnn.cpp: embedding, LSTM, dense layer, Adam, with the
/// number of samples and of steps unknown.
Row compile_char_rnn(std::int64_t characters, std::int64_t units) {
  return {"compile_char_rnn",
          text("LSTM of ", units, " units over ", characters,
               " characters with Adam, sizes unknown: graph to first step, new process"),
          {}, [=] {
            const Tensor x = placeholder({.shape = {None, None}, .dtype = "int32"});
            const Tensor y = placeholder({.shape = {None, None}, .dtype = "int32"});
            const Tensor h = placeholder({.shape = {None, units}});
            const Tensor c = placeholder({.shape = {None, units}});
            const Tensor embedding = random_uniform_variable({characters, units}, -1, 1);
            const LstmWeights cell = lstm_weights(units, units);
            const RnnResult run = lstm(cell, gather(embedding, x), {h, c}, {});
            const Mlp dense = mlp(run.outputs, {units, characters});
            std::vector<Tensor> weights = cell.all();
            weights.push_back(embedding);
            weights.insert(weights.end(), dense.weights.begin(), dense.weights.end());
            const Tensor loss =
                mean(sparse_categorical_crossentropy(y, dense.output, {.from_logits = true}));
            const Array text = drawn_classes({16, 32}, characters), state = drawn({16, units});
            return call_of({x, y, h, c}, {loss}, adam_updates(weights, gradients(loss, weights)),
                           {text, text, state, state});
          },
          true};
}

/// 16 nodes: a dense layer with layer norm around which the input passes.
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
          {}, [=] {
            const Tensor x = placeholder({.shape = {32, width}});
            std::vector<Tensor> weights;
            Tensor y = x;
            for (int i = 0; i < blocks; ++i) y = residual_block(y, width, weights);
            std::vector<Tensor> outputs = gradients(mean(square(y)), weights);
            return call_of({x}, outputs, {}, {drawn({32, width})});
          },
          true};
}

}  // namespace

std::vector<Row> compile_rows(bool tiny) {
  return {compile_char_rnn(tiny ? 5 : 96, tiny ? 4 : 64), compile_1000(tiny ? 2 : 62, 64)};
}

}  // namespace kiln::bench
