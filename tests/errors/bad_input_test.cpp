// Misuse: each gives its own error with the user's line, changes nothing, and the next call works.
#include "tests/catch.h"

#include <kiln/k.h>

#include <cstring>

namespace K = kiln;
using K::Array, K::Tensor;

namespace {

/// Runs `misuse`, which must throw E from this file, and gives the message.
template <class E, class F>
std::string message_of(F misuse, bool with_line = true) {
  try {
    misuse();
  } catch (const E& error) {
    if (with_line) {
      CHECK(std::strstr(error.where().file, "bad_input_test.cpp") != nullptr);
      CHECK(error.where().line > 0);
    }
    return error.message();
  }
  return "(nothing was thrown)";
}

}  // namespace

TEST_CASE("clashes are errors where the graph is built") {
  const Tensor x = K::placeholder({.shape = {2, 3}, .name = "x"});
  const Tensor y = K::placeholder({.shape = {4, 5}, .name = "y"});
  const Tensor i = K::placeholder({.shape = {2, 3}, .dtype = "int32", .name = "i"});
  CHECK(message_of<K::ValueError>([&] { x + y; }) ==
        "operator+: shapes do not broadcast: sizes 2 and 4 of axis -2 "
        "(x float32[2,3], y float32[4,5])");
  CHECK(message_of<K::TypeError>([&] { x * i; }) ==
        "operator*: x has dtype float32 but y has dtype int32 (x float32[2,3], y int32[2,3])");
  CHECK(message_of<K::TypeError>([&] { i * 0.5; }).find("operator*: ") == 0);
  CHECK(message_of<K::ValueError>([&] { K::dot(x, y); }).find("dot: ") == 0);
  CHECK(message_of<K::ValueError>([&] { K::reshape(x, {4, 2}); }).find("reshape: ") == 0);
  CHECK(message_of<K::ValueError>([&] { K::squeeze(x, 0); }) ==
        "squeeze: axis 0 has size 2, not 1 (x float32[2,3])");
  CHECK(message_of<K::ValueError>([&] { K::concatenate({x, y}, {.axis = 0}); }) ==
        "concatenate: tensors differ on axis 1, which is not joined "
        "(float32[2,3], float32[4,5])");
  CHECK(message_of<K::TypeError>([&] { K::cast(x, "float33"); }) ==
        "cast: dtype 'float33' is not known");
  CHECK(message_of<K::ValueError>([&] { K::placeholder({.name = "nothing"}); }) ==
        "placeholder: neither shape nor ndim is given");
  CHECK(message_of<K::ValueError>([&] { K::dropout(x, 1.0); }) ==
        "dropout: level 1 is outside [0, 1)");
}

TEST_CASE("wrong feeds are errors of the call, and the next call works") {
  const Tensor x = K::placeholder({.shape = {K::None, 3}, .name = "x"});
  const Tensor i = K::placeholder({.shape = {2}, .dtype = "int32", .name = "i"});
  const Tensor w = K::variable(0.0f, {.name = "w"});
  const auto f = K::function({x, i}, {K::sum(x)},
                             {.updates = {K::update_add(w, 1.0)}, .name = "f"});
  const Array good = Array::full({2, 3}, 1), index(std::vector<std::int32_t>{0, 1});
  CHECK(message_of<K::ValueError>([&] { f({good}); }, false) ==
        "f: takes 2 inputs but 1 was given");
  CHECK(message_of<K::ValueError>([&] { f({good, index, good}); }, false) ==
        "f: takes 2 inputs but 3 were given");
  CHECK(message_of<K::ValueError>([&] { f({Array::full({2, 4}, 1), index}); }, false) ==
        "f: inputs[0] (x float32[x.0,3]) was fed an array of shape [2,4]");
  CHECK(message_of<K::ValueError>([&] { f({Array::full({3}, 1), index}); }, false) ==
        "f: inputs[0] (x float32[x.0,3]) was fed an array of shape [3]");
  CHECK(message_of<K::TypeError>([&] { f({good, Array{0.5f, 1.f}}); }, false) ==
        "f: inputs[1] (i int32[2]) was fed an array of dtype float32");
  CHECK(K::get_value(w).item<float>() == 0);
  CHECK(f({good, index})[0].item<float>() == 6);
  CHECK(K::get_value(w).item<float>() == 1);
}

