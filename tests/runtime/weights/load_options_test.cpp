// Options of load_weights: other formats, names, values and order.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <string>

using namespace kiln;
using kiln::testing::error_text;
using kiln::testing::Scratch;
using kiln::testing::without_path;

namespace {

/// Two variables of a layer and a file with values for them under other names.
struct Layer {
  Variable kernel = variable(Array::zeros({2, 3}), {.name = "dense/kernel"});
  Variable bias = variable(Array::zeros({3}), {.name = "dense/bias"});
  Scratch scratch;
  std::string path = scratch.path("w.npz");
  const Array weight = Array({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {3, 2}), shift{7.f, 8.f, 9.f};

  Layer() { save_arrays(path, {{"fc.bias", shift}, {"fc.weight", weight}}); }
  std::string error(const LoadWeightsOptions& options) const {
    const std::string text =
        error_text<ValueError>([&] { load_weights(path, {kernel, bias}, options); });
    return without_path(text, path);
  }
};

std::string renamed(const std::string& name) {
  return name == "fc.weight" ? "dense/kernel" : "dense/bias";
}
Array turned(const std::string&, const Array& array) {
  return array.rank() == 2 ? transposed(array, {1, 0}) : array;
}

}  // namespace

TEST_CASE("load_weights: names and values by the rules of the user") {
  const Layer layer;
  const LoadedWeights result = load_weights(layer.path, {layer.kernel, layer.bias},
                                            {.rename = renamed, .transform = turned});
  CHECK(result.loaded == std::vector<std::string>{"dense/kernel", "dense/bias"});
  CHECK(get_value(layer.kernel) == transposed(layer.weight, {1, 0}));
  CHECK(get_value(layer.bias) == layer.shift);
}

TEST_CASE("load_weights: an error of a file that a rule reads names that file") {
  const Layer layer;
  const auto from_other = [](const std::string&, const Array&) {
    return load_arrays("nowhere.npz").at("x");
  };
  CHECK(error_text<IoError>([&] {
          load_weights(layer.path, {layer.kernel, layer.bias},
                       {.rename = renamed, .transform = from_other});
        }) == "load_weights: nowhere.npz cannot be opened: No such file or directory");
}

TEST_CASE("load_weights: an error of a rule changes no variable") {
  const Layer layer;
  CHECK(layer.error({.rename = [](const std::string&) { return "one"; }}) ==
        "load_weights: rename gives the name 'one' to 'fc.bias' and to 'fc.weight'");
  CHECK_THAT(layer.error({.rename = renamed}),
             Catch::Matchers::ContainsSubstring("other shape; fits if transposed by [1,0]"));
  const auto flat = [](const std::string&, const Array& array) { return array.reshape({3}); };
  CHECK(layer.error({.rename = renamed, .transform = flat}) ==
        "reshape: dims [3] do not hold the 6 elements of [3,2]");
  struct Rejected {};
  const auto reject = [](const std::string&, const Array&) -> Array { throw Rejected(); };
  CHECK_THROWS_AS(load_weights(layer.path, {layer.kernel, layer.bias},
                               {.rename = renamed, .transform = reject}),
                  Rejected);
  CHECK(get_value(layer.kernel) == Array::zeros({2, 3}));
  CHECK(get_value(layer.bias) == Array::zeros({3}));
}

TEST_CASE("load_weights: by order, as Keras loads") {
  const Layer layer;
  const LoadedWeights result = load_weights(layer.path, {layer.bias, layer.kernel},
                                            {.match = Match::ByOrder, .transform = turned});
  CHECK(result.loaded == std::vector<std::string>{"dense/bias", "dense/kernel"});
  CHECK(get_value(layer.bias) == layer.shift);
  CHECK(get_value(layer.kernel) == transposed(layer.weight, {1, 0}));
}

TEST_CASE("load_weights: by order, the table shows all pairs") {
  const Layer layer;
  CHECK(layer.error({.match = Match::ByOrder}) ==
        "load_weights: the 2 tensors of PATH and the 2 variables differ in 2 names\n"
        "  name                          file           variable       problem\n"
        "  'fc.bias' for 'dense/kernel'  float32 [3]    float32 [2,3]  other shape; load_weights "
        "with skip_mismatch = true skips it\n"
        "  'fc.weight' for 'dense/bias'  float32 [3,2]  float32 [3]    other shape; load_weights "
        "with skip_mismatch = true skips it");
  const Variable other = variable(Array::zeros({1}), {.name = "other"});
  const std::string error = error_text<ValueError>([&] {
    load_weights(layer.path, {layer.bias, layer.kernel, other},
                 {.match = Match::ByOrder, .transform = turned});
  });
  CHECK_THAT(error, Catch::Matchers::ContainsSubstring("'fc.bias' for 'dense/bias'") &&
                        Catch::Matchers::ContainsSubstring("fits") &&
                        Catch::Matchers::ContainsSubstring("'other'") &&
                        Catch::Matchers::ContainsSubstring("not in the file"));
  CHECK(get_value(layer.bias) == Array::zeros({3}));
}

TEST_CASE("load_weights: by order, the table shows a mismatch behind many pairs that fit") {
  const Scratch scratch;
  std::map<std::string, Array> arrays;
  std::vector<Tensor> variables;
  for (int i = 0; i < 40; ++i) {
    const std::string name = std::string(i < 10 ? "a0" : "a") + std::to_string(i);
    arrays.emplace(name, Array(1.f));
    std::vector<std::int64_t> dims;
    if (i == 30) dims = {2};
    variables.push_back(variable(Array::zeros(dims), {.name = "v" + std::to_string(i)}));
  }
  save_arrays(scratch.path("w.npz"), arrays);
  const std::string error = error_text<ValueError>(
      [&] { load_weights(scratch.path("w.npz"), variables, {.match = Match::ByOrder}); });
  CHECK_THAT(error, Catch::Matchers::ContainsSubstring("differ in 1 name") &&
                        Catch::Matchers::ContainsSubstring("\n  26 that fit\n") &&
                        Catch::Matchers::ContainsSubstring("'a30' for 'v30'"));
}

TEST_CASE("load_weights: a safetensors file has no order") {
  const Layer layer;
  const std::string path = layer.scratch.path("w.safetensors");
  save_weights(path, {layer.kernel, layer.bias});
  const std::string error = error_text<ValueError>(
      [&] { load_weights(path, {layer.kernel, layer.bias}, {.match = Match::ByOrder}); });
  CHECK(without_path(error, path) ==
        "load_weights: match is ByOrder, but PATH is a safetensors file, whose tensors are sorted "
        "by their names");
}

TEST_CASE("save_weights: as a NumPy archive, which has no metadata") {
  const Layer layer;
  save_weights(layer.path, {layer.kernel, layer.bias});
  CHECK(load_arrays(layer.path).at("dense/bias") == Array::zeros({3}));
  CHECK(weights_metadata(layer.path).empty());
  const std::string error = error_text<ValueError>(
      [&] { save_weights(layer.path, {layer.bias}, {.metadata = {{"a", "b"}}}); });
  CHECK(error == "save_weights: a .npz file has no metadata; .safetensors does");
}
