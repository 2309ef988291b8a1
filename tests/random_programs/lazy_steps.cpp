// Steps of random programs whose bodies may not run: loops of no steps.
#include "tests/random_programs/steps.h"

namespace kiln::testing {

/// A loop of no steps at all, one or two, which gathers the same row in every step.
bool loop_of_few_steps(Growing& growing) {
  const std::int64_t batch = 1 + growing.draw.below(4), time = growing.draw.below(3);
  const std::int64_t units = 1 + growing.draw.below(5), rows = 1 + growing.draw.below(4);
  const Value x = growing.input({batch, time, units});
  const Value table = growing.input({rows, units});
  const Value start = growing.input({batch, units});
  const Tensor at = growing.number(growing.draw.below(rows));
  const StepFunction step = [&](const Tensor& input, const std::vector<Tensor>& states) {
    const Tensor next = tanh(input + states[0] * 0.5 + gather(table.tensor, at));
    return StepResult{next, {next}};
  };
  const RnnResult result = rnn(step, x.tensor, {start.tensor});
  growing.add(result.outputs, x.dims, 1);
  growing.add(result.new_states[0], {batch, units}, 2);
  return true;
}

}  // namespace kiln::testing
