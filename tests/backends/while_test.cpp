// Tests loops that end early, on every backend: their number of steps, errors in steps, draws.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/support/has.h"
#include "tests/support/while_loop.h"

#include <kiln/k.h>

#include <cmath>

using namespace kiln;
using testing::error_text;
using testing::while_loop;

namespace {

std::vector<Array> run(const Function& f, const std::vector<Array>& inputs) { return f(inputs); }

Tensor always() { return constant(1.0) > 0.0; }

/// Adds t + 1 to each element of h until their sum is `most`.
Tensor growing_sum(const Tensor& h, const Tensor& most, const ir::Dim& length = INT64_MAX) {
  const auto step = [&](const Tensor& t, const Tensor& now) {
    const Tensor next = now + cast(t + 1, "float32");
    return std::pair(sum(next) < most, next);
  };
  return while_loop(sum(h) < most, h, step, length);
}

}  // namespace

TEST_CASE("while: makes as many steps as its values ask for") {
  const Tensor h = placeholder({.shape = {None}}), most = placeholder({.shape = {}});
  const Function free = function({h, most}, {growing_sum(h, most)});
  const Function limited = function({h, most}, {growing_sum(h, most, 4)});
  for (const std::int64_t rows : {1, 3, 1000}) {
    for (const float limit : {-1.0f, 0.5f, 2.5f, 6.5f, 12.0f, 40.0f, 4000.0f}) {
      float value = 0;
      for (int t = 0; value * static_cast<float>(rows) < limit; ++t) {
        value += static_cast<float>(t + 1);
      }
      const std::vector<Array> fed{Array::full({rows}, 0), Array(limit)};
      const Array all = run(free, fed)[0], some = run(limited, fed)[0];
      CHECK(all.as<float>().front() == value);
      CHECK(all.as<float>().back() == value);
      CHECK(some.as<float>().front() == std::min(value, 10.0f));
    }
  }
}

TEST_CASE("while: a loop in a loop, and one whose result updates its variable") {
  const Tensor w = variable({1.f, 2.f}, {.name = "w"}), most = placeholder({.shape = {}});
  const auto outer = [&](const Tensor&, const Tensor& now) {
    const auto inner = [&](const Tensor& t, const Tensor& h) {
      return std::pair(t < 2, h * 2.0);  // 8 times h
    };
    const Tensor next = while_loop(always(), now, inner);
    return std::pair(sum(next) < most, next);
  };
  const Tensor grown = while_loop(sum(w) < most, w, outer);
  const Function f = function({most}, {grown}, {.updates = {update(w, grown)}});
  CHECK(f({Array(100.0f)})[0].as<float>()[1] == 128);  // twice 8 times
  CHECK(get_value(w).as<float>()[0] == 64);
  CHECK(f({Array(100.0f)})[0].as<float>()[1] == 128);
  CHECK(f({Array(500.0f)})[0].as<float>()[1] == 1024);
}

TEST_CASE("while: a step that does not begin reads no index, and one that does says which fails") {
  const Tensor table = placeholder({.shape = {4}}), first = placeholder({.shape = {}});
  const auto step = [&](const Tensor& t, const Tensor& h) {
    return std::pair(t < 9, h + gather(table, cast(t, "int32") + 2));
  };
  const Function f = function({table, first}, {while_loop(first > 0, first, step, 3)});
  const Array rows = Array::full({4}, 0.5);
  CHECK(f({rows, Array(-1.0f)})[0].as<float>()[0] == -1);
  const std::string message = error_text<ValueError>([&] { f({rows, Array(1.0f)}); });
  CHECK(testing::has(message, "gather"));
  CHECK(testing::has(message, "index 4"));
  CHECK(f({rows, Array(-2.0f)})[0].as<float>()[0] == -2);
}

TEST_CASE("while: its steps draw different numbers") {
  const auto step = [](const Tensor& t, const Tensor& h) {
    return std::pair(t < 1, concatenate({slice(h, {1}, {1}), random_uniform({1})}));
  };
  const Function f = function({}, {while_loop(always(), zeros({2}), step)});
  const Array drawn = f({})[0];
  CHECK(drawn.as<float>()[0] != drawn.as<float>()[1]);
  CHECK(drawn.as<float>()[0] != 0);
}

TEST_CASE("while: a gradient through it is an error that names its line") {
  const Tensor h = placeholder({.shape = {2}}), most = placeholder({.shape = {}});
  const Tensor y = growing_sum(h * 2.0, most);
  const std::string message = error_text<NotImplementedError>([&] { gradients(sum(y), {h}); });
  CHECK(testing::has(message, "op while has no gradient rule"));
  CHECK_NOTHROW(gradients(sum(h) + sum(stop_gradient(y)), {h}));
}

TEST_CASE("while: check_numerics names the step") {
  const auto step = [](const Tensor& t, const Tensor& h) { return std::pair(t < 9, log(h - 1)); };
  const Tensor h = placeholder({.shape = {}});
  const Function f = function({h}, {while_loop(always(), h, step)}, {.check_numerics = true});
  const std::string message = error_text<FloatingPointError>([&] { f({Array(9.0f)}); });
  CHECK(testing::has(message, "log"));
  CHECK(testing::has(message, "step 2"));
}
