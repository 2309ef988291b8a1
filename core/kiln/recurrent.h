// rnn: a loop over time with any step function.
#pragma once

#include <kiln/tensor.h>

#include <functional>
#include <vector>

namespace kiln {

/// The results of a step: its output, and the states for the next step.
struct StepResult {
  Tensor output;
  std::vector<Tensor> states;
};

/// Maps the input of one time step, (samples, ..), and the states, followed by the constants, to
/// the output and the new states. It is called once to trace the body of the loop (once per step if
/// unrolled) and may use any other tensor.
using StepFunction =
    std::function<StepResult(const Tensor& input, const std::vector<Tensor>& states)>;

struct RnnOptions {
  /// Whether to iterate from the last time step to the first; `outputs` are in the order of
  /// iteration.
  Flag go_backwards = false;
  /// (samples, time) or (samples, time, 1), any dtype. Where it is 0, the step repeats the previous
  /// output (zeros before the first unmasked step) and keeps the states. Such a step contributes
  /// nothing to gradients, even if its slope is infinite: in the rows of masked samples, the step
  /// function computes a step that is not masked. It is the sample's own first one in the order of
  /// iteration, with the initial states. If all steps of a sample are masked, it is the first one
  /// of another sample, with that sample's rows of inputs, states, constants and captured tensors.
  /// If all steps of all samples are masked, each keeps its own operands, but 0 for integer inputs
  /// and states, and no gradient leaves the loop.
  /// A constant or captured tensor has a row per sample if the step uses it so that row b affects
  /// row b of the results alone. Uses in a nested loop or branch, in convolutions and in pooling
  /// are not examined: such a tensor keeps its rows, where a step of another sample may have an
  /// infinite slope.
  Tensor mask = {};
  /// Tensors that the step function gets after the states.
  std::vector<Tensor> constants = {};
  /// Whether to unroll the loop, which needs a known length.
  Flag unroll = false;
  /// The number of steps to unroll if the time axis is unknown; otherwise an upper bound.
  std::optional<WholeNumber> input_length = {};
};

struct [[nodiscard]] RnnResult {
  Tensor last_output;  ///< (samples, ..)
  Tensor outputs;  ///< (samples, time, ..)
  std::vector<Tensor> new_states;  ///< after the last step
};

/// Iterates a step function over axis 1 of inputs (samples, time, ..), and returns its outputs and
/// the last states. Inputs, states and outputs are of any dtype; states may have other shapes than
/// the output, and there may be none. Over no steps, the last output is zeros and the states are
/// the initial ones. Gradients flow through the loop, the constants and captured tensors.
/// Semantics: Keras 2.2.5; masked outputs start as zeros.
/// Errors: ValueError if inputs has a rank below 3; for a mask that does not fit; if the step is
/// empty, returns another number of states, states of other types or (unrolled) outputs of
/// different types; if a masked output or state lacks the axis of samples; for an unknown length
/// when unrolling.
///     const auto step = [](const K::Tensor& x, const std::vector<K::Tensor>& states) {
///       const auto sum = states[0] + x;
///       return K::StepResult{sum, {sum}};
///     };
///     K::eval(K::rnn(step, K::ones({1, 3, 1}), {K::zeros({1, 1})}).last_output);  // [[3.]]
KILN_API RnnResult rnn(const StepFunction& step_function, const Tensor& inputs,
                       const std::vector<Tensor>& initial_states, const RnnOptions& options = {},
                       Where where = Where::here());

}  // namespace kiln
