// Small models that ranks train, with the gradients averaged over shards.
#pragma once

#include "tests/distributed/training/training_ranks.h"

namespace kiln::testing {

struct ModelOptions {
  std::int64_t shards = 4;  // 0: the gradients are those of ranks
  const char* dtype = "float32";
};

struct Model {
  std::vector<std::int64_t> sample;  // dims of a row of the first input
  Function step;  // (x, y, learning phase) -> loss
  std::vector<Tensor> variables;  // weights, moving averages, state of the optimiser
  Results<Tensor> gradients;

  /// Trains on the rows of this rank in a batch of so many; returns the loss.
  double train(const distributed::Group& world, std::int64_t step_number, std::int64_t rows) const;
};

/// With dropout; Adam, of halves SGD.
Model dense_model(const ModelOptions& options);
Model lstm_model(const ModelOptions& options);
/// With BatchNormalization of each part.
Model convolution_model(const ModelOptions& options);

using MakeModel = Model (*)(const ModelOptions& options);

}  // namespace kiln::testing
