// Tests functions that share an executable, and the contents of the cache.
#include "tests/support/catch.h"
#include "tests/support/child.h"
#include "tests/support/environment.h"

#include "core/ir/intern.h"
#include "core/types/text.h"
#include "runtime/function/compile/executable_cache.h"

#include <kiln/k.h>

using namespace kiln;

namespace {

using kiln::testing::EnvironmentVariable;

/// x times a variable times `factor`: equal programs but for the factor.
Function scaled(double factor, const std::string& name = "scaled") {
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  const Tensor w = variable(Array(2.f), {.name = "w"});
  return function({x}, {x * w * factor}, {.name = name});
}

Function on_this_line(const Tensor& x, const Tensor& y) { return function({x}, {y}); }

std::int64_t line_of_failure(const Function& f, const Array& indices) {
  try {
    f({indices});
  } catch (const Error& error) {
    const std::string message = error.what();
    const std::string file = "executable_cache_test.cpp:";
    const std::size_t at = message.find(file);
    return at == message.npos ? -1 : std::stoll(message.substr(at + file.size()));
  }
  return 0;
}

}  // namespace

TEST_CASE("executable cache: equal functions share one, each with its own variables") {
  const EnvironmentVariable enable("KILN_DISABLE", std::nullopt);
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  std::vector<Variable> weights;
  std::vector<Function> steps;
  for (const float initial : {1.f, 10.f}) {
    weights.push_back(variable(Array(initial), {.name = "w"}));
    const UpdateOp update = update_add(weights.back(), sum(x));
    steps.push_back(function({x}, {x * weights.back()}, {.updates = {update}, .name = "step"}));
  }
  CHECK(steps[0].stats().compiles == 1);
  CHECK(steps[0].stats().cache_hits == 0);
  CHECK(steps[1].stats().compiles == 0);
  CHECK(steps[1].stats().cache_hits == 1);
  CHECK(steps[0]({Array{2.f, 3.f}})[0] == Array{2.f, 3.f});
  CHECK(steps[1]({Array{2.f, 3.f}})[0] == Array{20.f, 30.f});
  CHECK(steps[1]({Array{1.f}})[0] == Array{15.f});
  CHECK(get_value(weights[0]).item<float>() == 6);
  CHECK(get_value(weights[1]).item<float>() == 16);
  CHECK(steps[0].stats().calls == 1);
  CHECK(steps[1].stats().calls == 2);
  steps.erase(steps.begin());
  CHECK(steps[0]({Array{1.f}})[0] == Array{16.f});
}

TEST_CASE("executable cache: another constant, name, seed or line is compiled separately") {
  const EnvironmentVariable enable("KILN_DISABLE", std::nullopt);
  const Function two = scaled(2), three = scaled(3), named = scaled(2, "other"), same = scaled(2);
  CHECK(same.stats().cache_hits == 1);
  CHECK(three.stats().cache_hits == 0);
  CHECK(named.stats().cache_hits == 0);
  CHECK(two({Array{1.f}})[0] == Array{4.f});
  CHECK(three({Array{1.f}})[0] == Array{6.f});
  CHECK(same({Array{1.f}})[0] == Array{4.f});
  const auto drawing = [](std::int64_t seed) {
    return function({}, {random_uniform({4}, {.seed = seed})});
  };
  const Function one = drawing(1), other = drawing(2);
  CHECK(other.stats().cache_hits == 0);
  CHECK_FALSE(one()[0] == other()[0]);
}

TEST_CASE("executable cache: errors of functions that share one name the lines of each") {
  const EnvironmentVariable enable("KILN_DISABLE", std::nullopt);
  const Tensor i = placeholder({.shape = {None}, .dtype = "int64", .name = "i"});
  const Tensor w = variable(Array{1.f, 2.f, 3.f}, {.name = "w"});
  const Tensor first = gather(w, i) * 2;
  const std::int64_t first_line = __LINE__ - 1;
  const Tensor v = variable(Array{1.f, 2.f, 3.f}, {.name = "w"});
  const Tensor second = gather(v, i) * 2;
  const std::int64_t second_line = __LINE__ - 1;
  const Array outside(std::vector<std::int64_t>{7});
  const Function a = on_this_line(i, first), b = on_this_line(i, second);
  const Function again = on_this_line(i, first);
  CHECK(again.stats().cache_hits == 1);
  CHECK(b.stats().cache_hits == 0);
  CHECK(line_of_failure(a, outside) == first_line);
  CHECK(line_of_failure(b, outside) == second_line);
  CHECK(line_of_failure(again, outside) == first_line);
}

