// Tests kiln/context.h and kiln/config.h, with and without a keras.json.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"

#include "core/ir/scope.h"
#include "core/k/base/context_impl.h"
#include "core/k/base/random_state_impl.h"
#include "tests/runtime/config/home.h"

#include <kiln/k.h>

#include <optional>
#include <set>
#include <thread>
#include <vector>

using namespace kiln;
using kiln::testing::error_text;
using kiln::testing::KerasHome;

TEST_CASE("configuration: built-in values") {
  const KerasHome home;
  CHECK(epsilon() == 1e-7);
  CHECK(floatx() == "float32");
  CHECK(image_data_format() == "channels_last");
  CHECK(image_dim_ordering() == "tf");
}

TEST_CASE("configuration: each value of keras.json by itself") {
  const KerasHome home(R"({"floatx": "float64", "image_dim_ordering": "th"})");
  CHECK(epsilon() == 1e-7);
  CHECK(floatx() == "float64");
  CHECK(image_dim_ordering() == "th");
  CHECK(cast_to_floatx(Array{1.5f}) == Array{1.5});
}

TEST_CASE("configuration: calls override the file, before and after it is read") {
  const KerasHome home(R"({"floatx": "float64", "epsilon": 0.5})");
  set_floatx("float16");
  CHECK(epsilon() == 0.5);
  CHECK(floatx() == "float16");
  set_epsilon(0.25);
  CHECK(epsilon() == 0.25);
}

TEST_CASE("configuration: the file is read once") {
  const KerasHome home(R"({"epsilon": 0.5})");
  CHECK(epsilon() == 0.5);
  home.write(R"({"epsilon": 0.125})");
  CHECK(epsilon() == 0.5);
}

TEST_CASE("configuration: a bad keras.json is reported at each read until it is corrected") {
  const KerasHome home("{\"epsilon\": }");
  const std::string text = home.path() + " is malformed at line 1, column 13: invalid value";
  CHECK(error_text<ConfigError>([] { epsilon(); }) == "epsilon: " + text);
  CHECK(error_text<ConfigError>([] { floatx(); }) == "floatx: " + text);
  CHECK(error_text<ConfigError>([] { epsilon(); }) == "epsilon: " + text);
  set_floatx("float64");
  CHECK(floatx() == "float64");
  CHECK(get_uid("still works") == 1);
  home.write(R"({"epsilon": 0.5, "floatx": "float16"})");
  CHECK(epsilon() == 0.5);
  CHECK(floatx() == "float64");
}

TEST_CASE("configuration: a bad value of keras.json is an error of its own reads alone") {
  const KerasHome home(R"({"floatx": "bfloat16", "epsilon": 0.5})");
  CHECK(image_data_format() == "channels_last");
  CHECK(epsilon() == 0.5);
  CHECK(error_text<ConfigError>([] { floatx(); }) ==
        "floatx: " + home.path() +
            " has floatx 'bfloat16', which is not one of 'float16', 'float32', 'float64'");
  home.write(R"({"floatx": "float64", "epsilon": 0.25})");
  CHECK(floatx() == "float64");
  CHECK(epsilon() == 0.5);
}

TEST_CASE("configuration: errors of a bad keras.json name the line of the call that reads it") {
  const Tensor x = placeholder({.shape = {2, 3}}), scores = placeholder({.shape = {2, 3, 4}});
  const Tensor lengths = placeholder({.shape = {2}, .dtype = "int32"});
  const Tensor images = placeholder({.shape = {1, 2, 2, 1}});
  const KerasHome home("{\"epsilon\": }");
  const auto line_of = [](const auto& action) {
    try {
      action();
    } catch (const ConfigError& error) {
      CHECK(std::string(error.where().file) == __FILE__);
      return error.where().line;
    }
    return 0u;
  };
  CHECK(line_of([] { epsilon(); }) == __LINE__);
  CHECK(line_of([] { floatx(); }) == __LINE__);
  CHECK(line_of([] { image_data_format(); }) == __LINE__);
  CHECK(line_of([] { image_dim_ordering(); }) == __LINE__);
  CHECK(line_of([] { cast_to_floatx(Array{1}); }) == __LINE__);
  CHECK(line_of([] { constant(1); }) == __LINE__);
  CHECK(line_of([] { relu(2); }) == __LINE__);
  CHECK(line_of([&] { categorical_crossentropy(x, x); }) == __LINE__);
  CHECK(line_of([&] { ctc_decode(scores, lengths); }) == __LINE__);
  CHECK(line_of([&] { spatial_2d_padding(images); }) == __LINE__);
}

TEST_CASE("configuration: calls with an explicit dtype do not read floatx") {
  const KerasHome home("{\"floatx\": ");
  const Tensor x = placeholder({.shape = {2}, .dtype = "float64", .name = "x"});
  const Tensor is_true = constant(1, {.dtype = "bool"});
  CHECK(dtype(constant(1, {.dtype = "int32"})) == "int32");
  CHECK(dtype(variable(1, {.dtype = "float16"})) == "float16");
  const SparseArray matrix = SparseArray::of_dense(Array::full({2, 2}, 1));
  CHECK(dtype(variable(matrix, {.dtype = "float64"})) == "float64");
  CHECK(dtype(zeros({2}, {.dtype = "int8"})) == "int8");
  CHECK(dtype(eye(2, {.dtype = "float64"})) == "float64");
  CHECK(dtype(random_normal({2}, {.dtype = "float64"})) == "float64");
  CHECK(dtype(random_binomial({2}, {.dtype = "float64"})) == "float64");
  CHECK(dtype(random_uniform_variable({2}, 0, 1, {.dtype = "float64"})) == "float64");
  CHECK(dtype(cast(x, "int32")) == "int32");
  CHECK(dtype(gradients(sum(exp(x) * x + 1), {x})[0]) == "float64");
  CHECK(dtype(stop_gradient(x)) == "float64");
  CHECK(dtype(switch_(is_true, x, 0)) == "float64");
  CHECK(dtype(switch_(is_true, [&] { return x; }, [&] { return -x; })) == "float64");
  CHECK(dtype(in_train_phase(x, -x, 1)) == "float64");
  CHECK_THROWS_AS(constant(1), ConfigError);
  CHECK_THROWS_AS(switch_(is_true, 1, 2), ConfigError);
}

