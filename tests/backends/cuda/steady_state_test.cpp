// Tests the costs of a long-running process: the second call with the same sizes allocates nothing,
// and functions that are destroyed leave nothing.
#include "tests/support/catch.h"
#include "tests/backends/cuda/fake_device.h"
#include "tests/backends/cuda/training_step.h"

#include <array>

using namespace kiln;
using cuda_test::TrainingStep;

namespace {

using cuda_test::control;

std::array<std::size_t, 12> numbers(const FakeCudaUsage& usage) {
  return {usage.allocations,
          usage.bytes,
          usage.pools,
          usage.ranges,
          usage.host_allocations,
          usage.streams,
          usage.events,
          usage.libraries,
          usage.graphs,
          usage.executable_graphs,
          usage.retained_contexts,
          usage.pending_operations};
}

constexpr const char* kAllocating[] = {"cuMemAllocFromPoolAsync", "cuMemHostAlloc",
                                       "cuStreamCreate", "cuEventCreate", "cuMemCreate"};

std::vector<int> allocating_calls() {
  std::vector<int> counts;
  for (const char* function : kAllocating) counts.push_back(control().calls(function));
  return counts;
}

}  // namespace

TEST_CASE("steady state: 1000 calls allocate nothing") {
  control().reset();
  const TrainingStep s("cuda");
  const Array fed = TrainingStep::fed(2);
  // Variables alternate between two buffers, and the second call with each records its graph.
  for (int i = 0; i < 5; ++i) s.step({fed});
  const std::vector<int> allocations = allocating_calls();
  const auto usage = numbers(control().usage());
  for (int i = 0; i < 1000; ++i) s.step({fed});
  CHECK(allocating_calls() == allocations);
  CHECK(numbers(control().usage()) == usage);
}

TEST_CASE("steady state: 1000 rounds of compiling, calling and dropping leave nothing") {
  control().reset();
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  const auto round = [&] {
    const Variable w = variable(Array{1.f, 2.f, 3.f}, {.name = "w"});
    const Function f = function({x}, {sum(x) + constant(Array{1.f, 2.f, 3.f}) * w},
                                {.updates = {update(w, w * 0.5)}, .backend = "cuda"});
    f({Array{1.f, 2.f}});
    f({Array{1.f, 2.f, 3.f}});
  };
  round();
  round();
  const auto usage = numbers(control().usage());
  const std::size_t most = control().usage().max_bytes;
  for (int i = 0; i < 1000; ++i) round();
  CHECK(numbers(control().usage()) == usage);
  CHECK(control().usage().max_bytes == most);
}
