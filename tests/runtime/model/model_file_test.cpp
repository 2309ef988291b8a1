// .kiln files: what is saved is loaded, runs, differentiates and trains on with the same bits; the
// bytes of a file do not depend on when it is written.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/support/scratch.h"

#include <kiln/train.h>

#include <string>

using namespace kiln;
using kiln::testing::contents_of;
using kiln::testing::error_text;
using kiln::testing::Scratch;
using kiln::testing::without_path;

namespace {

Array rows(std::int64_t count) {
  std::vector<float> elements;
  for (std::int64_t i = 0; i < 3 * count; ++i)
    elements.push_back(0.125f * static_cast<float>(i % 7));
  return Array(elements, {count, 3});
}

/// A step of a small recurrent network with dropout-like noise and momentum.
struct Training {
  Tensor x = placeholder({.shape = {None, 3}, .name = "x"});
  Variable w = variable(Array({1.f, -1.f, .5f, .25f, 2.f, 0.f}, {3, 2}), {.name = "w"});
  Variable momentum = variable(Array::zeros({3, 2}), {.name = "w/momentum"});
  Variable calls = variable(Array(std::int64_t{0}), {.dtype = "int64", .name = "calls"});
  Tensor noise = random_uniform(shape(x), {.seed = 7});
  Tensor loss = mean(square(tanh(dot(x * noise, w)) - 0.5));
  std::vector<UpdateOp> updates() const {
    const Tensor speed = momentum * 0.9 + gradients(loss, {w})[0];
    return {update(momentum, speed), update_sub(w, speed * 0.1), update_add(calls, 1)};
  }
};

}  // namespace

TEST_CASE("model file: a training step is saved, loaded and continued with the same bits") {
  const Scratch scratch;
  const Training made;
  save_model(scratch.path("step.kiln"), {made.x}, {made.loss},
             {.updates = made.updates(), .metadata = {{"note", "ä"}}});
  const Function step =
      function({made.x}, {made.loss}, {.updates = made.updates(), .random = RandomState(3)});
  const Model loaded = load_model(scratch.path("step.kiln"));
  const Function again = function(loaded.inputs, loaded.outputs,
                                  {.updates = loaded.updates, .random = RandomState(3)});
  CHECK(loaded.metadata.at("note") == "ä");
  CHECK(loaded.inputs[0].name() == "x");
  for (const std::int64_t count : {4, 1, 9}) {
    CHECK(step({rows(count)})[0] == again({rows(count)})[0]);
  }
  for (const Variable& variable : loaded.variables) {
    const Variable& own = variable.name() == "w"       ? made.w
                          : variable.name() == "calls" ? made.calls
                                                       : made.momentum;
    CHECK(get_value(variable) == get_value(own));
  }
  CHECK(get_value(loaded.variable("calls")).item<std::int64_t>() == 3);
  CHECK(loaded.trainable.size() == 2);
}

TEST_CASE("model file: a loaded model is differentiated, saved again, and its weights are arrays") {
  const Scratch scratch;
  const auto x = placeholder({.shape = {None, 2}, .name = "x"});
  const auto w = variable(Array({1.f, 2.f}, {2, 1}), {.name = "dense/kernel"});
  const auto y = identity(dot(x, w), {.name = "y"});
  save_model(scratch.path("a.kiln"), {x}, {y});
  save_model(scratch.path("b.kiln"), {x}, {y});
  CHECK(contents_of(scratch.path("a.kiln")) == contents_of(scratch.path("b.kiln")));
  const Model m = load_model(scratch.path("a.kiln"));
  const auto slope = gradients(sum(m.output("y")), {m.variable("dense/kernel")})[0];
  CHECK(function(m.inputs, {slope})({Array({1.f, 2.f, 3.f, 4.f}, {2, 2})})[0] ==
        Array({4.f, 6.f}, {2, 1}));
  CHECK(load_arrays(scratch.path("a.kiln")).at("dense/kernel") == Array({1.f, 2.f}, {2, 1}));
  set_value(m.variables[0], Array({3.f, 4.f}, {2, 1}));
  save_model(scratch.path("c.kiln"), m);
  load_weights(scratch.path("c.kiln"), {w});
  CHECK(get_value(w) == Array({3.f, 4.f}, {2, 1}));
  CHECK(load_model(scratch.path("c.kiln")).trainable.size() == 1);
}

