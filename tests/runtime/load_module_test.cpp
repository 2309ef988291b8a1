// Tests functions of module files, and what functions tell about their inputs and outputs.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/support/has.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace K = kiln;
using kiln::testing::contents_of, kiln::testing::error_text, kiln::testing::has,
    kiln::testing::Scratch;

namespace {

std::string text_of(const std::vector<K::TensorSpec>& specs) {
  std::ostringstream out;
  for (const K::TensorSpec& spec : specs) out << spec << "; ";
  return out.str();
}

/// y = x w, w := w + sum of x.
K::Function step_function(const K::Variable& w) {
  const auto x = K::placeholder({.shape = {K::None, 2}, .name = "x"});
  const auto total = K::sum(x, {.axis = 0});
  return K::function({x}, {K::dot(x, w)},
                     {.updates = {K::update_add(w, K::reshape(total, {2, 1}))}, .name = "step"});
}

}  // namespace

TEST_CASE("load_module: a dumped graph runs, with updates of variables") {
  const Scratch scratch;
  const auto w = K::variable({{1.}, {2.}}, {.name = "w"});
  const K::Array x{{1.f, 0.f}, {0.f, 1.f}, {1.f, 1.f}};
  const auto original = step_function(w);
  original.dump(scratch.folder(), K::Stage::Graph | K::Stage::Module);
  K::save_weights(scratch.path("w.safetensors"), {w});
  const K::Array expected = original({x})[0];
  const K::Array updated = K::get_value(w);
  for (const char* file : {"00-user.kir", "40-module.kir", "40-module.kirb"}) {
    INFO(file);
    const auto loaded =
        K::load_module(scratch.path(file), {.weights = scratch.path("w.safetensors")});
    CHECK(loaded.name() == "step");
    CHECK(text_of(loaded.inputs()) == "x float32[None,2]; ");
    CHECK(text_of(loaded.outputs()) == "output_0 float32[None,1]; ");
    CHECK(loaded({x})[0] == expected);
    REQUIRE(loaded.variables().size() == 1);
    CHECK(loaded.variables()[0].name() == "w");
    CHECK(K::get_value(loaded.variables()[0]) == updated);
    // The user's variables.
    const auto own = K::variable({{1.}, {2.}}, {.name = "w"});
    const auto bound = K::load_module(scratch.path(file),
                                      {.variables = {own}, .name = "bound", .optimize = false});
    CHECK(bound.name() == "bound");
    CHECK(bound({x})[0] == expected);
    CHECK(K::get_value(own) == updated);
  }
}

TEST_CASE("load_module: guards of a file are checked") {
  const Scratch scratch;
  const auto a = K::placeholder({.shape = {K::None}, .name = "a"});
  const auto b = K::placeholder({.shape = {K::None}, .name = "b"});
  const auto f = K::function({a, b}, {a + b});
  f.dump(scratch.folder(), K::Stage::Module);
  const auto loaded = K::load_module(scratch.path("40-module.kir"));
  const K::Array two{1.f, 2.f}, three{1.f, 2.f, 3.f};
  CHECK(error_text<K::ValueError>([&] { loaded({two, three}); }) ==
        error_text<K::ValueError>([&] { f({two, three}); }));
}

TEST_CASE("load_module: a name scope leaves the names of variables alone") {
  const Scratch scratch;
  const auto w = K::variable({{1.}, {2.}}, {.name = "w"});
  step_function(w).dump(scratch.folder(), K::Stage::Module);
  K::save_weights(scratch.path("w.safetensors"), {w});
  const auto scope = K::name_scope("scope");
  const auto loaded =
      K::load_module(scratch.path("40-module.kir"), {.weights = scratch.path("w.safetensors")});
  CHECK(loaded.variables()[0].name() == "w");
  CHECK(K::zeros({2}, {.name = "w"}).name() == "scope/w");
}

TEST_CASE("load_module: a variable may have the name of an input, or none") {
  const Scratch scratch;
  const auto x = K::placeholder({.shape = {}, .name = "w"});
  const auto w = K::variable(2, {.name = "w"}), unnamed = K::variable(5);
  const auto original = K::function({x}, {x + w, x * unnamed});
  original.dump(scratch.folder(), K::Stage::Module);
  const auto load = [&](const std::vector<K::Tensor>& variables) {
    return K::load_module(scratch.path("40-module.kir"), {.variables = variables});
  };
  const K::Array one(1.f);
  CHECK(load(original.variables())({one}) == original({one}));
  const auto distinct = K::variable(2, {.name = "w~2"});
  CHECK(load({unnamed, distinct})({one}) == original({one}));
  CHECK(error_text<K::ValueError>([&] { load({w, unnamed, distinct}); }) ==
        "load_module: two variables are named 'w~2'");
}

TEST_CASE("load_module: variables of one name are told apart by suffixes") {
  const Scratch scratch;
  const auto w = K::variable(2, {.name = "w"}), also_w = K::variable(3, {.name = "w"});
  K::function({}, {w + also_w}).dump(scratch.folder(), K::Stage::Module);
  const auto load = [&](const std::vector<K::Tensor>& variables) {
    return K::load_module(scratch.path("40-module.kir"), {.variables = variables});
  };
  CHECK(error_text<K::ValueError>([&] { load({w, also_w}); }) ==
        "load_module: two variables are named 'w'");
  const auto suffixed = K::variable(3, {.name = "w~2"});
  CHECK(load({w, suffixed})({})[0] == K::Array(5.f));
}

