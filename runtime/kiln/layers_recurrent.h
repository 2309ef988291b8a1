// Layers: SimpleRNN, LSTM, GRU, Bidirectional. Sequences are (samples, time, features).
#pragma once

#include <kiln/layer.h>

namespace kiln::layers {

/// The output of a recurrent layer, and the states after the last step in the order of iteration,
/// each (samples, units): Keras returns these as a list for return_state.
struct [[nodiscard]] RecurrentOutput : Tensor {
  RecurrentOutput(Tensor output, std::vector<Tensor> states)
      : Tensor(std::move(output)), states(std::move(states)) {}
  Results<Tensor> states;
};

struct RecurrentCall {
  /// (samples, time), any dtype: a step where it is 0 repeats the previous output and keeps the
  /// states. Empty: no mask.
  Tensor mask = {};
  /// (samples, units) each; empty: zeros, or the states of a stateful layer
  std::vector<Tensor> initial_state = {};
  OptionalOperand training = None;  ///< for dropout, as for in_train_phase()
};

/// The options that SimpleRNN, LSTM and GRU share.
struct RecurrentOptions {
  ActivationArgument activation = "tanh";
  ActivationArgument recurrent_activation = "sigmoid";  ///< of gates; SimpleRNN has none
  Flag use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer recurrent_initializer = "orthogonal";
  Initializer bias_initializer = "zeros";
  Flag unit_forget_bias = true;  ///< LSTM: whether the forget gate's bias begins as ones
  Flag reset_after = true;  ///< GRU: whether the reset gate applies after the matmul
  Regularizer kernel_regularizer = {}, recurrent_regularizer = {}, bias_regularizer = {};
  Constraint kernel_constraint = {}, recurrent_constraint = {}, bias_constraint = {};
  double dropout = 0;  ///< the rate of dropped features of the inputs in training
  double recurrent_dropout = 0;  ///< that of the previous output h, wherever a step uses it
  std::optional<Seed> seed = {};  ///< of dropout; unset: drawn from the process-wide generator
  Flag return_sequences = false;  ///< (samples, time, units) instead of the last (samples, units)
  Flag go_backwards = false;  ///< iterate from the last step; outputs are in the order of iteration
  Flag stateful = false;  ///< a call begins with the states of variables, which updates() set
  Flag unroll = false;  ///< needs a known time
  DTypeArgument dtype = {};  ///< a floating-point dtype; unset: floatx()
  Flag trainable = true;  ///< false: frozen, see Layer::set_trainable
  StringArgument name = {};
};

/// The common part of SimpleRNN, LSTM and GRU: K::rnn over their step. Variables: kernel (features,
/// n * units), recurrent_kernel (units, n * units), bias (n * units,), for n gates.
///
/// Dropout draws one mask per call for all steps: features and units that are dropped stay so.
///
/// A stateful layer continues the sequences of the function's previous call, sample by sample. Its
/// states are variables, not weights: "<layer name>/rnn_state" and, for LSTM's c, "rnn_state_1". To
/// save them, pass states() beside weights().
/// Pass updates() to every function that shall move them, whatever its phase; a call of the layer
/// always begins with the variables' values, and updates() are those of its last call.
class KILN_API Recurrent : public Layer {
 public:
  /// Errors: ValueError for a rank other than 3, features (of a stateful layer, also samples) that
  /// are unknown or other ones than at the first call, a wrong number or shape of states, and those
  /// of K::rnn for a mask; TypeError for another dtype.
  RecurrentOutput operator()(const Tensor& sequences, const RecurrentCall& call = {},
                             Where where = Where::here()) const;
  /// The variables of a stateful layer, each (samples, units); empty before the first call. Here
  /// and below: ValueError for another layer.
  Results<Tensor> states(Where where = Where::here()) const;
  /// Sets the states to zeros: the next call begins new sequences.
  void reset_state(Where where = Where::here()) const;

 protected:
  using Layer::Layer;
  friend class Bidirectional;
};

/// A step is h = activation(dot(x, kernel) + bias + dot(h, recurrent_kernel)).
class KILN_API SimpleRNN : public Recurrent {
 public:
  /// Here and below: ValueError unless units is positive and the rates of dropout are in [0, 1).
  explicit SimpleRNN(WholeNumber units, const RecurrentOptions& options = {},
                     Where where = Where::here());
};

/// A step is c = f * c + i * activation(c'), h = o * activation(c), where i, f, c' and o are, in
/// this order, the parts of z = dot(x, kernel) + dot(h, recurrent_kernel) + bias, and i, f and o
/// pass the recurrent activation. States: h, c.
class KILN_API LSTM : public Recurrent {
 public:
  explicit LSTM(WholeNumber units, const RecurrentOptions& options = {},
                Where where = Where::here());
};

/// A step is h = z * h + (1 - z) * activation(x_h + r * h_h): z, r and h are, in this order, the
/// parts of dot(x, kernel) + bias[0] and of dot(h, recurrent_kernel) + bias[1], and z and r are
/// recurrent activations of the sums of theirs. bias is (2, 3 * units). Without reset_after, h_h is
/// dot(r * h, recurrent_kernel's part) and bias, (3 * units,), that of the inputs.
class KILN_API GRU : public Recurrent {
 public:
  explicit GRU(WholeNumber units, const RecurrentOptions& options = {},
               Where where = Where::here());
};

struct BidirectionalOptions {
  /// "concat" (along the last axis), "sum", "mul" or "ave", the mean
  StringArgument merge_mode = "concat";
  StringArgument name = {};
};
/// A recurrent layer in both directions of time, with variables of its own for each: those named
/// "<layer name>/forward_<name of the layer>/kernel" etc., then those of "backward_". The layer
/// given is a pattern and gets no variables. Both outputs are in the order of time, and with
/// return_sequences they are zeros where a mask is 0. States: those forward, then those backward.
class KILN_API Bidirectional : public Layer {
 public:
  /// Errors: ValueError for an unknown merge_mode, or a layer with go_backwards.
  explicit Bidirectional(const Recurrent& layer, const BidirectionalOptions& options = {},
                         Where where = Where::here());
  /// Errors: those of the layer.
  RecurrentOutput operator()(const Tensor& sequences, const RecurrentCall& call = {},
                             Where where = Where::here()) const;
  /// As for Recurrent: the states forward, then those backward.
  Results<Tensor> states(Where where = Where::here()) const;
  void reset_state(Where where = Where::here()) const;
};

}  // namespace kiln::layers