TEST_CASE("model file: loops, branches, constants of every size and equal names") {
  const Scratch scratch;
  const auto x = placeholder({.shape = {None, 4}, .name = "x"});
  const auto table = constant(Array::full({40, 40}, 0.5));  // beyond kSmallConstant
  const auto a = variable(2, {.name = "v"}), b = variable(3, {.name = "v"});
  const auto looped = foldl([](const Tensor& sum, const Tensor& row) { return sum + tanh(row); }, x,
                            {.initializer = constant(Array::zeros({4}))});
  const auto chosen = switch_(sum(x) > 0, [&] { return looped * a; }, [&] { return looped - b; });
  const auto y = chosen + sum(table) * 1e-3;
  save_model(scratch.path("m.kiln"), {x}, {y});
  const Model m = load_model(scratch.path("m.kiln"));
  CHECK(m.variables[0].name() == "v");
  CHECK(m.variables[1].name() == "v~2");
  const Array fed({1.f, -2.f, 3.f, .5f, -1.f, 0.f, 2.f, -4.f}, {2, 4});
  CHECK(function(m.inputs, m.outputs)({fed})[0] == function({x}, {y})({fed})[0]);
}

TEST_CASE("load_model: modules and their weights") {
  const Scratch scratch;
  const auto x = placeholder({.shape = {None}, .name = "x"});
  const auto w = variable(2, {.name = "w"});
  function({x}, {w * x}).dump(scratch.path("dump"), Stage::Graph);
  save_weights(scratch.path("w.npz"), {w});
  const std::string module = scratch.path("dump/00-user.kir");
  const Model m = load_model(module, {.weights = scratch.path("w.npz")});
  CHECK(function(m.inputs, m.outputs)({Array{1.f, 3.f}})[0] == Array{2.f, 6.f});
  CHECK(error_text<ValueError>([&] { static_cast<void>(load_model(module)); }) ==
        "load_model: the module has the variable 'w' float32[], which needs a file of `weights`");
  save_arrays(scratch.path("other.npz"), {{"v", Array(1.f)}});
  const std::string error = error_text<ValueError>(
      [&] { static_cast<void>(load_model(module, {.weights = scratch.path("other.npz")})); });
  CHECK(without_path(error, scratch.path("other.npz")) ==
        "load_model: the module has the variable 'w' float32[], which is not in PATH");
  save_arrays(scratch.path("other.npz"), {{"w", Array({1.f, 2.f})}});
  const std::string type = error_text<ValueError>(
      [&] { static_cast<void>(load_model(module, {.weights = scratch.path("other.npz")})); });
  CHECK(without_path(type, scratch.path("other.npz")) ==
        "load_model: the module has the variable 'w' float32[], which is float32[2] in PATH");
  const std::string missing = error_text<IoError>(
      [&] { static_cast<void>(load_model(module, {.weights = scratch.path("no.npz")})); });
  CHECK(without_path(missing, scratch.path("no.npz")) ==
        "load_model: PATH cannot be opened: No such file or directory");
  function({x}, {x * 2}).dump(scratch.path("constant"), Stage::Graph);
  const std::string constant = scratch.path("constant/00-user.kir");
  CHECK(error_text<ValueError>([&] {
          static_cast<void>(load_model(constant, {.weights = scratch.path("w.npz")}));
        }).find("00-user.kir has no variables") != std::string::npos);
}

TEST_CASE("save_model: what a model cannot hold") {
  const Scratch scratch;
  const std::string path = scratch.path("m.kiln");
  const auto x = placeholder({.shape = {2, 2}, .name = "x"});
  const auto s = placeholder({.shape = {2, 2}, .sparse = true, .name = "s"});
  CHECK(error_text<ValueError>([&] { save_model(path, {s}, {dot(s, x)}); }) ==
        "save_model: inputs[0] is sparse; a model has dense inputs (s sparse float32[2,2])");
  CHECK(error_text<ValueError>([&] {
          save_model(path, {x}, {x}, {.metadata = {{"k", "\xff"}}});
        }).find("is not UTF-8") != std::string::npos);
  const auto named = variable(1.f, {.name = std::string(65524, 'v')});
  CHECK(error_text<ValueError>([&] { save_model(path, {x}, {x * named}); }) ==
        "save_model: name '" + std::string(80, 'v') +
            "...' has 65524 bytes; at most 65523 are written");
  CHECK(error_text<ValueError>([&] {
          save_model(path, {x}, {x}, {.metadata = {{"k", std::string((1 << 26) + 1, 'm')}}});
        }).ends_with(" bytes; at most 67108864 are written"));
  CHECK(error_text<ValueError>([&] { save_model(path, {}, {x}); }).starts_with("save_model:"));
  CHECK(error_text<IoError>([&] {
          save_model(scratch.path("no/m.kiln"), {x}, {x});
        }).starts_with("save_model:"));
  CHECK(scratch.files() == 0);
}
