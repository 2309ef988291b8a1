// Tests loops in branches, of which a call runs one: each finds the weights that it packed.
#include "tests/support/catch.h"

#include <kiln/k.h>

#include <cmath>
#include <random>

using namespace kiln;

namespace {

Array drawn(const std::vector<std::int64_t>& dims, unsigned seed) {
  std::size_t count = 1;
  for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
  std::minstd_rand generator(seed);
  std::uniform_real_distribution<float> uniform(-0.05f, 0.05f);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(generator);
  return Array(values, dims);
}

/// The gradient of a loop: its matmuls have transposed weights.
Tensor slope_of_loop(const Tensor& x, const Tensor& start, const std::vector<Tensor>& weights) {
  const StepFunction step = [&](const Tensor& input, const std::vector<Tensor>& states) {
    Tensor next = states[0];
    for (const Tensor& weight : weights) next = tanh(dot(next, weight));
    next = tanh(next + input);
    return StepResult{next, {next}};
  };
  return gradients(sum(rnn(step, x, {start}).last_output), {start})[0];
}

}  // namespace

TEST_CASE("loops in branches: consecutive calls take branches with more or fewer weights") {
  constexpr std::int64_t kRows = 5, kUnits = 300, kWide = 500;
  for (const bool more_first : {false, true}) {
    INFO("the branch with more weights comes first: " << more_first);
    const Tensor x = placeholder({.shape = {None, None, kUnits}});
    const Tensor start = placeholder({.shape = {None, kUnits}});
    const Tensor up = placeholder({.shape = {kUnits, kWide}});
    const Tensor down = placeholder({.shape = {kWide, kUnits}});
    const Tensor sign = placeholder({.shape = {}});
    const auto branch = [&](bool more) -> std::function<Tensor()> {
      const std::vector<Tensor> weights = more ? std::vector{up, down} : std::vector<Tensor>();
      return [=] { return slope_of_loop(x, start, weights); };
    };
    const Tensor y = switch_(sign > 0.0, branch(more_first), branch(!more_first));
    const Function plain = function({x, start, up, down, sign}, {y}, {.backend = "reference"});
    const Function fast = function({x, start, up, down, sign}, {y}, {.backend = "cpu"});
    for (const float chosen : {1.0f, -1.0f, -1.0f, 1.0f}) {
      const std::vector<Array> fed{drawn({kRows, 4, kUnits}, 1), drawn({kRows, kUnits}, 2),
                                   drawn({kUnits, kWide}, 3), drawn({kWide, kUnits}, 4),
                                   Array(chosen)};
      const Array want = plain(fed)[0], got = fast(fed)[0];
      REQUIRE(got.size() == want.size());
      for (std::size_t i = 0; i < static_cast<std::size_t>(got.size()); ++i) {
        REQUIRE(std::abs(got.as<float>()[i] - want.as<float>()[i]) < 1e-5f);
      }
    }
  }
}
