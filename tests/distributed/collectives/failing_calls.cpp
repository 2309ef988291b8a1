// Each right call adds the number of ranks to w.
#include "tests/distributed/collectives/failing_calls.h"

namespace K = kiln;
namespace D = kiln::distributed;

namespace kiln::testing {

FailingStep::FailingStep(const char* backend) {
  const auto first = D::all_reduce(x * K::gather(x, before));
  const auto second = D::all_gather(K::gather(first, between));
  const auto last = D::reduce_scatter(K::concatenate({second, second}));
  function = K::function({x, before, between, after},
                         {K::sum(last), D::broadcast(w), K::gather(second, after)},
                         {.updates = {K::update_add(w, K::gather(first, after))},
                          .name = "train",
                          .backend = backend});
}

std::vector<Array> FailingStep::inputs(int before_index, int between_index, int after_index) const {
  return {K::Array::full({3, 2}, 1), K::Array(before_index), K::Array(between_index),
          K::Array(after_index)};
}

void expect_right_call(Faults& faults, const FailingStep& step, int calls, const D::Group& world) {
  const auto found = step.function(step.inputs(0, 1, 2));
  const auto ranks = static_cast<float>(world.size()), before = static_cast<float>(calls) * ranks;
  faults.expect_equal("broadcast", found[1], K::Array{before, before});
  faults.expect_equal("row", found[2], K::Array(ranks));
  faults.expect_equal("w", K::get_value(step.w), K::Array{before + ranks, before + ranks});
}

void expect_failure(Faults& faults, const std::string& own, const std::function<void()>& call,
                    const D::Group& world) {
  const std::string error = thrown_by(call);
  if (world.rank() == kFailing) {
    return faults.expect(error.starts_with(own), "error: '" + error + "' is not '" + own + "'");
  }
  const std::string told = own.substr(own.find(' ') + 1);  // without its class
  const std::string begin = "DistributedError of 1: train: rank 1 failed: " + told;
  faults.expect(error.starts_with(begin) && error.ends_with("; no variable changed on any rank"),
                "error: '" + error + "' does not begin with '" + begin + "'");
}

std::string run_failing_indices(const fake::Settings& settings,
                                std::span<const char* const> backends) {
  return run_sessions(settings, [&](const D::Group& world) {
    Faults faults;
    for (const char* backend : backends) {
      const FailingStep step(backend);
      int calls = 0;
      expect_right_call(faults, step, calls++, world);
      const struct {
        int before, between, after, wrong;
      } rows[] = {{7, 1, 2, 7}, {0, 8, 2, 8}, {0, 1, 9, 9}, {-5, 8, 9, -5}};
      for (const auto& row : rows) {
        const auto inputs = world.rank() == kFailing
                                ? step.inputs(row.before, row.between, row.after)
                                : step.inputs(0, 1, 2);
        const std::string error = "ValueError: train: index " + std::to_string(row.wrong) + " is";
        expect_failure(faults, error, [&] { step.function(inputs); }, world);
        expect_right_call(faults, step, calls++, world);
      }
    }
    return faults.text();
  });
}

std::string run_failing_checks(const fake::Settings& settings,
                               std::span<const char* const> backends) {
  return run_sessions(settings, [&](const D::Group& world) {
    Faults faults;
    const auto ranks = static_cast<float>(world.size());
    for (const char* backend : backends) {
      const auto x = K::placeholder({.shape = {2}}), y = K::placeholder({.shape = {2}});
      const auto w = K::variable({0., 0.});
      const auto sum = D::all_reduce(K::log(x));
      const auto second = D::all_reduce(K::exp(K::log(y * K::exp(sum))));
      const auto f = K::function({x, y}, {second},
                                 {.updates = {K::update_add(w, sum)},
                                  .name = "train",
                                  .backend = backend,
                                  .check_numerics = true});
      const K::Array right{1.f, 1.f}, wrong{1.f, -1.f};
      const bool fails = world.rank() == kFailing;
      const std::string error = "FloatingPointError: train: op log at ";
      expect_failure(faults, error, [&] { f({fails ? wrong : right, right}); }, world);
      expect_failure(faults, error, [&] { f({right, fails ? wrong : right}); }, world);
      faults.expect_equal("w", K::get_value(w), K::Array{0.f, 0.f});
      faults.expect_equal("after", f({right, right})[0], K::Array{ranks, ranks});
    }
    return faults.text();
  });
}

}  // namespace kiln::testing
