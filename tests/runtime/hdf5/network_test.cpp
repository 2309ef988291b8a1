// A network of kiln::layers with weights that Keras saved gives Keras' results.
#include "tests/runtime/hdf5/hdf5_files.h"
#include "tests/support/catch.h"

#include <kiln/train.h>

#include <algorithm>
#include <cmath>

using namespace kiln;
using hdf5_test::file;
using kiln::testing::error_text;

namespace {

/// The network of files/keras_network.py.
struct Network {
  layers::Embedding words{7, 4, {.name = "words"}};
  layers::LSTM lstm{3, {.return_sequences = true, .name = "lstm"}};
  layers::Bidirectional both{layers::GRU(2, {.return_sequences = true, .name = "gru"}),
                             {.name = "both"}};
  layers::MultiHeadAttention mha{2, 3, {.name = "mha"}};
  layers::BatchNormalization norm{{.name = "norm"}};
  layers::Conv2D conv{2, {3, 3}, {.name = "conv"}};
  layers::SeparableConv2D sep{2, {2, 2}, {.name = "sep"}};
  layers::Dense head{2, {.name = "head"}};

  Tensor operator()(const Tensor& x) const {
    Tensor y = both(lstm(words(x)));
    y = norm(mha(y, y));
    y = sep(conv(reshape(y, {-1, 5, 4, 1})));
    return head(layers::Flatten()(y));
  }

  std::vector<Tensor> weights() const {
    return layers::weights({words, lstm, both, mha, norm, conv, sep, head});
  }
};

double largest_difference(const Array& a, const Array& b) {
  double largest = a.dims().size() == b.dims().size() ? 0 : INFINITY;
  for (std::int64_t i = 0; i < b.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    largest = std::fmax(largest, std::fabs(a.as<float>()[at] - b.as<float>()[at]));
  }
  return largest;
}

}  // namespace

TEST_CASE("HDF5: a network of layers with Keras' weights gives Keras' results") {
  const std::pair<const char*, const char*> rows[] = {{"keras2_weights.h5", "keras2.npz"},
                                                      {"keras2.keras", "keras2.npz"},
                                                      {"keras3.weights.h5", "keras3.npz"}};
  const auto x = placeholder({.shape = {None, 5}, .dtype = "int32"});
  const Network network;
  const Function predict = function({x}, {network(x)});
  for (const auto& [weights, expected] : rows) {
    INFO(weights);
    const LoadedWeights loaded = load_weights(file(weights), network.weights());
    CHECK(loaded.loaded.size() == 29);
    CHECK(loaded.unused.empty());
    const auto arrays = load_arrays(file(expected));
    CHECK(largest_difference(predict({arrays.at("x")})[0], arrays.at("y")) < 1e-5);
  }
  for (const char* weights : {"keras2_weights.h5", "keras2.keras"}) {
    INFO(weights);
    for (const Tensor& w : network.weights()) set_value(w, Array::zeros(get_value(w).dims()));
    load_weights(file(weights), network.weights(), {.match = Match::ByOrder});
    const auto arrays = load_arrays(file("keras2.npz"));
    CHECK(largest_difference(predict({arrays.at("x")})[0], arrays.at("y")) < 1e-5);
  }
}

TEST_CASE("HDF5: Keras 3's numbers match variables in the order in which layers make them") {
  const layers::BatchNormalization norm({.name = "norm"});
  const auto x = placeholder({.shape = {None, 4}});
  norm(x);
  std::vector<Tensor> weights = norm.weights();
  std::reverse(weights.begin(), weights.end());
  load_weights(file("keras3.weights.h5"), weights, {.strict = false});
  const auto arrays = load_arrays(file("keras3.weights.h5"));
  CHECK(get_value(norm.weights()[0]) == arrays.at("norm/0"));
  CHECK(get_value(norm.weights()[3]) == arrays.at("norm/3"));
  // A part of a layer has no numbers.
  CHECK_THAT(error_text<ValueError>([&] {
               load_weights(file("keras3.weights.h5"), {norm.weights()[2]}, {.strict = false});
             }),
             Catch::Matchers::ContainsSubstring("not in the file"));
}

TEST_CASE("HDF5: numbers match the variables of a layer that is renamed") {
  const auto rename = [](const std::string& name) {
    return name.starts_with("head/") ? "mine" + name.substr(4) : name;
  };
  const auto arrays = load_arrays(file("keras3.weights.h5"));
  const layers::Dense mine(2, {.name = "mine"});
  mine(placeholder({.shape = {None, arrays.at("head/0").dims()[0]}}));
  CHECK(load_weights(file("keras3.weights.h5"), mine.weights(), {.strict = false, .rename = rename})
            .loaded.size() == 2);
  CHECK(get_value(mine.weights()[0]) == arrays.at("head/0"));
}

TEST_CASE("HDF5: a file without names of layers says so") {
  const Variable w = variable(0.f, {.name = "dense/kernel"});
  const std::string error =
      error_text<ValueError>([&] { load_weights(file("nameless.weights.h5"), {w}); });
  CHECK_THAT(error, Catch::Matchers::ContainsSubstring(
                        "nameless.weights.h5, whose layers have no names but .rename's, and"));
}

TEST_CASE("HDF5: a mismatch of a numbered tensor names both") {
  const layers::Dense head(2, {.name = "head"});
  head(placeholder({.shape = {None, 3}}));
  CHECK_THAT(error_text<ValueError>([&] {
               load_weights(file("keras3.weights.h5"), head.weights(), {.strict = false});
             }),
             Catch::Matchers::ContainsSubstring("'head/0' for 'head/kernel'"));
}
