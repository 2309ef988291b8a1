// Tests the path of a call: the backend gets the caller's memory, nothing is allocated from the
// second call on, and variables change completely or not at all.
#include "tests/support/catch.h"

#include "tests/runtime/plugin/allocations.h"
#include "tests/runtime/plugin/fakes.h"

#include <kiln/k.h>

#include <array>
#include <atomic>
#include <thread>

using namespace kiln;
using test::allocations;

namespace {

using Sizes = std::vector<std::int64_t>;

Function increment(const std::string& backend, const Shape& shape, const std::string& name = "f") {
  const Tensor x = placeholder({.shape = shape, .name = "x"});
  return function({x}, {x + 1.0}, {.name = name, .backend = backend});
}

/// Calls f with the view `in` and the view `out`, both of those dims.
void call(const Function& f, const float* in, float* out, const Sizes& dims) {
  const ArrayView view{DType::Float32, in, dims};
  const MutableArrayView target{DType::Float32, out, dims};
  f.call_into({&view, 1}, {&target, 1});
}

std::string error_of(const std::function<void()>& action) {
  return runtime::error_text<ValueError>(action);
}

std::vector<std::string> backends() {
  return {runtime::fake_path("instant"), runtime::fake_path("buffered"), "reference"};
}

/// A counter: each call returns the variable plus one, and adds one to it.
struct Counter {
  explicit Counter(const std::string& name, std::int64_t size = 4)
      : value(zeros({size})),
        step(function({}, {value + 1.0},
                      {.updates = {update_add(value, 1.0)},
                       .name = name,
                       .backend = runtime::fake_path("instant")})) {}
  float read() const { return get_value(value).as<float>()[0]; }
  Tensor value;
  Function step;
};

}  // namespace

TEST_CASE("call_into: the caller's memory is read and written, without allocations", "[plugin]") {
  const Function f = increment(runtime::fake_path("instant"), {None, 4});
  const Sizes dims{2, 4}, more{3, 4};
  std::array<float, 12> in{}, out{};
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  call(f, in.data(), out.data(), dims);
  const std::int64_t before = allocations();
  for (int i = 0; i < 100; ++i) call(f, in.data(), out.data(), dims);
  CHECK(allocations() == before);
  for (std::size_t i = 0; i < 8; ++i) CHECK(out[i] == in[i] + 1);
  CHECK(out[8] == 0);
  call(f, in.data(), out.data(), more);
  CHECK(out[11] == 12);
  const std::int64_t after = allocations();
  call(f, in.data(), out.data(), more);
  CHECK(allocations() == after);
  CHECK(f.stats().calls == 103);
}

TEST_CASE("call_into: outputs over inputs and odd addresses give the same results", "[plugin]") {
  for (const std::string& backend : backends()) {
    INFO(backend);
    const Function f = increment(backend, {None});
    std::array<float, 9> memory{0, 1, 2, 3, 4, 5, 6, 7, 8};
    call(f, memory.data(), memory.data(), {4});
    CHECK(memory == std::array<float, 9>{1, 2, 3, 4, 4, 5, 6, 7, 8});
    call(f, memory.data(), memory.data() + 2, {4});
    CHECK(memory == std::array<float, 9>{1, 2, 2, 3, 4, 5, 6, 7, 8});
    alignas(16) std::array<std::byte, 40> bytes{};
    const float one = 1;
    std::memcpy(bytes.data() + 1, &one, sizeof(one));
    call(f, reinterpret_cast<const float*>(bytes.data() + 1),
         reinterpret_cast<float*>(bytes.data() + 19), {1});
    float result = 0;
    std::memcpy(&result, bytes.data() + 19, sizeof(result));
    CHECK(result == 2);
    call(f, nullptr, nullptr, {0});
  }
}

