// Mistakes are found where they are made: while the graph is built, with the user's line; at the
// call, naming the input. After an error nothing has changed and the next call works.
#include "tests/catch.h"

#include <kiln/k.h>

namespace kiln::test {
namespace {

Tensor input(const Shape& shape, const char* name, const char* dtype = "float32") {
  return placeholder({.shape = shape, .dtype = dtype, .name = name});
}

Array ones_by_two(std::size_t rows) {
  return Array(std::vector<float>(rows * 2, 1.f), {static_cast<std::int64_t>(rows), 2});
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The error of `call`; it must be of that class.
template <class Expected, class Call>
Error error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    INFO(error.what());
    CHECK(dynamic_cast<const Expected*>(&error) != nullptr);
    return error;
  }
  FAIL("nothing was thrown");
  throw 0;
}

/// Thrown from that line of this file, which what() shows as well.
void check_place(const Error& error, int line) {
  INFO(error.what());
  CHECK(std::string(error.where().file) == __FILE__);
  CHECK(static_cast<int>(error.where().line) == line);
  CHECK(contains(error.what(), "build_errors_test.cpp:" + std::to_string(line)));
}

TEST_CASE("shapes that clash are found at the user's line") {
  const Tensor a = input({2, 3}, "a"), b = input({2, 4}, "b"), c = input({5, 3}, "c");
  int line = 0;
  Error error = error_of<ValueError>([&] { line = __LINE__; dot(a, b); });
  check_place(error, line);
  CHECK(error.function() == "dot");
  CHECK(contains(error.message(), "3"));
  error = error_of<ValueError>([&] { line = __LINE__; a + b; });
  check_place(error, line);
  CHECK(contains(error.message(), "4"));
  error = error_of<ValueError>([&] { line = __LINE__; concatenate({a, c}, {.axis = 1}); });
  check_place(error, line);
  CHECK(error.function() == "concatenate");
  error = error_of<ValueError>([&] { line = __LINE__; reshape(a, {4, 4}); });
  check_place(error, line);
  CHECK(error.function() == "reshape");
}

TEST_CASE("dtypes and ranks that clash are found at the user's line") {
  const Tensor a = input({2, 3}, "a"), whole = input({2, 3}, "whole", "int32");
  int line = 0;
  Error error = error_of<TypeError>([&] { line = __LINE__; a * whole; });
  check_place(error, line);
  CHECK(contains(error.message(), "int32"));
  error = error_of<TypeError>([&] { line = __LINE__; dot(a, whole); });
  check_place(error, line);
  error = error_of<ValueError>([&] { line = __LINE__; permute_dimensions(a, {0, 1, 2}); });
  check_place(error, line);
  error = error_of<ValueError>([&] { line = __LINE__; sum(a, {.axis = 2}); });
  check_place(error, line);
}

struct Counter {
  Variable state = variable(Array(std::vector<float>{1, 2}), {.name = "state"});
  Tensor x = input({2}, "x");
  Function next = function({x}, {sum(state * x)}, {.updates = {update_add(state, x)},
                                                    .name = "next"});
  const Array good{std::vector<float>{1, 1}};

