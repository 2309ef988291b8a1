// The smallest program against an installed Kiln, which the installation test builds and runs: it
// trains a layer. Given the path of a backend that doubles its input, it also runs there.
#include <kiln/train.h>

namespace {

/// Whether a few steps of training bring the weights of a line close to those of 2 x + 1.
bool trains() {
  const auto x = kiln::placeholder({.shape = {kiln::None, 1}});
  const kiln::layers::Dense line(1);
  const auto loss = kiln::mean(kiln::square(line(x) - (2 * x + 1)));
  const auto sgd = kiln::optimizers::SGD({.learning_rate = 0.5});
  const auto step =
      kiln::function({x}, {loss}, {.updates = sgd.minimize(loss, line.trainable_weights())});
  const kiln::Array batch({-1.f, 0.f, 1.f}, {3, 1});
  const float before = step({batch})[0].item<float>();
  for (int i = 0; i < 50; ++i) step({batch});
  return before > 0.1f && step({batch})[0].item<float>() < 1e-6f;
}

}  // namespace

int main(int count, char** arguments) {
  const auto x = kiln::placeholder({.shape = {kiln::None}});
  const auto runs = [&] {
    return kiln::function({x}, {x * 2})({kiln::Array{1.f, 2.f}})[0].at<float>(1) == 4;
  };
  if (!runs()) return 1;
  if (!trains()) return 3;
  if (count < 2) return 0;
  kiln::set_backend(arguments[1]);
  return runs() && kiln::backend() == arguments[1] ? 0 : 2;
}
