// Tests set_print_sink: where text goes, and sinks that throw.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"
#include "tests/support/scratch.h"

#include <pthread.h>

#include <functional>
#include <iostream>
#include <sstream>
#include <stdexcept>

namespace kiln::test {
namespace {

using testing::throws;

/// Sets a sink for a scope.
class ScopedSink {
 public:
  explicit ScopedSink(PrintSink sink) { set_print_sink(std::move(sink)); }
  ~ScopedSink() { set_print_sink({}); }
};

/// Prints x + 1 with the message, and updates w.
Function printing(const Tensor& x, const Variable& w) {
  const Tensor seen = print_tensor(x + 1, {.message = "x"});
  return function(
      {x}, {seen},
      {.updates = {update_add(w, sum(seen))}, .name = "f", .backend = tested_backend()});
}

}  // namespace

TEST_CASE("print sink: text goes to the sink instead of standard output", "[k]") {
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

TEST_CASE("print sink: it may print and set a sink itself", "[k]") {
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

TEST_CASE("print sink: its exceptions are errors of the call, and no variable changes", "[k]") {
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
      {throws<IoError>(-4), with([](std::string_view) { throw std::runtime_error("full"); }),
       "print_tensor: the print sink threw an exception: full"},
      {throws<IoError>(-6), with([](std::string_view) { throw 3; }),
       "print_tensor: the print sink threw something that is not a std::exception"},
      {throws<ValueError>(-8),
       with([](std::string_view) { throw ValueError("mine", "", "is wrong"); }), "mine: is wrong"},
  });
  CHECK_THROWS_AS(with([](std::string_view) { throw std::bad_alloc(); })(), OutOfMemory);
  CHECK(get_value(w) == Array(2.f));
  const ScopedSink quiet([](std::string_view) {});
  CHECK(f({one})[0] == Array{2.f});
  CHECK(get_value(w) == Array(4.f));
}

TEST_CASE("print sink: it cannot write a variable that its call updates", "[k]") {
  const Variable w = variable(Array(2.f), {.name = "w"}), free = variable(Array(0.f));
  const Tensor x = placeholder({.shape = {None}});
  const Function f = printing(x, w);
  const Function other =
      function({}, {w + 1.0},
               {.updates = {update_add(w, 1.0)}, .name = "other", .backend = tested_backend()});
  const testing::Scratch scratch;
  const std::string path = scratch.path("w.safetensors");
  save_weights(path, {w});
  const std::string message =
      "variable 'w' cannot be written within the call of f, which updates it: "
      "a print sink may only read it";
  const std::vector<std::pair<std::string, std::function<void()>>> rows = {
      {"set_value", [&] { set_value(w, Array(9.f)); }},
      {"batch_set_value", [&] { batch_set_value({{free, Array(1.f)}, {w, Array(9.f)}}); }},
      {"load_weights", [&] { load_weights(path, {w}); }},
      {"f", [&] { f({Array{1.f}}); }},
      {"other", [&] { other(); }},
  };
  for (const auto& [name, write] : rows) {
    INFO(name);
    const std::function<void()>& action = write;
    const ScopedSink sink([&action](std::string_view) { action(); });
    const std::string got = testing::error_of<ValueError>([&] { f({Array{1.f}}); });
    CHECK_THAT(got, Catch::Matchers::StartsWith(name + ": " + message));
    CHECK_THAT(got, Catch::Matchers::ContainsSubstring("print_sink_test.cpp:"));
    CHECK(get_value(w) == Array(2.f));
    CHECK(get_value(free) == Array(0.f));
  }
  Array read;
  const ScopedSink sink([&](std::string_view) {
    read = get_value(w);
    set_value(free, Array(5.f));
  });
  f({Array{1.f}});
  CHECK(read == Array(2.f));
  CHECK(get_value(free) == Array(5.f));
  CHECK(get_value(w) == Array(4.f));
}

TEST_CASE("print sink: it may drop the last handle of the function that prints", "[k]") {
  const Tensor x = placeholder({.shape = {None}});
  Function f;
  const ScopedSink sink([&](std::string_view) { f = {}; });
  const auto make = [&] {
    const Variable w = variable(Array(2.f));
    f = printing(x, w);
  };
  make();
  CHECK(f({Array{1.f, 2.f}})[0] == Array{2.f, 3.f});
  CHECK_THROWS_AS(f({Array{1.f, 2.f}}), ValueError);
  make();
  CHECK(f({Feed(Array{1.f, 2.f})})[0] == Array{2.f, 3.f});
  make();
  const Array fed{1.f, 2.f};
  const ArrayView input = fed.as_view();
  std::vector<float> result(2);
  const MutableArrayView output{DType::Float32, result.data(), fed.dims()};
  f.call_into({&input, 1}, {&output, 1});
  CHECK(result == std::vector<float>{2, 3});
  // The partition that computes the size prints, before the partition of the result runs.
  const Tensor n = placeholder({.shape = {}, .dtype = "int32"});
  f = function({n}, {arange(print_tensor(n))}, {.backend = tested_backend()});
  CHECK(f({Array(std::int32_t{3})})[0] == Array{0, 1, 2});
  CHECK_THROWS_AS(f({Array(std::int32_t{3})}), ValueError);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // forced unwinding
TEST_CASE("print sink: a thread that is cancelled while a sink prints ends after its call", "[k]") {
  struct Cancelled {
    Function f;
    bool has_printed = false, has_returned = false;
  } state;
  const Tensor x = placeholder({.shape = {None}});
  state.f = printing(x, variable(Array(2.f)));
  const ScopedSink sink([&](std::string_view) {
    ::pthread_cancel(::pthread_self());
    ::pthread_testcancel();
    state.has_printed = true;
  });
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    Cancelled& own = *static_cast<Cancelled*>(argument);
    own.f({Array{1.f}});
    own.has_returned = true;
    ::pthread_testcancel();
    return nullptr;
  };
  REQUIRE(::pthread_create(&thread, nullptr, run, &state) == 0);
  void* result = nullptr;
  REQUIRE(::pthread_join(thread, &result) == 0);
  CHECK(result == PTHREAD_CANCELED);
  CHECK(state.has_printed);
  CHECK(state.has_returned);
}
#endif

}  // namespace kiln::test
