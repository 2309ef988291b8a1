// Tests the allocations of calls whose sizes change: none for sizes that are known, few for new
// ones, and one packed copy of a weight for all sizes and all threads.
#include "tests/support/catch.h"
#include "tests/runtime/host_allocations/counted.h"

#include <kiln/k.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

using namespace kiln;
using allocations_test::allocations_of;
using allocations_test::exchange_largest_request;
using allocations_test::exchange_large_requests;

namespace {

Array filled(const std::vector<std::int64_t>& dims, float first) {
  Array array = Array::zeros(dims);
  for (float& value : array.as<float>()) value = first = first > 1 ? first - 1.7f : first + 0.13f;
  return array;
}

/// A call of a function with memory for its results.
class Call {
 public:
  Call(Function f, std::vector<Array> feeds) : f_(std::move(f)), feeds_(std::move(feeds)) {
    for (const Array& result : f_(feeds_)) results_.push_back(Array::zeros(result.dims()));
    for (const Array& feed : feeds_) inputs_.push_back(feed.as_view());
    for (Array& result : results_) {
      outputs_.push_back({result.dtype(), result.data(), result.dims()});
    }
  }
  void run() { f_.call_into(inputs_, outputs_); }
  const std::vector<Array>& feeds() const { return feeds_; }
  const std::vector<Array>& results() const { return results_; }

 private:
  Function f_;
  std::vector<Array> feeds_, results_;
  std::vector<ArrayView> inputs_;
  std::vector<MutableArrayView> outputs_;
};

struct SizedModel {
  Function f;
  std::function<std::vector<Array>(std::int64_t)> feeds;  // for one size
};

/// Two layers whose weights are packed, or concatenated first.
SizedModel layers() {
  const Tensor x = placeholder({.shape = {None, 48}});
  const Variable w = variable(filled({48, 64}, 0.1f)), u = variable(filled({64, 40}, 0.2f));
  const Variable v = variable(filled({64, 24}, 0.3f));
  const Tensor h = tanh(dot(x, w));
  const Function f =
      function({x}, {softmax(dot(h, u)), sigmoid(dot(h, v)), sum(h)}, {.backend = "cpu"});
  return {f, [](std::int64_t n) { return std::vector<Array>{filled({n, 48}, 0.4f)}; }};
}

/// A loop over as many steps, on as many rows.
SizedModel loop() {
  const Tensor x = placeholder({.shape = {None, None, 16}});
  const Variable w = variable(filled({16, 32}, 0.1f)), u = variable(filled({32, 32}, 0.2f));
  const Tensor start = zeros_like(dot(gather(permute_dimensions(x, {1, 0, 2}), 0), w));
  const RnnResult run = rnn(
      [&](const Tensor& input, const std::vector<Tensor>& states) {
        const Tensor h = tanh(dot(input, w) + dot(states[0], u) * 0.1);
        return StepResult{h, {h}};
      },
      x, {start});
  return {function({x}, {run.last_output}, {.backend = "cpu"}),
          [](std::int64_t n) { return std::vector<Array>{filled({n, 1 + n % 7, 16}, 0.4f)}; }};
}

/// Attention over a cache, whose keys and values grow by a row.
SizedModel cache() {
  const Tensor q = placeholder({.shape = {4, 1, 8}}), k = placeholder({.shape = {4, None, 8}});
  const Tensor v = placeholder({.shape = {4, None, 8}}), last = placeholder({.shape = {4, 1, 8}});
  const Tensor keys = concatenate({k, last}, {.axis = 1});
  const Tensor values = concatenate({v, last}, {.axis = 1});
  const Tensor weights = softmax(batch_dot(q, permute_dimensions(keys, {0, 2, 1})));
  return {function({q, k, v, last}, {batch_dot(weights, values), keys}, {.backend = "cpu"}),
          [](std::int64_t n) {
            return std::vector<Array>{filled({4, 1, 8}, 0.1f), filled({4, n, 8}, 0.2f),
                                      filled({4, n, 8}, 0.3f), filled({4, 1, 8}, 0.4f)};
          }};
}

const struct {
  const char* name;
  SizedModel (*make)();
} kModels[] = {{"layers", layers}, {"a loop", loop}, {"a growing cache", cache}};

/// 50 layers of a matmul and a kernel each, on tiny tensors.
Function hundred_steps() {
  const Tensor x = placeholder({.shape = {None, 8}});
  Tensor y = x;
  for (int layer = 0; layer < 50; ++layer) {
    y = softmax(dot(y, variable(filled({8, 8}, 0.01f * static_cast<float>(layer)))));
  }
  return function({x}, {y}, {.backend = "cpu"});
}

constexpr std::int64_t kWeightRows = 1024, kWeightColumns = 1536;
constexpr std::size_t kWeightBytes = kWeightRows * kWeightColumns * sizeof(float);

}  // namespace

TEST_CASE("sizes in rotation: no allocations") {
  for (const int threads : {1, 2}) {
    set_threads(threads);
    for (const auto& [name, make] : kModels) {
      for (const std::int64_t sizes : {2, 8, 64}) {
        INFO(name << ", sizes: " << sizes << ", threads: " << threads);
        const SizedModel model = make();
        std::vector<Call> calls;
        for (std::int64_t n = 1; n <= sizes; ++n) calls.emplace_back(model.f, model.feeds(n));
        for (int round = 0; round < 2; ++round) {
          for (Call& call : calls) call.run();
        }
        CHECK(allocations_of([&] {
                for (Call& call : calls) call.run();
                for (Call& call : calls) call.run();
              }) == 0);
        CHECK(model.f.stats().bindings == sizes);
        for (Call& call : calls) {
          const std::vector<Array> want = make().f(call.feeds());
          for (std::size_t i = 0; i < want.size(); ++i) CHECK(call.results()[i] == want[i]);
          if (sizes == 64) break;
        }
      }
    }
  }
}