TEST_CASE("setters: other values are rejected and change nothing") {
  const KerasHome home;
  CHECK(error_text<ValueError>([] { set_floatx("int32"); }) ==
        "set_floatx: floatx 'int32' is not 'float16', 'float32' or 'float64'");
  CHECK(floatx() == "float32");
  CHECK(error_text<ValueError>([] { set_epsilon(0); }) ==
        "set_epsilon: e 0 is not a positive number");
  CHECK(error_text<ValueError>([] { set_epsilon(-1); }) ==
        "set_epsilon: e -1 is not a positive number");
  CHECK(epsilon() == 1e-7);
  CHECK(error_text<ValueError>([] { set_image_data_format("th"); }) ==
        "set_image_data_format: data_format 'th' is not 'channels_last' or 'channels_first'");
  CHECK(error_text<ValueError>([] { set_image_dim_ordering("channels_first"); }) ==
        "set_image_dim_ordering: dim_ordering 'channels_first' is not 'th' or 'tf'");
  CHECK(image_data_format() == "channels_last");
  CHECK(error_text<ValueError>([] { set_learning_phase(2); }) ==
        "set_learning_phase: value 2 is neither 0 nor 1");
  set_image_dim_ordering("th");
  CHECK(image_data_format() == "channels_first");
  set_image_data_format("channels_last");
  CHECK(image_dim_ordering() == "tf");
}

TEST_CASE("setters: errors name the caller's line") {
  const KerasHome home;
  const unsigned line = __LINE__ + 2;
  try {
    set_epsilon(-1);
    FAIL("no error");
  } catch (const ValueError& error) {
    CHECK(static_cast<unsigned>(error.where().line) == line);
    CHECK(std::string(error.where().file).ends_with("context_test.cpp"));
  }
}

TEST_CASE("uids: counted per prefix") {
  reset_uids();
  CHECK(get_uid() == 1);
  CHECK(get_uid("a") == 1);
  CHECK(get_uid("a") == 2);
  CHECK(get_uid() == 2);
  reset_uids();
  CHECK(get_uid("a") == 1);
}

TEST_CASE("learning phase: unset, set, and cleared with the session") {
  reset_session_state();
  CHECK_FALSE(fixed_learning_phase());
  set_learning_phase(0);
  CHECK(fixed_learning_phase() == 0);
  set_learning_phase(1);
  get_uid("a");
  reset_session_state();
  CHECK_FALSE(fixed_learning_phase());
  CHECK(get_uid("a") == 1);
}

TEST_CASE("name scopes: they nest, end and belong to their thread") {
  CHECK(scoped_name("x") == "x");
  {
    const auto outer = name_scope("outer");
    CHECK(scoped_name("x") == "outer/x");
    {
      const NameScope inner("inner");
      CHECK(scoped_name("x") == "outer/inner/x");
      CHECK(scoped_name("").empty());
      std::string elsewhere;
      std::thread([&] { elsewhere = scoped_name("x"); }).join();
      CHECK(elsewhere == "x");
    }
    CHECK(scoped_name("x") == "outer/x");
    CHECK(error_text<ValueError>([] { name_scope(""); }) == "name_scope: name is empty");
    CHECK(scoped_name("x") == "outer/x");
  }
  CHECK(scoped_name("x") == "x");
}

TEST_CASE("name scopes: one that ends first ends those inside it") {
  std::optional<NameScope> outer("outer"), inner("inner");
  outer.reset();
  CHECK(scoped_name("x") == "x");
  const auto other = name_scope("other");
  inner.reset();
  CHECK(scoped_name("x") == "other/x");
  CHECK(ir::scope_path(ir::current_origin().scope) == "other");
}

TEST_CASE("seed: set_random_seed fixes the streams and restarts the calls") {
  set_random_seed(42);
  const std::uint64_t first = next_seed(), second = next_seed();
  CHECK(first != second);
  CHECK(next_call_counter() == 0);
  CHECK(next_call_counter() == 1);
  set_random_seed(42);
  CHECK(next_seed() == first);
  CHECK(next_seed() == second);
  CHECK(next_call_counter() == 0);
  set_random_seed(43);
  CHECK(next_seed() != first);
}

TEST_CASE("configuration: threads read and write the state concurrently", "[concurrency]") {
  const KerasHome home(R"({"epsilon": 0.5})");
  reset_uids();
  set_random_seed(1);
  std::vector<std::vector<std::int64_t>> uids(8);
  std::vector<std::thread> threads;
  for (auto& own : uids) {
    threads.emplace_back([&own] {
      for (int i = 0; i < 100; ++i) {
        own.push_back(get_uid("shared"));
        set_floatx(epsilon() == 0.5 ? "float64" : "float16");
        next_seed();
        next_call_counter();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::int64_t> all;
  for (const auto& own : uids) all.insert(own.begin(), own.end());
  CHECK(all.size() == 800);
  CHECK(*all.rbegin() == 800);
  CHECK(next_call_counter() == 800);
  CHECK(floatx() == "float64");
}
