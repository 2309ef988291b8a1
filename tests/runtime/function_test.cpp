// Tests compiled functions: inputs, updates, learning phase, dumps, threads.
#include "tests/support/catch.h"
#include "tests/support/scratch.h"

#include "core/ir/intern.h"
#include "core/module/parse.h"
#include "core/module/print.h"

#include <kiln/k.h>

#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace K = kiln;
using K::Array, K::Tensor;

namespace {

namespace fs = std::filesystem;

using kiln::testing::Scratch;

std::string contents(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("function: updates are computed from the state before the call") {
  const Tensor a = K::variable(1.0f), b = K::variable(2.0f);
  const auto swap = K::function({}, {a, b}, {.updates = {{a, b}, {b, a}}});
  const auto outputs = swap();
  CHECK(outputs[0].item<float>() == 1);
  CHECK(outputs[1].item<float>() == 2);
  CHECK(K::get_value(a).item<float>() == 2);
  CHECK(K::get_value(b).item<float>() == 1);
}

TEST_CASE("function: an int64 counter takes a plain number") {
  const Tensor count = K::variable(0.0f, {.dtype = "int64"});
  const auto step = K::function({}, {}, {.updates = {K::update_add(count, 1)}});
  for (int i = 0; i < 3; ++i) CHECK(step().empty());
  CHECK(K::get_value(count).item<std::int64_t>() == 3);
  CHECK(step.stats().calls == 3);
}

TEST_CASE("function: the learning phase may be fed in many forms, and is 0 otherwise") {
  const Tensor x = K::placeholder({.shape = {2}});
  const Tensor y = K::in_train_phase([&] { return x * 2; }, x);
  const Array feed{1.f, 3.f};
  CHECK(K::function({x}, {y})({feed})[0] == feed);
  const auto fed = K::function({x, K::learning_phase()}, {y});
  const Array doubled{2.f, 6.f};
  CHECK(fed({feed, Array(1)})[0] == doubled);
  CHECK(fed({feed, Array(1.0)})[0] == doubled);
  CHECK(fed({feed, Array(true)})[0] == doubled);
  CHECK(fed({feed, Array(0)})[0] == feed);
  CHECK(fed({feed, Array(0.f)})[0] == feed);
}

TEST_CASE("function: one serves every batch size, and inputs are cast") {
  const Tensor x = K::placeholder({.shape = {K::None, 2}});
  const auto f = K::function({x}, {K::sum(x, {.axis = -1})});
  for (std::int64_t rows : {0, 1, 5}) {
    CHECK(f({Array::full({rows, 2}, 1.5)})[0] == Array::full({rows}, 3));
  }
  CHECK(f({Array({1, 2, 3, 4}, {2, 2})})[0] == Array{3.f, 7.f});
  CHECK(f.stats().compiles == 1);
}

TEST_CASE("function: call_into writes into the caller's memory and requires exact types") {
  const Tensor x = K::placeholder({.shape = {2}, .name = "x"});
  const auto f = K::function({x}, {x + 1.0}, {.name = "f"});
  const std::vector<std::int64_t> dims{2}, other{3};
  const float in[2] = {1, 2};
  float out[2] = {};
  const K::ArrayView view{K::DType::Float32, in, dims};
  const K::MutableArrayView target{K::DType::Float32, out, dims};
  f.call_into({&view, 1}, {&target, 1});
  CHECK(out[0] == 2);
  CHECK(out[1] == 3);
  const K::ArrayView wrong{K::DType::Float64, in, dims};
  CHECK_THROWS_AS(f.call_into({&wrong, 1}, {&target, 1}), K::TypeError);
  const K::MutableArrayView small{K::DType::Float32, out, other};
  CHECK_THROWS_AS(f.call_into({&view, 1}, {&small, 1}), K::ValueError);
}

TEST_CASE("function: call_into sees an output that overlaps an input behind an empty output") {
  const auto x = K::placeholder({.shape = {K::None}}), y = K::placeholder({.shape = {K::None}});
  const auto f = K::function({x, y}, {x + 1.0, y * 2.0});
  const std::vector<std::int64_t> none{0}, some{64};
  for (int empty = 0; empty < 4; ++empty) {
    std::vector<float> memory(256);
    std::iota(memory.begin(), memory.end(), 0.f);
    const std::vector<K::ArrayView> inputs{{K::DType::Float32, memory.data(), none},
                                           {K::DType::Float32, memory.data(), some}};
    const std::vector<K::MutableArrayView> outputs{{K::DType::Float32, memory.data() + empty, none},
                                                   {K::DType::Float32, memory.data() + 2, some}};
    f.call_into(inputs, outputs);
    for (std::size_t i = 0; i < 64; ++i) CHECK(memory[i + 2] == 2.f * static_cast<float>(i));
  }
}

TEST_CASE("function: draws differ from call to call and repeat after the seed is set") {
  K::set_random_seed(3);
  const auto f = K::function({}, {K::random_uniform({4}, {.seed = 7})});
  const Array first = f()[0], second = f()[0];
  CHECK_FALSE(first == second);
  K::set_random_seed(3);
  CHECK(f()[0] == first);
}

TEST_CASE("print_tensor: prints when its result is used") {
  const Tensor x = K::constant(Array{{1.f}});
  std::ostringstream captured;
  auto* before = std::cout.rdbuf(captured.rdbuf());
  const Array value = K::eval(K::print_tensor(x, {.message = "msg"}) * 2);
  std::cout.rdbuf(before);
  CHECK(captured.str() == "msg [[1.]]\n");
  CHECK(value == Array{{2.f}});
}

TEST_CASE("function: dumps are numbered, and a dumped module can be read") {
  const Scratch scratch;
  const Tensor x = K::placeholder({.shape = {K::None, 3}, .name = "x"});
  const auto f = K::function({x}, {K::tanh(x * 1.0 + 0.5)}, {.name = "f"});
  f.dump(scratch.folder() + "/deep/er");
  const fs::path dir = scratch.folder() + "/deep/er";
  for (const char* name : {"00-user.kir", "10-simplify.kir", "40-module.kir", "40-module.kirb"}) {
    INFO(name);
    CHECK(fs::exists(dir / name));
  }
  const std::string text = contents(dir / "40-module.kir");
  CHECK(text.find("tanh") != std::string::npos);
  CHECK(text.find("function_test.cpp") != std::string::npos);
  CHECK(K::module::print_module(K::module::parse_module(text)) == text);
  std::ofstream(scratch.folder() + "/file").close();
  CHECK_THROWS_AS(f.dump(scratch.folder() + "/file"), K::IoError);
}

TEST_CASE("function: functions and graphs release their memory") {
  const std::size_t before = K::ir::live_node_count();
  {
    const Tensor x = K::placeholder({.shape = {2}});
    const Tensor w = K::variable(Array{1.f, 2.f});
    const auto g = K::gradients(K::sum(K::tanh(x * w)), {w});
    K::function({x}, {g[0]})({Array{1.f, 1.f}});
  }
  CHECK(K::ir::live_node_count() == before);
}

TEST_CASE("function: several threads call one", "[concurrency]") {
  const Tensor x = K::placeholder({.shape = {K::None}});
  const auto f = K::function({x}, {K::exp(x) + 1.0});
  const Array feed{0.f, 1.f, 2.f}, expected = f({feed})[0];
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) wrong += f({feed})[0] == expected ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("function: several threads build and compile", "[concurrency]") {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        const Tensor x = K::placeholder({.shape = {2}});
        const Tensor y = K::sum(K::square(x)) * static_cast<double>(t + 1);
        const auto g = K::gradients(y, {x});
        const Array result = K::function({x}, {g[0]})({Array{1.f, 2.f}})[0];
        wrong += result.at<float>(1) == 4.f * static_cast<float>(t + 1) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("function: threads print whole texts while the sink is replaced", "[concurrency]") {
  const Tensor x = K::placeholder({.shape = {1}, .dtype = "int32"});
  const auto f = K::function({x}, {K::print_tensor(x, {.message = "n"})}, {.backend = "reference"});
  std::mutex mutex;
  std::multiset<std::string> seen;
  const K::PrintSink collect = [&](std::string_view text) {
    const std::lock_guard lock(mutex);
    seen.emplace(text);
  };
  K::set_print_sink(collect);
  constexpr int kThreads = 4, kCalls = 50;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int call = 0; call < kCalls; ++call) f({Array{i * kCalls + call}});
    });
  }
  for (int i = 0; i < 100; ++i) K::set_print_sink(collect);
  for (std::thread& thread : threads) thread.join();
  K::set_print_sink({});
  std::multiset<std::string> expected;
  for (int n = 0; n < kThreads * kCalls; ++n) expected.insert("n [" + std::to_string(n) + "]\n");
  CHECK(seen == expected);
}

