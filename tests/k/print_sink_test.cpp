// set_print_sink: where the text goes, from several threads, and sinks that throw.
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/k/row.h"
#include "tests/misuse.h"

#include <iostream>
#include <mutex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace kiln::test {
namespace {

using testing::Fault;

/// A sink for as long as this lives.
class ScopedSink {
 public:
  explicit ScopedSink(PrintSink sink) { set_print_sink(std::move(sink)); }
  ~ScopedSink() { set_print_sink({}); }
};

/// x + 1, printed with the message, and an update of w beside it.
Function printing(const Tensor& x, const Variable& w) {
  const Tensor seen = print_tensor(x + 1, {.message = "x"});
  return function({x}, {seen}, {.updates = {update_add(w, sum(seen))}, .name = "f",
                                .backend = tested_backend()});
}

}  // namespace

TEST_CASE("printed text goes to the sink instead of standard output", "[k]") {
  const Tensor x = placeholder({.shape = {None}});
  const Variable w = variable(Array(0.f));
  const Function f = printing(x, w);
  std::ostringstream out;
  std::streambuf* const before = std::cout.rdbuf(out.rdbuf());
  std::string seen, later;
  {
    const ScopedSink sink([&](std::string_view text) { seen += text; });
    f({Array{1.f, 2.f}});
    eval(print_tensor(constant(Array{true}, {.dtype = "bool"})));
    set_print_sink([&](std::string_view text) { later += text; });
    f({Array{3.f}});
  }
  f({Array{4.f}});
  std::cout.rdbuf(before);
  CHECK(seen == "x [2. 3.]\n[ True]\n");
  CHECK(later == "x [4.]\n");
  CHECK(out.str() == "x [5.]\n");
}

TEST_CASE("a sink may print and set a sink itself", "[k]") {
  const Tensor inner = print_tensor(constant({7.}));
  const Function f = function({}, {inner}, {.backend = tested_backend()});
  std::vector<std::string> seen;
  const ScopedSink sink([&](std::string_view text) {
    seen.emplace_back(text);
    if (seen.size() < 3) f();
    if (seen.size() == 3) set_print_sink([&](std::string_view) { seen.emplace_back("next"); });
  });
  f();
  f();
  CHECK(seen == std::vector<std::string>{"[7.]\n", "[7.]\n", "[7.]\n", "next"});
}

TEST_CASE("what a sink throws is an error of the call, and no variable changes", "[k]") {
  const Tensor x = placeholder({.shape = {None}});
  const Variable w = variable(Array(2.f), {.name = "w"});
  const Function f = printing(x, w);
  const Array one{1.f};
  const auto with = [&](PrintSink thrower) {
    return [&f, &one, thrower] {
      const ScopedSink sink(thrower);
      f({one});
    };
  };
  testing::run({
      {__LINE__ - 4, Fault::Io, with([](std::string_view) { throw std::runtime_error("full"); }),
       "print_tensor: the print sink threw an exception: full"},
      {__LINE__ - 6, Fault::Io, with([](std::string_view) { throw 3; }),
       "print_tensor: the print sink threw something that is no std::exception"},
      {__LINE__ - 8, Fault::Value,
       with([](std::string_view) { throw ValueError("mine", "", "is wrong"); }),
       "mine: is wrong"},
  }, __FILE__);
  CHECK_THROWS_AS(with([](std::string_view) { throw std::bad_alloc(); })(), OutOfMemory);
  CHECK(get_value(w) == Array(2.f));
  const ScopedSink quiet([](std::string_view) {});
  CHECK(f({one})[0] == Array{2.f});
  CHECK(get_value(w) == Array(4.f));
}

TEST_CASE("threads print whole texts to one sink while it is replaced", "[k][concurrency]") {
  const Tensor x = placeholder({.shape = {1}, .dtype = "int32"});
  const Function f = function({x}, {print_tensor(x, {.message = "n"})},
                              {.backend = tested_backend()});
  std::mutex mutex;
  std::multiset<std::string> seen;
  const PrintSink collect = [&](std::string_view text) {
    const std::lock_guard lock(mutex);
    seen.emplace(text);
  };
  const ScopedSink sink(collect);
  constexpr int kThreads = 4, kCalls = 50;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int call = 0; call < kCalls; ++call) f({Array{i * kCalls + call}});
    });
  }
  for (int i = 0; i < 100; ++i) set_print_sink(collect);
  for (std::thread& thread : threads) thread.join();
  std::multiset<std::string> expected;
  for (int n = 0; n < kThreads * kCalls; ++n) expected.insert("n [" + std::to_string(n) + "]\n");
  CHECK(seen == expected);
}

}  // namespace kiln::test