TEST_CASE("sizes in rotation: operator() allocates only its results") {
  set_threads(1);
  const SizedModel model = layers();
  std::vector<std::vector<Array>> feeds;
  for (const std::int64_t n : {1, 2}) feeds.push_back(model.feeds(n));
  for (int i = 0; i < 6; ++i) model.f(feeds[static_cast<std::size_t>(i % 2)]);
  CHECK(allocations_of([&] { model.f(feeds[0]), model.f(feeds[1]); }) <= 2 * 4);
}

TEST_CASE(
    "new sizes: binding a plan of a hundred steps makes at most 20 allocations, not larger "
    "ones") {
  set_threads(1);
  const Function f = hundred_steps();
  for (const std::int64_t n : {300, 1, 2}) f({filled({n, 8}, 0.5f)});  // 300: the largest arena
  std::vector<std::int64_t> counts;
  std::vector<std::size_t> largest;
  for (std::int64_t n = 3; n < 100; ++n) {
    const Array x = filled({n, 8}, 0.5f);
    Array y = Array::zeros({n, 8});
    const ArrayView input = x.as_view();
    const MutableArrayView output{y.dtype(), y.data(), y.dims()};
    exchange_largest_request();
    counts.push_back(allocations_of([&] { f.call_into({&input, 1}, {&output, 1}); }));
    largest.push_back(exchange_largest_request());
  }
  CHECK(largest.back() > 4096);
  CHECK(largest.back() == largest[largest.size() / 2]);  // the memory of the plan
  std::sort(counts.begin(), counts.end());
  CHECK(counts[counts.size() / 2] <= 20);
  CHECK(counts[counts.size() - 5] <= 20);  // tables of known sizes grow now and then
}

TEST_CASE("weights: one packed copy for all sizes and all threads") {
  set_threads(2);
  const Tensor x = placeholder({.shape = {None, kWeightRows}});
  const Variable w = variable(filled({kWeightRows, kWeightColumns}, 0.1f));
  const Function f = function({x}, {dot(x, w)}, {.backend = "cpu"});
  f({filled({32, kWeightRows}, 0.2f)});
  exchange_large_requests(kWeightBytes - 1);
  std::vector<std::thread> threads;
  for (std::int64_t first = 8; first < 12; ++first) {
    threads.emplace_back([&, first] {
      for (std::int64_t n = first; n < 60; n += 4) f({filled({n, kWeightRows}, 0.2f)});
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(exchange_large_requests(kWeightBytes - 1) == 0);

  // All threads see the new value first; the memory of the old one is reused or freed.
  set_value(w, filled({kWeightRows, kWeightColumns}, 0.3f));
  exchange_large_requests(kWeightBytes - 1);
  threads.clear();
  for (std::int64_t n = 20; n < 24; ++n) {
    threads.emplace_back([&, n] { f({filled({n, kWeightRows}, 0.2f)}); });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(exchange_large_requests(SIZE_MAX) <= 1);
  const Function plain = function({x}, {dot(x, w)}, {.backend = "cpu", .optimize = false});
  CHECK(f({filled({16, kWeightRows}, 0.2f)})[0] == plain({filled({16, kWeightRows}, 0.2f)})[0]);
}

TEST_CASE("weights: a weight that another function updates is packed into the same memory") {
  set_threads(1);
  const Tensor x = placeholder({.shape = {None, 64}});
  const Variable w = variable(filled({64, 96}, 0.1f));
  const Function step = function({}, {}, {.updates = {update_sub(w, w * 0.01)}, .backend = "cpu"});
  const Function f = function({x}, {dot(x, w)}, {.backend = "cpu"});
  std::vector<Call> calls;
  for (const std::int64_t n : {16, 24, 40}) calls.emplace_back(f, std::vector{filled({n, 64}, 1)});
  const auto round = [&] {
    for (Call& call : calls) {
      step.call_into({}, {});
      call.run();
    }
  };
  for (int i = 0; i < 3; ++i) round();
  CHECK(allocations_of([&] {
          for (int i = 0; i < 10; ++i) round();
        }) == 0);
  for (Call& call : calls) call.run();
  const Array want = f(calls[1].feeds())[0];
  CHECK(calls[1].results()[0] == want);
}

TEST_CASE("weights: every call of any size sees one version while a variable changes") {
  set_threads(2);
  const Tensor x = placeholder({.shape = {None, 64}});
  const Variable w = variable(Array::full({64, 96}, 1));
  const Function f = function({x}, {dot(x, concatenate({w, w}, {.axis = 1}))}, {.backend = "cpu"});
  std::atomic<bool> stop = false;
  std::atomic<int> mixed = 0, calls = 0;
  std::vector<std::thread> threads;
  for (std::int64_t first = 0; first < 4; ++first) {
    threads.emplace_back([&, first] {
      for (std::int64_t n = first; !stop; ++n) {
        const Array y = f({Array::full({1 + n % 40, 64}, 1)})[0];
        const auto values = y.as<float>();
        const float value = values[0];
        const bool same =
            std::all_of(values.begin(), values.end(), [&](float one) { return one == value; });
        if (!same || value < 64 || value > 64 * 30) ++mixed;
        ++calls;
      }
    });
  }
  for (int value = 2; value <= 30; ++value) {
    const int before = calls;
    set_value(w, Array::full({64, 96}, static_cast<float>(value)));
    while (calls < before + 3) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(mixed == 0);
  CHECK(f({Array::full({3, 64}, 1)})[0] == Array::full({3, 192}, 64 * 30));
}
