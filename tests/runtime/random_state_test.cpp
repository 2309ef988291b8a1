// Tests kiln/random_state.h: whose calls count, saved positions, scopes and threads.
#include "tests/support/catch.h"
#include "tests/support/misuse.h"

#include <kiln/k.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>

namespace kiln {
namespace {

using testing::Misuse;
using testing::throws;

/// A function that draws, on a stream that depends on its calls only.
Function drawing(const std::optional<RandomState>& state, const char* backend = "") {
  return function({}, {random_uniform({4}, {.seed = 7})}, {.backend = backend, .random = state});
}

std::vector<Array> draws(const Function& f, int count) {
  std::vector<Array> results;
  for (int i = 0; i < count; ++i) results.push_back(f()[0]);
  return results;
}

}  // namespace

TEST_CASE("random state: only the calls of its own functions count") {
  for (const char* backend : {"cpu", "reference"}) {
    INFO(backend);
    set_random_seed(1);
    const std::vector<Array> alone = draws(drawing({}, backend), 3);
    const RandomState state(5);
    const Function own = drawing(state, backend), shared = drawing({}, backend);
    set_random_seed(1);
    for (int i = 0; i < 3; ++i) {
      CHECK(own()[0] == alone[static_cast<std::size_t>(i)]);
      shared();
      eval(random_uniform({2}));
    }
    CHECK(state.next_call() == 3);
    CHECK(RandomState::of_process().next_call() == 6);
    // Without a state of its own, the draws of others change a function's.
    set_random_seed(1);
    shared();
    eval(random_uniform({2}));
    CHECK_FALSE(shared()[0] == alone[1]);
  }
}

TEST_CASE("random state: functions with one state count together, and share masks with gradients") {
  const RandomState state(5);
  const Function f = drawing(state), g = drawing(state);
  const Array first = f()[0], second = g()[0];
  CHECK_FALSE(first == second);
  CHECK(draws(drawing(RandomState(5)), 2) == std::vector<Array>{first, second});
  const auto x = placeholder({.shape = {None}});
  const Tensor y = dropout(x, 0.5);
  const auto both = function({x}, {y, gradients(sum(y), {x})[0]}, {.random = state});
  const auto results = both({Array::full({64}, 1, DType::Float32)});
  CHECK(results[0] == results[1]);
  CHECK(state.next_call() == 3);
  function({x}, {x * 2}, {.random = state})({Array{1.f}});
  CHECK(state.next_call() == 3);
}

TEST_CASE("random state: a saved position gives the same draws and seeds") {
  for (const bool of_process : {false, true}) {
    INFO(of_process);
    set_random_seed(3);
    const RandomState state = of_process ? RandomState::of_process() : RandomState(3, 8);
    const Function f = drawing(state);
    const auto draw = [&] {
      const RandomScope scope(state);
      std::vector<Array> results = draws(f, 2);
      results.push_back(get_value(random_uniform_variable({3}, 0, 1)));
      results.push_back(eval(random_uniform({3})));
      return results;
    };
    draw();
    const RandomPosition saved = state.position();
    CHECK(saved.seed == 3);
    CHECK(saved.seeds_drawn == 2);
    CHECK(saved.next_call == (of_process ? 3 : 11));
    const std::vector<Array> expected = draw();
    CHECK_FALSE(draw() == expected);
    state.set_position(saved);
    CHECK(state.position() == saved);
    CHECK(draw() == expected);
    const RandomState other(99);  // another state may continue there as well
    other.set_position(saved);
    CHECK(drawing(other)()[0] == expected[0]);
  }
}

TEST_CASE("random state: set_random_seed resets the process's and no other") {
  const RandomState state(4), process = RandomState::of_process();
  draws(drawing(state), 2);
  draws(drawing(process), 2);
  set_random_seed(12);
  CHECK(state.position() == RandomPosition{.seed = 4, .next_call = 2});
  CHECK(process.position() == RandomPosition{.seed = 12});
}

TEST_CASE("random scope: gives seeds and counts what is made within it") {
  const auto build_and_draw = [](const RandomState& state) {
    const Function f = [&] {
      const RandomScope scope(state);
      const auto w = random_normal_variable({4}, 0, 1);
      return function({}, {w + random_uniform({4}), constant(eval(random_normal({4}))) + w});
    }();
    random_uniform({2});  // draws a seed of the process
    eval(random_uniform({2}));
    f();
    return f();
  };
  const RandomState state(6);
  const auto first = build_and_draw(state), again = build_and_draw(RandomState(6));
  CHECK(first[0] == again[0]);
  CHECK(first[1] == again[1]);
  CHECK_FALSE(build_and_draw(RandomState(7))[1] == first[1]);
  CHECK(state.position() == RandomPosition{.seed = 6, .seeds_drawn = 3, .next_call = 3});
}

TEST_CASE("random scope: the innermost counts, on its thread only") {
  const RandomState outer(1), inner(2);
  const RandomScope scope(outer);
  {
    const RandomScope nested(inner);
    random_uniform({2});
    std::thread([] { random_uniform({2}); }).join();
    drawing(RandomState(3))();  // an option counts more than a scope
  }
  CHECK(inner.position() == RandomPosition{.seed = 2, .seeds_drawn = 1});
  eval(random_uniform({2}));
  CHECK(outer.position() == RandomPosition{.seed = 1, .seeds_drawn = 1, .next_call = 1});
}

TEST_CASE("random scope: scopes may end out of order") {
  const RandomState first(1), second(2);
  auto outer = std::make_unique<RandomScope>(first);
  const auto inner = std::make_unique<RandomScope>(second);
  outer.reset();
  random_uniform({2});
  CHECK(second.position() == RandomPosition{.seed = 2, .seeds_drawn = 1});
  auto innermost = std::make_unique<RandomScope>(first);
  innermost.reset();
  random_uniform({2});
  CHECK(second.position() == RandomPosition{.seed = 2, .seeds_drawn = 2});
  CHECK(first.position() == RandomPosition{.seed = 1});
}

TEST_CASE("random state: a rejected call takes no number, one that fails while it runs does") {
  const RandomState state(5);
  const auto x = placeholder({.shape = {2}});
  const auto f =
      function({x}, {print_tensor(random_uniform({2}, {.seed = 7}) + x)}, {.random = state});
  CHECK_THROWS_AS(f({Array{1.f}}), ValueError);
  CHECK(state.next_call() == 0);
  set_print_sink([](std::string_view) { throw std::runtime_error("full"); });
  CHECK_THROWS(f({Array{1.f, 2.f}}));
  set_print_sink({});
  CHECK(state.next_call() == 1);
}

TEST_CASE("random state: threads take different numbers", "[concurrency]") {
  const RandomState state(5);
  const Function f = drawing(state);
  std::vector<std::vector<Array>> found(4);
  std::vector<std::thread> threads;
  for (auto& own : found) {
    threads.emplace_back([&] {
      const RandomScope scope(state);
      for (int i = 0; i < 25; ++i) {
        own.push_back(f()[0]);
        random_uniform({2});
        static_cast<void>(state.position());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(state.position() == RandomPosition{.seed = 5, .seeds_drawn = 100, .next_call = 100});
  const std::vector<Array> expected = draws(drawing(RandomState(5)), 100);
  for (const std::vector<Array>& own : found) {
    for (const Array& drawn : own) {
      CHECK(std::count(expected.begin(), expected.end(), drawn) == 1);
    }
  }
}

TEST_CASE("random state: misuse") {
  const RandomState state(1);
  testing::run(std::vector<Misuse>{
      {throws<ValueError>(), [] { RandomState(1, -1); }, "RandomState: next_call -1 is negative"},
      {throws<ValueError>(), [=] { state.set_position({.next_call = -2}); },
       "set_position: next_call -2 is negative"},
      {throws<ValueError>(), [=] { state.set_position({.seeds_drawn = -3}); },
       "set_position: seeds_drawn -3 is negative"},
      {throws<ValueError>(), [=] { state.set_position({.seeds_drawn = 2'000'000'000}); },
       "set_position: seeds_drawn 2000000000 is more than 1000000000"}});
  CHECK(state.position() == RandomPosition{.seed = 1});
}

TEST_CASE("random state: 0 is a seed") {
  const RandomState state(0);
  CHECK(state.position() == RandomPosition{.seed = 0});
}

}  // namespace kiln