TEST_CASE("executable cache: the last function frees its executable and the user's data") {
  const EnvironmentVariable enable("KILN_DISABLE", std::nullopt);
  const auto before = ir::live_node_count();
  CHECK(scaled(5).stats().compiles == 1);
  CHECK(scaled(5).stats().compiles == 1);
  {
    const Variable w = variable(Array{1.f, 2.f});
    CHECK(eval(w * 3) == Array{3.f, 6.f});
    CHECK(eval(random_uniform({2, 3}) + 1).size() == 6);
    CHECK(eval(update_add(w, 1)) == Array{2.f, 3.f});
  }
  CHECK(ir::live_node_count() == before);
}

TEST_CASE("executable cache: an eval of variables compiles once per line, and reads new values") {
  const EnvironmentVariable enable("KILN_DISABLE", std::nullopt);
  const Variable w = variable(Array{1.f, 2.f}, {.name = "w"});
  std::int64_t compiled = 0;
  for (int i = 1; i <= 3; ++i) {
    const std::int64_t before = runtime::executable_cache_counts().compiled;
    CHECK(eval(sum(w * 2)).item<float>() == static_cast<float>(6 * i));
    compiled += runtime::executable_cache_counts().compiled - before;
    set_value(w, Array{1.f + static_cast<float>(i), 2.f + 2 * static_cast<float>(i)});
  }
  CHECK(compiled == 1);
}

TEST_CASE("executable cache: programs that call the host share nothing, nor do any when disabled") {
  const EnvironmentVariable enable("KILN_DISABLE", std::nullopt);
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  const Tensor printed = print_tensor(x);
  std::vector<Function> kept;
  for (int i = 0; i < 2; ++i) {
    kept.push_back(on_this_line(x, printed));
    CHECK(kept.back().stats().compiles == 1);
    const EnvironmentVariable disable("KILN_DISABLE", "executable_cache");
    kept.push_back(on_this_line(x, x + 1));
    CHECK(kept.back().stats().compiles == 1);
  }
}

TEST_CASE("executable cache: the last executables of eval are kept, up to a bound") {
  const EnvironmentVariable enable("KILN_DISABLE", std::nullopt);
  const std::string before = backend();
  set_backend("reference");
  const auto compiles = [](int number) {
    const auto start = runtime::executable_cache_counts().compiled;
    eval(sum(constant(Array{1, 2}, {.dtype = "int32"}) + number));
    return runtime::executable_cache_counts().compiled - start;
  };
  const int count = static_cast<int>(runtime::kMaxKept);
  int compiled = 0;
  for (int i = 0; i <= count; ++i) compiled += static_cast<int>(compiles(i));
  CHECK(compiled == count + 1);
  CHECK(compiles(count) == 0);
  CHECK(compiles(1) == 0);
  CHECK(compiles(0) == 1);
  CHECK(compiles(1) == 0);
  CHECK(compiles(2) == 1);
  set_backend(before);
}

TEST_CASE("executable cache: a child process uses what its parent has compiled") {
  const EnvironmentVariable enable("KILN_DISABLE", std::nullopt);
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  const auto compile = [&] { return function({x}, {x + 4}, {.backend = "reference"}); };
  const Function f = compile();
  CHECK(compile().stats().cache_hits == 1);
  CHECK(kiln::testing::in_child([&] {
          const Function g = compile();
          if (g.stats().cache_hits != 1) return 1;
          return g({Array{1.f}})[0] == Array{5.f} ? 0 : 2;
        }) == 0);
  CHECK(compile().stats().cache_hits == 1);
}