TEST_CASE("a guard between two unknown sizes fails at the call and names both") {
  const Tensor x = K::placeholder({.shape = {K::None}, .name = "x"});
  const Tensor y = K::placeholder({.shape = {K::None}, .name = "y"});
  const auto f = K::function({x, y}, {x + y}, {.name = "f"});
  const std::string message =
      message_of<K::ValueError>([&] { f({Array{1.f, 2.f}, Array{1.f, 2.f, 3.f}}); });
  CHECK(message.find("operator+: ") == 0);
  CHECK(message.find("x.0 is 2") != std::string::npos);
  CHECK(message.find("y.0 is 3") != std::string::npos);
  CHECK(f({Array{1.f}, Array{2.f}})[0] == Array{3.f});
}

TEST_CASE("a gradient that is not there is empty, and using it names the variable") {
  const Tensor w = K::variable(Array{1.f, 2.f}, {.name = "w"});
  const Tensor x = K::variable(Array{1.f, 2.f}, {.name = "x"});
  const auto g = K::gradients(K::sum(K::square(x)), {w, x});
  CHECK(g[0].empty());
  CHECK_FALSE(g[1].empty());
  CHECK(message_of<K::ValueError>([&] { g[0] * 2; })
            .find("the loss does not depend on w, so it has no gradient") != std::string::npos);
  const auto cut = K::gradients(K::sum(K::round(x)), {x});
  CHECK(message_of<K::ValueError>([&] { cut[0] + 1; }).find("round") != std::string::npos);
  CHECK(message_of<K::TypeError>([&] { K::gradients(K::argmax(x), {x}); }) ==
        "gradients: loss is not floating point (loss int64[])");
}

TEST_CASE("functions that cannot be are errors when they are made") {
  const Tensor x = K::placeholder({.shape = {2}, .name = "x"});
  const Tensor w = K::variable(Array{1.f, 2.f}, {.name = "w"});
  const std::string twice = message_of<K::ValueError>([&] {
    K::function({}, {}, {.updates = {K::update(w, w * 2), K::update_add(w, 1)}});
  });
  CHECK(twice.find("function: updates[1] updates a variable that has an update already (w ") == 0);
  CHECK(message_of<K::ValueError>([&] { K::function({}, {x * 2}); })
            .find("function: an output depends on a placeholder that is not an input (x ") == 0);
  CHECK(message_of<K::TypeError>([&] { K::function({w}, {w}); })
            .find("function: inputs[0] is not a placeholder") == 0);
  CHECK(message_of<K::ValueError>([&] { K::function({x, x}, {x}); })
            .find("function: inputs[1] is given twice") == 0);
  CHECK(message_of<K::TypeError>([&] { K::update(x, x); }).find("update: x is not a variable") ==
        0);
  CHECK(message_of<K::ValueError>([&] { K::set_value(w, Array{1.f}); }).find("set_value: ") == 0);
  CHECK(message_of<K::TypeError>([&] { K::get_value(x); }).find("get_value: x is not a variable") ==
        0);
  CHECK(K::get_value(w) == Array{1.f, 2.f});
}

TEST_CASE("an index outside at the call changes no variable") {
  const Tensor table = K::variable(Array{1.f, 2.f}), w = K::variable(0.0f);
  const Tensor i = K::placeholder({.shape = {1}, .dtype = "int32"});
  const auto f = K::function({i}, {K::gather(table, i)}, {.updates = {K::update_add(w, 1.0)}});
  CHECK_THROWS_AS(f({Array(std::vector<std::int32_t>{5})}), K::ValueError);
  CHECK(K::get_value(w).item<float>() == 0);
  CHECK(f({Array(std::vector<std::int32_t>{1})})[0] == Array{2.f});
}

TEST_CASE("steps that do not fit are errors of rnn") {
  const Tensor x = K::placeholder({.shape = {2, K::None, 3}});
  const Tensor h = K::zeros({2, 3});
  const auto no_states = [](const Tensor& in, const std::vector<Tensor>&) {
    return K::StepResult{in, {}};
  };
  CHECK(message_of<K::ValueError>([&] { K::rnn(no_states, x, {h}); }) ==
        "rnn: the step gives 0 states but got 1 initial states");
  const Tensor flat = K::placeholder({.shape = {2, 3}});
  CHECK(message_of<K::ValueError>([&] { K::rnn(no_states, flat, {}); }) ==
        "rnn: inputs has rank 2 but at least 3 is needed (inputs float32[2,3])");
  CHECK(message_of<K::ValueError>([&] { K::rnn(no_states, x, {}, {.unroll = true}); })
            .find("rnn: unrolling needs a known number of steps") == 0);
}
