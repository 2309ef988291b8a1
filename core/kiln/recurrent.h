// rnn: a loop over time with any step function.
#pragma once

#include <kiln/tensor.h>

#include <functional>
#include <vector>

namespace kiln {

/// What a step gives: the output of this step and the states for the next one.
struct StepResult {
  Tensor output;
  std::vector<Tensor> states;
};

/// step(input at one time, states + constants) -> (output, new states). It is called once to trace
/// the loop's body (once per step when unrolled) and may use any other tensor.
using StepFunction =
    std::function<StepResult(const Tensor& input, const std::vector<Tensor>& states)>;

struct RnnOptions {
  /// Iterate from the last time step to the first; `outputs` are in the order of iteration.
  bool go_backwards = false;
  /// (samples, time) or (samples, time, 1), any dtype; where it is 0 the step repeats the previous
  /// output (zeros before the first unmasked step) and keeps the states.
  Tensor mask = {};
  /// Appended to the states in every call of the step function.
  std::vector<Tensor> constants = {};
  /// A copy of the step per time step instead of a loop; needs a known length.
  bool unroll = false;
  /// The number of steps: needed to unroll when the time dim is unknown; an upper bound else.
  std::optional<std::int64_t> input_length = {};
};

struct RnnResult {
  Tensor last_output;               ///< (samples, ...)
  Tensor outputs;                   ///< (samples, time, ...)
  std::vector<Tensor> new_states;   ///< the last ones
};

/// Iterates over axis 1 of `inputs` (samples, time, ...). Over no steps the last output is zeros
/// and the states are the initial ones. Gradients flow through the loop, the constants and
/// captured tensors. Semantics: Keras 2.2.5 (masked outputs start as zeros).
/// Inputs, states and outputs are of any dtype; states may have other shapes than the output, and
/// there may be none.
/// Errors: ValueError when inputs has rank < 3, the mask another rank than 2 (or 3 with a last dim
/// of 1), the step is an empty function, gives another number of states, states of another type or
/// (unrolled) outputs of several, an output or a state has no axis of samples to be masked, or the
/// length is unknown when unrolling.
///     const auto step = [](const K::Tensor& x, const std::vector<K::Tensor>& states) {
///       const auto sum = states[0] + x;
///       return K::StepResult{sum, {sum}};
///     };
///     K::eval(K::rnn(step, K::ones({1, 3, 1}), {K::zeros({1, 1})}).last_output);  // [[3.]]
KILN_API RnnResult rnn(const StepFunction& step_function, const Tensor& inputs,
                       const std::vector<Tensor>& initial_states, const RnnOptions& options = {},
                       Where where = Where::here());

}  // namespace kiln
