// Tests gradients where a size is known in one place and not in another: each gradient has the type
// of the value that it is with respect to.
#include "tests/support/catch.h"

#include <kiln/k.h>

using namespace kiln;

namespace {

/// The gradients of a loop's last output with respect to its initial state and weight of `units`.
std::vector<Array> gradients_of_loop(const ShapeEntry& units) {
  const Tensor x = placeholder({.shape = {2, 3, 4}, .name = "x"});
  const Tensor start = placeholder({.shape = {2, units}, .name = "start"});
  const Tensor u = placeholder({.shape = {4, 4}, .name = "u"});
  const StepFunction step = [&](const Tensor& input, const std::vector<Tensor>& states) {
    const Tensor next = tanh(dot(states[0], u) + input);
    return StepResult{next, {next}};
  };
  const RnnResult result = rnn(step, x, {start});
  const std::vector<Tensor> found = gradients(sum(result.last_output), {start, u});
  CHECK(int_shape(found[0]) == int_shape(start));
  std::vector<float> numbers(24), weights(16);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0.1f * static_cast<float>(i) - 1;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = 0.3f - 0.04f * static_cast<float>(i);
  }
  return function({x, start, u}, found)(
      {Array(numbers, {2, 3, 4}), Array::full({2, 4}, 0.5), Array(weights, {4, 4})});
}

}  // namespace

TEST_CASE("gradient of a loop: keeps a size that only the weight knows") {
  const std::vector<Array> known = gradients_of_loop(4), unknown = gradients_of_loop(None);
  for (std::size_t i = 0; i < known.size(); ++i) {
    REQUIRE(known[i].dims() == unknown[i].dims());
    for (std::size_t k = 0; k < known[i].as<float>().size(); ++k) {
      CHECK(unknown[i].as<float>()[k] == Approx(known[i].as<float>()[k]).margin(1e-6));
    }
  }
}