TEST_CASE("load_module: a file that is too large is rejected before it is read") {
  const Scratch scratch;
  const auto error = [&](const char* head, std::uintmax_t bytes) {
    const std::string path = scratch.write("large", head);
    std::filesystem::resize_file(path, bytes);  // a hole, without memory
    return error_text<K::IoError>([&] { K::load_module(path); });
  };
  constexpr std::uintmax_t kGiB = std::uintmax_t{1} << 30;
  const std::string path = scratch.path("large");
  CHECK(error("kir 0.1", kGiB + 1) ==
        "load_module: " + path + " has 1073741825 bytes; at most 1073741824 are read");
  CHECK(error("KILNMODL", 4 * kGiB + 1) ==
        "load_module: " + path + " has 4294967297 bytes; at most 4294967296 are read");
}

TEST_CASE("load_module: errors name the file, the variable and both types") {
  const Scratch scratch;
  const auto w = K::variable({{1.}, {2.}}, {.name = "w"});
  step_function(w).dump(scratch.folder(), K::Stage::Module);
  const std::string file = scratch.path("40-module.kir"), bytes = scratch.path("40-module.kirb");
  const auto load = [&](const std::string& path, const K::LoadModuleOptions& options = {}) {
    return [&, path, options] { K::load_module(path, options); };
  };
  CHECK(error_text<K::ValueError>(load(file)) ==
        "load_module: the module has the variable w float32[2,1], which is not among `variables`");
  const K::Tensor other = K::variable({1., 2.}, {.name = "w"});
  const K::Tensor unknown = K::zeros({2, 1}, {.name = "v"});
  CHECK(error_text<K::ValueError>(load(file, {.variables = {other}})) ==
        "load_module: variable 'w' is float32[2] but the module has float32[2,1]");
  CHECK(error_text<K::ValueError>(load(file, {.variables = {w, other}})) ==
        "load_module: two variables are named 'w'");
  CHECK(error_text<K::ValueError>(load(file, {.variables = {w, unknown}})) ==
        "load_module: the module has no variable 'v'; its variables: w");
  CHECK(error_text<K::TypeError>(load(file, {.variables = {K::constant(1)}})) ==
        "load_module: variables[0] is not a variable (float32[])");
  K::save_weights(scratch.path("v.safetensors"), {unknown});
  CHECK(error_text<K::ValueError>(load(file, {.weights = scratch.path("v.safetensors")})) ==
        "load_module: the module has the variable w float32[2,1], which is not in " +
            scratch.path("v.safetensors") + " and not among `variables`");
  const std::string missing = scratch.path("missing.kir");
  CHECK(error_text<K::IoError>(load(missing)) ==
        "load_module: " + missing + " cannot be opened: No such file or directory");
  const std::string whole = contents_of(bytes);
  const std::string cut = scratch.write("cut.kirb", whole.substr(0, whole.size() - 7));
  CHECK(error_text<K::IoError>(load(cut)).starts_with("load_module: " + cut + " cannot be read: "));
  const std::string junk = scratch.write("junk.kir", "kir 0.1\nmodule \"m\"\n%0 = nothing\n");
  CHECK(error_text<K::IoError>(load(junk)).starts_with("load_module: " + junk + ":3:"));
}

TEST_CASE("Function: describes its inputs, outputs and variables") {
  const auto x = K::placeholder({.shape = {K::None, 3}, .name = "x"});
  const auto also_x = K::placeholder({.shape = {3}, .dtype = "int32", .name = "x"});
  const auto unnamed = K::placeholder({.shape = {}, .dtype = "bool"});
  const auto s = K::placeholder({.shape = {K::None, 5}, .sparse = true, .name = "s"});
  const auto w = K::zeros({3}, {.name = "w"}), v = K::zeros({2}, {.name = "v"});
  const auto f = K::function({x, also_x, unnamed, s}, {K::sum(x), x, w, K::sum(v)},
                             {.updates = {K::update_add(w, 1)}});
  CHECK(text_of(f.inputs()) ==
        "x float32[None,3]; x~2 int32[3]; input_2 bool[]; s sparse float32[None,5]; ");
  CHECK(f.inputs()[0].shape == std::vector<std::optional<std::int64_t>>{std::nullopt, 3});
  CHECK(text_of(f.outputs()) ==
        "output_0 float32[]; x float32[None,3]; w float32[3]; output_3 float32[]; ");
  REQUIRE(f.variables().size() == 2);
  const kiln::testing::Scratch scratch;
  K::save_weights(scratch.path("f.safetensors"), f.variables());
  K::load_weights(scratch.path("f.safetensors"), f.variables());
  CHECK(K::same_node(f.variables()[0], w));
  CHECK(K::same_node(f.variables()[1], v));
  // The parts of a graph with data-dependent sizes are one function.
  const auto n = K::variable(3, {.dtype = "int32", .name = "n"});
  const auto parts = K::function({x}, {K::arange(n), K::sum(x) + K::sum(v)});
  CHECK(text_of(parts.inputs()) == "x float32[None,3]; ");
  CHECK(text_of(parts.outputs()) == "output_0 int32[None]; output_1 float32[]; ");
  CHECK(parts.variables().size() == 2);
  CHECK(error_text<K::ValueError>([] { K::Function().inputs(); }) ==
        "Function: an empty Function is called: it was not created by K::function");
}