TEST_CASE("function: readers never see partial updates", "[concurrency]") {
  const Tensor a = K::variable(0.0f), b = K::variable(0.0f);
  const auto step =
      K::function({}, {}, {.updates = {K::update_add(a, 1.0), K::update_sub(b, 1.0)}});
  std::atomic<bool> done{false};
  std::atomic<int> torn{0};
  std::thread reader([&] {
    while (!done) {
      const auto values = K::batch_get_value({a, b});
      torn += values[0].item<float>() == -values[1].item<float>() ? 0 : 1;
    }
  });
  std::vector<std::thread> writers;
  for (int t = 0; t < 4; ++t) {
    writers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) step();
    });
  }
  for (std::thread& writer : writers) writer.join();
  done = true;
  reader.join();
  CHECK(torn == 0);
  CHECK(K::get_value(a).item<float>() == 200);
}

TEST_CASE("function: loops over groups of rows compute each row, for any number of units") {
  constexpr int kSteps = 4;
  for (const int rows : {32, 48, 100}) {
    for (const int units : {1, 3, 8, 12, 17}) {
      INFO(rows << " rows of " << units);
      std::vector<float> x;
      for (int i = 0; i < kSteps * rows * units; ++i) {
        x.push_back(static_cast<float>(i * 37 % 11 - 5));
      }
      const Tensor elems = K::placeholder({.shape = {kSteps, rows, units}});
      const Tensor last = K::foldl(
          [](const Tensor& h, const Tensor& now) { return K::maximum(h * 2.0 - now, h + now); },
          elems, {.initializer = K::zeros({rows, units})});
      const Array result = K::function({elems}, {last})({Array(x, {kSteps, rows, units})})[0];
      std::vector<float> expected(static_cast<std::size_t>(rows * units));
      for (std::size_t i = 0; i < x.size(); ++i) {
        float& h = expected[i % expected.size()];
        h = std::max(h * 2 - x[i], h + x[i]);
      }
      CHECK(std::equal(expected.begin(), expected.end(), result.as<float>().begin(),
                       result.as<float>().end()));
    }
  }
}
