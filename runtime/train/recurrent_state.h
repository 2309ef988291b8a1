// The state of recurrent layers.
#pragma once

#include <kiln/layers_recurrent.h>

#include "runtime/train/layer_state.h"

namespace kiln::layers {

/// The state of SimpleRNN, LSTM and GRU, which have 1, 4 and 3 gates.
struct RecurrentState : Layer::State {
  enum class Cell : std::uint8_t { SimpleRNN, LSTM, GRU };

  RecurrentState(Cell cell, std::int64_t units, const RecurrentOptions& options);

  std::int64_t gates() const { return cell == Cell::LSTM ? 4 : cell == Cell::GRU ? 3 : 1; }
  std::size_t states() const { return cell == Cell::LSTM ? 2 : 1; }
  void build(std::int64_t features);
  /// The output and the next states. x: (samples, features).
  StepResult step(const Tensor& x, const std::vector<Tensor>& states) const;
  RecurrentOutput run(const Tensor& sequences, const RecurrentCall& call, Where where);
  /// ValueError unless the layer is stateful.
  void require_stateful() const;
  void reset_state() const;

  Cell cell;
  std::int64_t units;
  RecurrentOptions options;
  Tensor kernel, recurrent_kernel, bias;
  std::vector<Variable> state_variables;  ///< of a stateful layer after its first call
  bool zero_output_for_mask = false;  ///< Bidirectional's outputs where the mask is 0

 private:
  StepResult lstm_step(const Tensor& x, const std::vector<Tensor>& states) const;
  StepResult gru_step(const Tensor& x, const Tensor& h) const;
  /// Part i of the gates of z, (samples, units).
  Tensor part(const Tensor& z, std::int64_t i, std::int64_t count = 1) const;
  std::vector<Tensor> initial_states(const Tensor& sequences, const RecurrentCall& call) const;
  Initializer lstm_bias() const;
  void create_state_variables(std::int64_t samples);
  /// sequences without dropped features, in training.
  Tensor drop_features(const Tensor& sequences, const OptionalOperand& training) const;
  /// The factors of the previous output; empty without dropout and outside of training.
  Tensor recurrent_mask(const Tensor& state, const OptionalOperand& training) const;
};

}  // namespace kiln::layers
