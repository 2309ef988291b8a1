// Depth follows the user's graph: a chain of a million nodes is built, walked, rebuilt and freed on
// a thread with a 256 KiB stack.
#include "tests/catch.h"

#include "core/ir/traverse.h"
#include "core/ops/build.h"
#include "core/ops/lambda_builder.h"

#include <pthread.h>

#include <functional>

using namespace kiln;
using namespace kiln::ir;

namespace {

constexpr std::size_t kLength = 1'000'000;

/// Runs on a thread with a small stack; an exception is an answer of false.
bool run_on_small_stack(std::function<void()> run) {
  struct Job {
    std::function<void()> run;
    bool done = false;
  } job{std::move(run)};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  pthread_t thread;
  const auto body = [](void* argument) -> void* {
    auto& own = *static_cast<Job*>(argument);
    try {
      own.run();
      own.done = true;
    } catch (...) {
    }
    return nullptr;
  };
  const int started = pthread_create(&thread, &attributes, body, &job);
  pthread_attr_destroy(&attributes);
  if (started == 0) pthread_join(thread, nullptr);
  return job.done;
}

Value argument(std::int64_t id) {
  return make(Op::Placeholder, PlaceholderAttrs{id, "x", {DType::Float32, {2}}}, {});
}

Value chain(const Value& start, std::size_t length) {
  Value value = start;
  for (std::size_t i = 0; i < length; ++i) value = value + start;
  return value;
}

}  // namespace

TEST_CASE("a chain of a million nodes lives and dies on a small stack") {
  const std::size_t before = live_node_count();
  std::size_t visited = 0, alive = 0, guards = 1;
  bool same = false;
  CHECK(run_on_small_stack([&] {
    const Value end = chain(argument(1), kLength);
    alive = live_node_count();
    const std::vector<Value> roots{end};
    visited = topological_order(roots).size();
    guards = collect_guards(roots).size();
    same = chain(argument(1), kLength) == end;
  }));
  CHECK(visited == kLength + 1);
  CHECK(alive == before + kLength + 1);
  CHECK(guards == 0);
  CHECK(same);
  CHECK(live_node_count() == before);
}

TEST_CASE("a deep chain is rebuilt on other arguments") {
  constexpr std::size_t kShorter = 100'000;
  const std::size_t before = live_node_count();
  bool equal = false;
  CHECK(run_on_small_stack([&] {
    const Value x = argument(1), y = argument(2);
    const std::vector<Value> roots{chain(x, kShorter)};
    const std::vector<Value> rebuilt = replace_values(roots, Replacements{{x, y}});
    equal = rebuilt[0] == chain(y, kShorter);
  }));
  CHECK(equal);
  CHECK(live_node_count() == before);
}

TEST_CASE("a wide node and its operands die once each") {
  const std::size_t before = live_node_count();
  {
    std::vector<Value> parts;
    for (std::int64_t i = 0; i < 1000; ++i) parts.push_back(argument(i));
    const Value joined = concat(parts, 0);
    parts.clear();
    CHECK(live_node_count() == before + 1001);
    CHECK(joined.dims() == Dims{2000});
  }
  CHECK(live_node_count() == before);
}