TEST_CASE("call_into: memory that outputs share holds the last output", "[plugin]") {
  const Sizes dims{2};
  const std::array<float, 2> in{1, 2};
  const ArrayView view{DType::Float32, in.data(), dims};
  for (const char* backend : {"cpu", "reference"}) {
    INFO(backend);
    const Tensor x = placeholder({.shape = {2}});
    const Function f = function({x}, {x + 1.0, x + 2.0}, {.backend = backend});
    const auto run = [&](std::size_t first, std::size_t second) {
      std::array<float, 3> out{};
      const MutableArrayView targets[] = {{DType::Float32, out.data() + first, dims},
                                          {DType::Float32, out.data() + second, dims}};
      f.call_into({&view, 1}, targets);
      return out;
    };
    CHECK(run(1, 0) == std::array<float, 3>{3, 4, 3});
    CHECK(run(0, 1) == std::array<float, 3>{2, 3, 4});
    CHECK(run(0, 0) == std::array<float, 3>{3, 4, 0});
  }
}

TEST_CASE("call_into: views that do not fit are rejected before anything runs", "[plugin]") {
  const Function f = increment(runtime::fake_path("instant"), {None, 4});
  std::array<float, 12> in{}, out{};
  const Sizes dims{2, 4}, wrong{3, 4}, odd{2, 5};
  const ArrayView view{DType::Float32, in.data(), dims}, bad{DType::Float32, in.data(), odd};
  const ArrayView nowhere{DType::Float32, nullptr, dims};
  const MutableArrayView target{DType::Float32, out.data(), wrong};
  const MutableArrayView nothing{DType::Float32, nullptr, dims};
  CHECK(error_of([&] { f.call_into({&view, 1}, {&target, 1}); }) ==
        "f: outputs[0] is float32[2,4] but the view is float32[3,4]");
  CHECK(error_of([&] { f.call_into({&bad, 1}, {&target, 1}); }) ==
        "f: inputs[0] (x float32[x.0,4]) was fed an array of shape [2,5]");
  CHECK(error_of([&] { f.call_into({&nowhere, 1}, {&target, 1}); }) ==
        "f: inputs[0] (x float32[x.0,4]) was fed a null address");
  CHECK(error_of([&] { f.call_into({&view, 1}, {&nothing, 1}); }) ==
        "f: outputs[0] has a null address");
  CHECK(error_of([&] { f.call_into({&view, 1}, {}); }) ==
        "f: gives 1 output but 0 views were given");
  CHECK(f.stats().calls == 0);
  call(f, in.data(), out.data(), dims);
  CHECK(out[0] == 1);
  CHECK(f.stats().calls == 1);
}

TEST_CASE("call: guards are checked again when sizes change", "[plugin]") {
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  const Tensor y = placeholder({.shape = {None}, .name = "y"});
  const Function f = function({x, y}, {x + y}, {.name = "f", .backend = "reference"});
  const std::vector<Array> good{Array{1.f, 2.f}, Array{3.f, 4.f}};
  CHECK(f(good)[0] == Array{4.f, 6.f});
  CHECK_THROWS_AS(f({Array{1.f, 2.f}, Array{3.f}}), ValueError);
  CHECK(f(good)[0] == Array{4.f, 6.f});
  CHECK_THROWS_AS(f({Array{1.f, 2.f, 5.f}, Array{3.f, 4.f}}), ValueError);
  CHECK(f({Array{1.f}, Array{3.f}})[0] == Array{4.f});
}

TEST_CASE("call: steady updates allocate nothing and alternate between two buffers", "[plugin]") {
  const Counter counter("count");
  std::array<float, 4> out{};
  const Sizes dims{4};
  const MutableArrayView target{DType::Float32, out.data(), dims};
  for (int i = 0; i < 3; ++i) counter.step.call_into({}, {&target, 1});
  const std::int64_t before = allocations();
  for (int i = 0; i < 100; ++i) counter.step.call_into({}, {&target, 1});
  CHECK(allocations() == before);
  CHECK(out[3] == 103);
  CHECK(counter.read() == 103);
}

