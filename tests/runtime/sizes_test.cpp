// Tests sizes that change from call to call on the cpu backend: prepared anew, never recompiled.
// Also tests the memory of a training step with loops.
#include "tests/support/catch.h"

#include <kiln/k.h>

using namespace kiln;

namespace {

/// A masked recurrent layer with its gradient; batch size and number of steps are unknown.
Function training_step() {
  const Tensor x = placeholder({.shape = {None, None, 24}, .name = "x"});
  const Tensor mask = placeholder({.shape = {None, None}, .name = "mask"});
  const Tensor w = random_normal_variable({24, 48}, 0.0, 0.1, {.name = "w"});
  const Tensor u = random_normal_variable({48, 48}, 0.0, 0.1, {.name = "u"});
  const StepFunction step = [&](const Tensor& input, const std::vector<Tensor>& states) {
    const Tensor h = tanh(dot(input, w) + dot(states[0], u));
    return StepResult{h, {h}};
  };
  const Tensor start = zeros_like(dot(gather(permute_dimensions(x, {1, 0, 2}), 0), w));
  const RnnResult result = rnn(step, x, {start}, {.mask = mask});
  const Tensor loss = mean(square(result.last_output));
  std::vector<UpdateOp> updates;
  const std::vector<Tensor> gradients_of = gradients(loss, {w, u});
  updates.push_back(update_sub(w, 0.1 * gradients_of[0]));
  updates.push_back(update_sub(u, 0.1 * gradients_of[1]));
  return function({x, mask}, {loss}, {.updates = updates});
}

void call(const Function& f, std::int64_t batch, std::int64_t steps) {
  f({Array::full({batch, steps, 24}, 0.5f), Array::full({batch, steps}, 1.f)});
}

}  // namespace

TEST_CASE("sizes: a new batch size or sequence length generates no code") {
  if (backend() != "cpu") return;
  const Function f = training_step();
  const FunctionStats before = f.stats();
  CHECK(before.code_generations == 1);
  CHECK(before.bindings == 0);
  call(f, 4, 7);
  call(f, 4, 7);
  CHECK(f.stats().bindings == 1);
  call(f, 33, 7);
  call(f, 4, 12);
  CHECK(f.stats().bindings == 3);
  CHECK(f.stats().code_generations == 1);
  CHECK(f.stats().compiles == 1);
  CHECK(f.stats().calls == 4);
}

TEST_CASE("memory plan: a training step takes little more memory than is live at one time") {
  if (backend() != "cpu") return;
  const Function f = training_step();
  call(f, 32, 50);
  const FunctionStats stats = f.stats();
  REQUIRE(stats.live_bytes > 0);
  CHECK(static_cast<double>(stats.peak_bytes) <= 1.25 * static_cast<double>(stats.live_bytes));
}
