// Tests that a function of a deep graph, or of deeply nested loops, is compiled, called and freed
// on a thread with a 256 KiB stack, in time linear in its depth, on each backend.
#include "tests/support/deep.h"

#include <kiln/k.h>

#include <cmath>
#include <functional>
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

TEST_CASE("nested loops: a function of 64 levels needs no more stack than a long one") {
  const K::Tensor elems = K::placeholder({.shape = {K::None}, .dtype = "float64"});
  const std::function<K::Tensor(const K::Tensor&, int)> nested = [&](const K::Tensor& x,
                                                                     int depth) {
    if (depth == 0) return x + 1.;
    const auto step = [&](const K::Tensor& sum, const K::Tensor& e) {
      return nested(sum + e, depth - 1);
    };
    return K::foldl(step, elems, {.initializer = x});
  };
  const K::Tensor y = nested(K::constant(0., {.dtype = "float64"}), 64);
  for (const char* backend : {"reference", "cpu"}) {
    INFO(backend);
    double result = 0;
    CHECK(kiln::test::error_on_small_stack([&] {
            const K::Function f = K::function({elems}, {y}, {.backend = backend});
            const std::vector<K::Array> results = f({K::Array(std::vector<double>{2.}, {1})});
            result = results[0].as<double>()[0];
          }) == "");
    CHECK(result == 129);
  }
}