  /// Whether nothing has changed and a call works.
  void check_unharmed() {
    CHECK(get_value(state).as<float>()[0] == 1);
    CHECK(get_value(state).as<float>()[1] == 2);
    CHECK(next({good})[0].item<float>() == 3);
    CHECK(get_value(state).as<float>()[0] == 2);
    CHECK(get_value(state).as<float>()[1] == 3);
  }
};

TEST_CASE("a feed of another shape changes nothing") {
  Counter counter;
  const Error error = error_of<ValueError>([&] { counter.next({Array::zeros({3})}); });
  CHECK(error.function() == "next");
  CHECK(error.argument() == "x");
  CHECK(contains(error.message(), "was fed an array of shape [3]"));
  counter.check_unharmed();
}

TEST_CASE("a feed of floats for integers changes nothing") {
  const Tensor n = input({2}, "n", "int32");
  const Variable total = variable(Array(std::vector<float>{5, 5}));
  const Function f = function({n}, {n}, {.updates = {update_add(total, cast(n, "float32"))}});
  const Error error = error_of<TypeError>([&] { f({Array(std::vector<float>{1, 2})}); });
  CHECK(contains(error.message(), "was fed an array of dtype float32"));
  CHECK(get_value(total).as<float>()[0] == 5);
  CHECK(f({Array(std::vector<std::int32_t>{1, 2})})[0].as<std::int32_t>()[1] == 2);
  CHECK(get_value(total).as<float>()[1] == 7);
}

TEST_CASE("too few and too many feeds change nothing") {
  Counter counter;
  Error error = error_of<ValueError>([&] { counter.next({}); });
  CHECK(error.message() == "next: takes 1 input but 0 were given");
  error = error_of<ValueError>([&] { counter.next({counter.good, counter.good}); });
  CHECK(error.message() == "next: takes 1 input but 2 were given");
  counter.check_unharmed();
}

TEST_CASE("unknown sizes that differ at the call are found there, with the line that needs them") {
  const Tensor a = input({None, 2}, "a"), b = input({None, 2}, "b");
  const Variable total = variable(Array(1.0));
  const int line = __LINE__ + 1;
  const Tensor joined = concatenate({a, b}, {.axis = 1});
  const Function f = function({a, b}, {sum(joined)}, {.updates = {update_add(total, sum(a))}});
  const Error error =
      error_of<ValueError>([&] { f({ones_by_two(3), ones_by_two(4)}); });
  check_place(error, line);
  CHECK(contains(error.message(), "3"));
  CHECK(contains(error.message(), "4"));
  CHECK(get_value(total).item<float>() == 1);
  CHECK(f({ones_by_two(3), ones_by_two(3)})[0].item<float>() == 12);
  CHECK(get_value(total).item<float>() == 7);
}

TEST_CASE("a gradient that is missing names its variable when it is used") {
  const Variable w = variable(Array(1.0), {.name = "w"}), lost = variable(Array(1.0),
                                                                       {.name = "lost"});
  const std::vector<Tensor> gradient = gradients(square(w), {w, lost});
  CHECK_FALSE(gradient[0].empty());
  CHECK(gradient[1].empty());
  int line = 0;
  const Error error = error_of<ValueError>([&] { line = __LINE__; gradient[1] * 2.0; });
  check_place(error, line);
  CHECK(contains(error.message(), "lost"));
  CHECK(eval(gradient[0]).item<float>() == 2);
}

TEST_CASE("two updates of one variable are refused") {
  Counter counter;
  int line = 0;
  const Error error = error_of<ValueError>([&] {
    const std::vector<UpdateOp> twice{update_add(counter.state, counter.x),
                                      update_sub(counter.state, counter.x)};
    line = __LINE__ + 1;
    function({counter.x}, {}, {.updates = twice});
  });
  check_place(error, line);
  CHECK(contains(error.message(), "updates a variable that has an update already"));
  CHECK(contains(error.message(), "state"));
  counter.check_unharmed();
}

TEST_CASE("a placeholder that is no input is refused by name") {
  Counter counter;
  const Tensor stranger = input({2}, "stranger");
  int line = 0;
  const Error error = error_of<ValueError>([&] {
    line = __LINE__ + 1;
    function({counter.x}, {counter.x + stranger});
  });
  check_place(error, line);
  CHECK(contains(error.message(), "stranger"));
  counter.check_unharmed();
}

TEST_CASE("an input that is no placeholder, or given twice, is refused") {
  Counter counter;
  Error error = error_of<TypeError>([&] { function({counter.state}, {counter.x}); });
  CHECK(contains(error.message(), "is not a placeholder"));
  error = error_of<ValueError>([&] { function({counter.x, counter.x}, {counter.x}); });
  CHECK(contains(error.message(), "is given twice"));
  counter.check_unharmed();
}

}  // namespace
}  // namespace kiln::test
