// A rank whose call fails, at any point: its own error there, a DistributedError with its text on
// the others, no variable changed on any rank, and the next call works.
#include "tests/distributed/collectives/failing_calls.h"
#include "tests/support/catch.h"

namespace K = kiln;
namespace D = kiln::distributed;

namespace kiln::testing {
namespace {

TEST_CASE("failing rank: an index out of range before, between and after collectives") {
  CHECK(run_failing_indices({.ranks = 3, .seed = 1}, kBackends) == "");
}

TEST_CASE("failing rank: inputs that are rejected") {
  const std::string ends = run_sessions({.ranks = 3, .seed = 2}, [](const D::Group& world) {
    Faults faults;
    for (const char* backend : kBackends) {
      const FailingStep step(backend);
      const std::vector<K::Array> right = step.inputs(0, 1, 2);
      const auto with = [&](std::size_t i, const K::Array& array) {
        std::vector<K::Array> inputs = right;
        inputs[i] = array;
        return inputs;
      };
      const struct {
        const char* text;
        std::function<void()> call;
      } rows[] = {
          {"ValueError: train: inputs[0] (x float32[3,2]) was fed an array of shape [1]",
           [&] { step.function(with(0, K::Array{1.f})); }},
          {"ValueError: train: inputs[0] (x float32[3,2]) was fed an array of shape [3,3]",
           [&] { step.function(with(0, K::Array::zeros({3, 3}))); }},
          {"ValueError: train: takes 4 inputs but 1 was given",
           [&] { step.function(std::vector<K::Array>{right[0]}); }},
          {"ValueError: train: takes 4 inputs but 2 were given",
           [&] { step.function({right[0], right[1]}); }},
          {"TypeError: train: inputs[0] is dense but was fed a SparseArray",
           [&] {
             step.function(std::vector<K::Feed>{K::SparseArray::of_dense(right[0]), right[1],
                                                right[2], right[3]});
           }},
          {"ValueError: train: takes 4 inputs but 0 were given",
           [&] { step.function.call_into({}, {}); }},
          {"ValueError: train: gives 3 outputs but 0 views were given",
           [&] {
             std::vector<K::ArrayView> views;
             for (const K::Array& array : right) views.push_back(array.as_view());
             step.function.call_into(views, {});
           }},
      };
      int calls = 0;
      for (const auto& row : rows) {
        expect_failure(
            faults, row.text,
            [&] { world.rank() == kFailing ? row.call() : void(step.function(right)); }, world);
        expect_right_call(faults, step, calls++, world);
      }
    }
    return faults.text();
  });
  CHECK(ends == "");
}

TEST_CASE("failing rank: NaN where numbers are checked") {
  CHECK(run_failing_checks({.ranks = 3, .seed = 3}, kBackends) == "");
}

}  // namespace
}  // namespace kiln::testing
