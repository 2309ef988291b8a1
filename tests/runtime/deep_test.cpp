// Tests that a function of a deep graph is compiled, called and freed on a thread with a 256 KiB
// stack, in time linear in its depth, on each backend.
#include "tests/support/deep.h"

#include <kiln/k.h>

#include <cmath>
#include <stdexcept>

namespace K = kiln;

TEST_CASE("deep graphs: a function needs no stack, and linear time", "[slow]") {
  for (const char* backend : {"reference", "cpu"}) {
    INFO(backend);
    kiln::test::check_linear(400'000, [&](std::size_t length, kiln::test::Laps& laps) {
      const K::Tensor x = K::placeholder({.shape = {K::None, 2}, .dtype = "float64"});
      K::Array result;
      {
        K::Tensor y = x;
        double expected = 0.5;
        for (std::size_t i = 0; i < length / 2; ++i) {
          y = K::sin(y) + x;
          expected = std::sin(expected) + 0.5;
        }
        laps.end("build");
        const K::Function f = K::function({x}, {y}, {.backend = backend});
        laps.end("compile");
        result = f({K::Array(std::vector<double>{0.5, 0.5}, {1, 2})})[0];
        laps.end("call");
        const double difference = std::fabs(result.as<double>()[1] - expected);
        if (!(difference < 1e-12)) throw std::logic_error("the result is another one");
      }
      laps.end("die");
    });
  }
}