TEST_CASE("call: failing half-way leaves its variables, and the next call works", "[plugin]") {
  const Tensor value = zeros({4});
  const std::string backend = runtime::fake_path("instant");
  const auto compile = [&](const std::string& name) {
    return function({}, {value + 1.0},
                    {.updates = {update_add(value, 1.0)}, .name = name, .backend = backend});
  };
  const Function fails = compile("fail"), works = compile("works");
  for (int round = 0; round < 3; ++round) {
    works();
    CHECK(runtime::error_text<BackendError>([&] { fails(); }) ==
          text("fail: instant was told to fail (backend instant, ", backend, ")"));
    CHECK(get_value(value) == Array::full({4}, round + 1));
  }
  CHECK(fails.stats().calls == 0);
  CHECK(works.stats().calls == 3);
}

TEST_CASE("call: a value that was read stays as it was", "[plugin]") {
  for (const std::string& backend : backends()) {
    const Tensor value = zeros({4});
    const Function step =
        function({}, {}, {.updates = {update_add(value, 1.0)}, .backend = backend});
    std::vector<Array> seen{get_value(value)};
    for (int i = 0; i < 5; ++i) {
      step();
      seen.push_back(get_value(value));
    }
    set_value(value, Array::full({4}, 50));
    seen.push_back(get_value(value));
    step();
    seen.push_back(get_value(value));
    for (int i = 0; i < 6; ++i) CHECK(seen[static_cast<std::size_t>(i)] == Array::full({4}, i));
    CHECK(seen[6] == Array::full({4}, 50));
    CHECK(seen[7] == Array::full({4}, 51));
  }
}

TEST_CASE("call: a variable moves between backends", "[plugin]") {
  const Tensor value = zeros({2});
  const auto step_at = [&](const std::string& backend) {
    return function({}, {}, {.updates = {update_add(value, 1.0)}, .backend = backend});
  };
  const Function here = step_at("reference"), there = step_at(runtime::fake_path("instant"));
  for (int i = 0; i < 4; ++i) {
    here();
    here();
    there();
  }
  CHECK(get_value(value) == Array::full({2}, 12));
}

TEST_CASE("call: a backend without prepared calls runs through its buffers", "[plugin]") {
  const std::string backend = runtime::fake_path("buffered");
  const Function f = increment(backend, {None, 2});
  std::array<float, 4> in{1, 2, 3, 4}, out{};
  call(f, in.data(), out.data(), {2, 2});
  CHECK(out == std::array<float, 4>{2, 3, 4, 5});
  call(f, in.data(), in.data(), {1, 2});
  CHECK(in == std::array<float, 4>{2, 3, 3, 4});
  CHECK(f({Array{{5.f, 6.f}}})[0] == Array{{6.f, 7.f}});
  const Tensor value = zeros({4});
  const auto compile = [&](const std::string& name) {
    return function({}, {value + 1.0},
                    {.updates = {update_add(value, 1.0)}, .name = name, .backend = backend});
  };
  const Function fails = compile("fail"), works = compile("works");
  for (int round = 0; round < 3; ++round) {
    CHECK(works()[0] == Array::full({4}, round + 1));
    CHECK_THROWS_AS(fails(), BackendError);
    CHECK(get_value(value) == Array::full({4}, round + 1));
  }
}

TEST_CASE("call: eight threads update, read and infer", "[plugin][concurrency]") {
  const Counter counter("slow");
  const Function read = function({}, {counter.value + 1.0},
                                 {.name = "read", .backend = runtime::fake_path("instant")});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        const Array seen = t % 3 == 0   ? counter.step()[0]
                           : t % 3 == 1 ? read()[0]
                                        : get_value(counter.value);
        for (const float element : seen.as<float>()) {
          if (element != seen.as<float>()[0]) ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(counter.read() == 75);
  CHECK(counter.step.stats().calls == 75);
}

TEST_CASE("call: many threads call one function without variables", "[plugin][concurrency]") {
  const Function f = increment(runtime::fake_path("instant"), {None});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 24; ++t) {
    threads.emplace_back([&, t] {
      std::vector<float> in(static_cast<std::size_t>(t + 1), static_cast<float>(t)), out(in.size());
      const Sizes dims{t + 1};
      for (int i = 0; i < 200; ++i) {
        std::fill(out.begin(), out.end(), 0.f);
        call(f, in.data(), out.data(), dims);
        for (const float element : out) {
          if (element != static_cast<float>(t + 1)) ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(f.stats().calls == 24 * 200);
}
