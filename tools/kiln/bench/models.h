// Networks that several rows share, made of K functions.
#pragma once

#include <kiln/k.h>

#include <vector>

namespace kiln::bench {

struct LstmWeights {
  std::vector<Tensor> input, recurrent, bias;  // each: input, forget, candidate, output gate
  std::vector<Tensor> all() const;
};
LstmWeights lstm_weights(std::int64_t inputs, std::int64_t units);
/// One step: `states` are the last output and the last cell.
StepResult lstm_step(const LstmWeights& weights, const Tensor& in,
                     const std::vector<Tensor>& states);
/// x (samples, time, inputs); `states`: the first output, the first cell; `mask` may be empty.
RnnResult lstm(const LstmWeights& weights, const Tensor& x, const std::vector<Tensor>& states,
               const Tensor& mask);

/// One step of Adam (kiln/train.h) with the usual constants.
std::vector<UpdateOp> adam_updates(const std::vector<Tensor>& weights,
                                   const std::vector<Tensor>& gradients);

/// One step of SGD with a rate of 0.01.
std::vector<UpdateOp> sgd_updates(const std::vector<Tensor>& weights,
                                  const std::vector<Tensor>& gradients);

struct Mlp {
  std::vector<Tensor> weights;  // matrix, bias, matrix, bias ...
  Tensor output;                // of the last layer, without activation
};
/// Layers of sizes[0] inputs to sizes.back() outputs with relu between; weights have x's dtype.
Mlp mlp(const Tensor& x, const std::vector<std::int64_t>& sizes);

}  // namespace kiln::bench
