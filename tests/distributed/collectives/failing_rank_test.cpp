// A rank whose call fails, at any point: its own error there, a DistributedError with its text on
// the others, no variable changed on any rank, and the next call works.
#include "tests/distributed/collectives/session_ranks.h"
#include "tests/support/catch.h"

namespace K = kiln;
namespace D = kiln::distributed;

namespace kiln::testing {
namespace {

constexpr std::int64_t kFailing = 1;  // the rank

/// One training step that looks up a row of x before, between or after its collectives.
struct Step {
  K::Tensor w = K::variable({0., 0.}, {.name = "w", .per_rank = true});
  K::Tensor x = K::placeholder({.shape = {3, 2}, .name = "x"});
  K::Tensor before = K::placeholder({.shape = {}, .dtype = "int32"});
  K::Tensor between = K::placeholder({.shape = {}, .dtype = "int32"});
  K::Tensor after = K::placeholder({.shape = {}, .dtype = "int32"});
  K::Function function;

  explicit Step(const char* backend) {
    const auto first = D::all_reduce(x * K::gather(x, before));
    const auto second = D::all_gather(K::gather(first, between));
    const auto last = D::reduce_scatter(K::concatenate({second, second}));
    function = K::function({x, before, between, after},
                           {K::sum(last), D::broadcast(w), K::gather(second, after)},
                           {.updates = {K::update_add(w, K::gather(first, after))},
                            .name = "train",
                            .backend = backend});
  }
  std::vector<K::Array> inputs(int before_index, int between_index, int after_index) const {
    return {K::Array::full({3, 2}, 1), K::Array(before_index), K::Array(between_index),
            K::Array(after_index)};
  }
};

/// Calls `step` rightly, and checks its results and w after `calls` such calls.
void expect_right_call(Faults& faults, const Step& step, int calls, const D::Group& world) {
  const auto found = step.function(step.inputs(0, 1, 2));
  const auto ranks = static_cast<float>(world.size()), before = static_cast<float>(calls) * ranks;
  faults.expect_equal("broadcast", found[1], K::Array{before, before});
  faults.expect_equal("row", found[2], K::Array(ranks));
  faults.expect_equal("w", K::get_value(step.w), K::Array{before + ranks, before + ranks});
}

/// Expects that the call throws an error that begins so on the failing rank, and on the others one
/// with its text.
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

TEST_CASE("failing rank: an index out of range before, between and after collectives") {
  const std::string ends = run_sessions({.ranks = 3, .seed = 1}, [](const D::Group& world) {
    Faults faults;
    for (const char* backend : kBackends) {
      const Step step(backend);
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
  CHECK(ends == "");
}

TEST_CASE("failing rank: inputs that are rejected") {
  const std::string ends = run_sessions({.ranks = 3, .seed = 2}, [](const D::Group& world) {
    Faults faults;
    for (const char* backend : kBackends) {
      const Step step(backend);
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
  const std::string ends = run_sessions({.ranks = 3, .seed = 3}, [](const D::Group& world) {
    Faults faults;
    for (const char* backend : kBackends) {
      const auto x = K::placeholder({.shape = {2}});
      const auto w = K::variable({0., 0.});
      const auto sum = D::all_reduce(K::log(x));
      const auto f = K::function({x}, {D::all_reduce(K::exp(sum))},
                                 {.updates = {K::update_add(w, sum)},
                                  .name = "train",
                                  .backend = backend,
                                  .check_numerics = true});
      const K::Array right{1.f, 1.f}, wrong{1.f, -1.f};
      expect_failure(
          faults, "FloatingPointError: train: op log at ",
          [&] { f({world.rank() == kFailing ? wrong : right}); }, world);
      faults.expect_equal("w", K::get_value(w), K::Array{0.f, 0.f});
      faults.expect_equal("after", f({right})[0], K::Array{3.f, 3.f});
    }
    return faults.text();
  });
  CHECK(ends == "");
}

}  // namespace
}  // namespace kiln::testing
