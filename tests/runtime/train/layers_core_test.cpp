// Tests Dense, Activation, Dropout, Flatten and Embedding against plain loops, and what all layers
// have in common.
#include "tests/support/catch.h"
#include "tests/support/misuse.h"

#include <kiln/train.h>

#include <cmath>

namespace kiln {
namespace {

namespace L = layers;

/// The numbers 0.1, 0.2, .. of that shape.
Array counted_tenths(const std::vector<std::int64_t>& shape) {
  Array array = Array::zeros(shape);
  float next = 0;
  for (float& x : array.as<float>()) x = next += 0.1f;
  return array;
}

const Initializer kTenths = [](const std::vector<std::int64_t>& shape, DType dtype) {
  return counted_tenths(shape).astype(dtype);
};

/// Whether a T is implicitly made of {}. GCC makes members of {} without it, Clang does not.
template <class T>
constexpr bool is_made_of_nothing() {
  return requires(void (*take)(T)) { take({}); };
}

std::vector<std::string> names_of(const std::vector<Tensor>& tensors) {
  std::vector<std::string> names;
  for (const Tensor& tensor : tensors) names.push_back(tensor.name());
  return names;
}

}  // namespace

TEST_CASE("layers: Dense is a dot product, a bias and an activation") {
  for (const bool use_bias : {true, false}) {
    const L::Dense dense(3, {.activation = "relu",
                             .use_bias = use_bias,
                             .kernel_initializer = kTenths,
                             .bias_initializer = initializers::Constant({.value = -1})});
    const Array x = counted_tenths({2, 5, 4});
    const Array y = eval(dense(constant(x)));
    REQUIRE(y.dims() == std::vector<std::int64_t>{2, 5, 3});
    for (std::int64_t i = 0; i < 10; ++i) {
      for (std::int64_t u = 0; u < 3; ++u) {
        double sum = use_bias ? -1 : 0;
        for (std::int64_t k = 0; k < 4; ++k) {
          const double kernel = 0.1 * static_cast<double>(k * 3 + u + 1);
          sum += static_cast<double>(x.as<float>()[static_cast<std::size_t>(i * 4 + k)]) * kernel;
        }
        CHECK(y.as<float>()[static_cast<std::size_t>(i * 3 + u)] ==
              Approx(std::max(sum, 0.0)).margin(1e-5));
      }
    }
    CHECK(dense.weights().size() == (use_bias ? 2 : 1));
  }
}

TEST_CASE("layers: variables are created once, with Keras' names, and copies share them") {
  clear_session();
  const L::Dense first(3), second(2), named(1, {.name = "out"});
  CHECK(first.name() == "dense");
  CHECK(second.name() == "dense_1");
  CHECK(L::Flatten().name() == "flatten");
  const L::Dense copy = first;
  const auto x = placeholder({.shape = {None, 4}});
  const Tensor y = named(second(copy(x)));
  CHECK(names_of(L::weights({first, second, named})) ==
        std::vector<std::string>{"dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias",
                                 "out/kernel", "out/bias"});
  const Tensor again = first(x);
  CHECK(first.weights().size() == 2);
  CHECK(same_node(first.weights()[0], copy.weights()[0]));
  CHECK(get_variable_shape(second.weights()[0]) == std::vector<std::int64_t>{3, 2});
  CHECK(get_value(second.weights()[1]) == Array{0.f, 0.f});
  CHECK(first.trainable_weights().size() == 2);
  CHECK(first.non_trainable_weights().empty());
  CHECK(L::weights({L::Flatten(), L::Dropout(0.5)}).empty());
  CHECK(L::updates({first, L::Flatten()}).empty());
}

TEST_CASE("layers: a layer that was moved from is still the same layer") {
  L::Dense dense(3, {.name = "moved"});
  L::BatchNormalization norm;
  const auto x = placeholder({.shape = {None, 4}});
  const Tensor y = dense(x);
  const L::Dense other = std::move(dense);
  const L::BatchNormalization other_norm = std::move(norm);
  CHECK(dense.name() == "moved");
  const Tensor z = norm(dense(x));
  CHECK(same_node(dense.weights()[0], other.weights()[0]));
  CHECK(same_node(norm.weights()[0], other_norm.weights()[0]));
  std::vector<L::Layer> layers{dense, norm};
  const std::vector<L::Layer> copies = std::move(layers);
  CHECK(L::trainable_weights(copies).size() == 4);
  L::Dense assigned(1);
  assigned = std::move(dense);
  CHECK(same_node(dense.weights()[0], assigned.weights()[0]));
}

TEST_CASE("layers: members whose options all have defaults need no initializer") {
  struct Model {
    L::BatchNormalization norm;
    L::LayerNormalization layer_norm;
    L::Flatten flatten;
    L::MaxPooling1D max1;
    L::MaxPooling2D max2;
    L::AveragePooling1D mean1;
    L::AveragePooling2D mean2;
    L::GlobalMaxPooling1D all_max1;
    L::GlobalMaxPooling2D all_max2;
    L::GlobalAveragePooling1D all_mean1;
    L::GlobalAveragePooling2D all_mean2;
    optimizers::LBFGS lbfgs;
    EarlyStopping stopping;
  };
  const Model model{};  // {} initializes each member by copy, with a constructor not explicit
  const Tensor x = model.norm(model.layer_norm(constant(counted_tenths({2, 4, 4, 1}))));
  CHECK(int_shape(model.flatten(model.mean2(model.max2(x)))) ==
        std::vector<std::optional<std::int64_t>>{2, 1});
  CHECK(is_made_of_nothing<L::BatchNormalization>());
  CHECK(is_made_of_nothing<L::LayerNormalization>());
  CHECK(is_made_of_nothing<L::GroupNormalization>());
  CHECK(is_made_of_nothing<L::PReLU>());
  CHECK(is_made_of_nothing<L::Flatten>());
  CHECK(is_made_of_nothing<L::MaxPooling1D>());
  CHECK(is_made_of_nothing<L::MaxPooling2D>());
  CHECK(is_made_of_nothing<L::AveragePooling1D>());
  CHECK(is_made_of_nothing<L::AveragePooling2D>());
  CHECK(is_made_of_nothing<L::GlobalMaxPooling1D>());
  CHECK(is_made_of_nothing<L::GlobalMaxPooling2D>());
  CHECK(is_made_of_nothing<L::GlobalAveragePooling1D>());
  CHECK(is_made_of_nothing<L::GlobalAveragePooling2D>());
  CHECK(is_made_of_nothing<optimizers::LBFGS>());
  CHECK(is_made_of_nothing<EarlyStopping>());
}

TEST_CASE("layers: a variable has the options' constraint, dtype and regularizer") {
  const L::Dense dense(2, {.kernel_initializer = "ones",
                           .bias_initializer = "ones",
                           .kernel_regularizer = regularizers::L1({.l1 = 1}),
                           .bias_regularizer = regularizers::L2({.l2 = 1}),
                           .bias_constraint = constraints::NonNeg(),
                           .dtype = "float64"});
  const Tensor y = dense(ones({1, 3}, {.dtype = "float64"}));
  CHECK(dtype(y) == "float64");
  CHECK(Variable(dense.weights()[1]).constraint());
  CHECK_FALSE(Variable(dense.weights()[0]).constraint());
  const auto losses = L::losses({dense});
  REQUIRE(losses.size() == 2);
  CHECK(eval(losses[0]).item<double>() == 6);
  CHECK(eval(losses[1]).item<double>() == 2);
}

TEST_CASE("layers: a build that fails leaves no variable behind") {
  int calls = 0;
  const Initializer fails_once = [&calls](const std::vector<std::int64_t>& shape, DType dtype) {
    if (calls++ == 0) throw IoError("test", "", "no value");
    return Array::zeros(shape, dtype);
  };
  const L::Dense dense(2, {.bias_initializer = fails_once});
  CHECK_THROWS_AS(dense(ones({1, 3})), IoError);
  const Tensor y = dense(ones({1, 4}));
  REQUIRE(dense.weights().size() == 2);
  CHECK(get_variable_shape(dense.weights()[0]) == std::vector<std::int64_t>{4, 2});
}

TEST_CASE("layers: activations by name have Keras' formulas") {
  struct Row {
    const char* name;
    double (*formula)(double);
  };
  const std::vector<Row> rows{
      {"linear", [](double x) { return x; }},
      {"elu", [](double x) { return x > 0 ? x : std::expm1(x); }},
      {"exponential", [](double x) { return std::exp(x); }},
      {"gelu", [](double x) { return x / 2 * std::erfc(-x * std::sqrt(0.5)); }},
      {"hard_sigmoid", [](double x) { return std::min(std::max(x / 6 + 0.5, 0.), 1.); }},
      {"hard_silu", [](double x) { return x * std::min(std::max(x / 6 + 0.5, 0.), 1.); }},
      {"hard_swish", [](double x) { return x * std::min(std::max(x / 6 + 0.5, 0.), 1.); }},
      {"leaky_relu", [](double x) { return x > 0 ? x : 0.2 * x; }},
      {"mish", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {"relu", [](double x) { return std::max(x, 0.); }},
      {"relu6", [](double x) { return std::min(std::max(x, 0.), 6.); }},
      {"selu",
       [](double x) {
         return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x));
       }},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"silu", [](double x) { return x / (1 + std::exp(-x)); }},
      {"swish", [](double x) { return x / (1 + std::exp(-x)); }},
      {"softplus", [](double x) { return std::log1p(std::exp(x)); }},
      {"softsign", [](double x) { return x / (1 + std::abs(x)); }},
      {"tanh", [](double x) { return std::tanh(x); }}};
  const std::vector<double> xs{-4, -1, -0.25, 0.5, 2, 7};
  for (const Row& row : rows) {
    INFO(row.name);
    const Array y = eval(L::Activation(row.name)(constant(xs, {.dtype = "float64"})));
    for (std::size_t i = 0; i < xs.size(); ++i) {
      CHECK(y.as<double>()[i] == Approx(row.formula(xs[i])).margin(1e-9));
    }
  }
  const auto x = constant({0., std::log(3.)}, {.dtype = "float64"});
  CHECK(eval(L::Activation("softmax")(x)).at<double>(1) == Approx(0.75));
  CHECK(eval(L::Activation("log_softmax")(x)).at<double>(1) == Approx(std::log(0.75)));
  CHECK(eval(L::Activation([](const Tensor& t) { return square(t); })(constant({3.}))) ==
        Array{9.f});
  CHECK(same_node(L::Activation(None)(x), x));
}

TEST_CASE("layers: Dropout scales what it keeps, in training only") {
  const L::Dropout dropout(0.25, {.seed = 3});
  const auto x = ones({1000});
  const auto phase = learning_phase();
  const Function f = function({phase}, {dropout(x)});
  CHECK(f({0})[0] == eval(x));
  const Array dropped = f({1})[0];
  int kept = 0;
  for (const float y : dropped.as<float>()) {
    CHECK((y == 0 || y == Approx(1 / 0.75)));
    kept += y != 0;
  }
  CHECK(kept == Approx(750).margin(60));
  CHECK(eval(dropout(x, {.training = false})) == eval(x));
  CHECK_FALSE(eval(dropout(x, {.training = true})) == eval(x));
  CHECK(same_node(L::Dropout(0)(x), x));
}

TEST_CASE("layers: Flatten has one order of elements for both data formats") {
  const Array last = counted_tenths({2, 3, 4, 5});
  const auto x = constant(last);
  const auto first = permute_dimensions(x, {0, 3, 1, 2});
  const Array expected = last.reshape({2, 60});
  CHECK(eval(L::Flatten()(x)) == expected);
  CHECK(eval(L::Flatten({.data_format = "channels_first"})(first)) == expected);
  CHECK(eval(L::Flatten()(constant({1., 2.}))) == Array{{1.f}, {2.f}});
}

TEST_CASE("layers: Embedding gathers rows, and makes the mask of what is not 0") {
  const L::Embedding embedding(3, 2, {.embeddings_initializer = kTenths, .mask_zero = true});
  const auto x = constant(Array{{2, 0}, {1, 1}}, {.dtype = "int32"});
  const Array y = eval(embedding(x));
  REQUIRE(y.dims() == std::vector<std::int64_t>{2, 2, 2});
  const Array table = get_value(embedding.weights()[0]);
  for (const auto& [i, j, row] : std::vector<std::array<int, 3>>{{0, 0, 2}, {0, 1, 0}, {1, 0, 1}}) {
    CHECK(y.at<float>(i, j, 0) == table.at<float>(row, 0));
    CHECK(y.at<float>(i, j, 1) == table.at<float>(row, 1));
  }
  CHECK(eval(embedding.compute_mask(x)).at<bool>(0, 1) == false);
  CHECK(eval(embedding.compute_mask(x)).at<bool>(0, 0) == true);
  CHECK(L::Embedding(3, 2).compute_mask(x).empty());
}

TEST_CASE("layers: misuse names layer, argument, shape and line") {
  using testing::Misuse, testing::throws;
  clear_session();
  const L::Dense dense(2, {.name = "d"}), other(2, {.name = "e"});
  const auto matrix = placeholder({.shape = {None, 3}, .name = "x"});
  const auto wider = placeholder({.shape = {None, 4}, .name = "x"});
  const auto unknown = placeholder({.shape = {3, None}, .name = "x"});
  const auto doubles = placeholder({.shape = {None, 3}, .dtype = "float64", .name = "x"});
  const Tensor built = dense(matrix);
  testing::run(std::vector<Misuse>{
      {throws<ValueError>(), [] { L::Dense(0); }, "Dense: units 0 is not positive"},
      {throws<TypeError>(), [] { L::Dense(1, {.dtype = "int32"}); },
       "Dense: dtype int32 is not floating point"},
      {throws<ValueError>(), [] { L::Dense(1, {.activation = "rellu"}); },
       "activation: unknown activation 'rellu'; did you mean 'relu'?"},
      {throws<ValueError>(), [] { L::Activation("sigmoyd"); },
       "activation: unknown activation 'sigmoyd'; did you mean 'sigmoid'?"},
      {throws<ValueError>(), [] { L::Dense(1, {.kernel_initializer = "one s"}); },
       "Initializer: unknown initializer 'one s'; did you mean 'ones'?"},
      {throws<ValueError>(), [=] { static_cast<void>(dense(ones({3}))); },
       "Dense: layer 'd' requires inputs of rank 2 or more, not float32[3]"},
      {throws<ValueError>(), [=] { static_cast<void>(dense(wider)); },
       "Dense: layer 'd' requires size 3 of axis -1 of inputs, as at its first call, not x "
       "float32[None,4]"},
      {throws<ValueError>(), [=] { static_cast<void>(dense(unknown)); },
       "Dense: layer 'd' requires a known size of axis -1 of inputs, not x float32[3,None]"},
      {throws<TypeError>(), [=] { static_cast<void>(dense(doubles)); },
       "Dense: layer 'd' requires inputs of dtype float32, not x float64[None,3]"},
      {throws<ValueError>(), [=] { static_cast<void>(other.weights()); },
       "weights: layer 'e' has no variables yet: they are created at its first call"},
      {throws<ValueError>(), [=] { static_cast<void>(L::losses({dense, other})); },
       "losses: layer 'e' has no variables yet: they are created at its first call"},
      {throws<ValueError>(), [] { L::Dropout(1); }, "Dropout: rate 1 is outside [0, 1)"},
      {throws<ValueError>(), [] { L::Flatten({.data_format = "last"}); },
       "Flatten: unknown data_format 'last': expected channels_last, channels_first"},
      {throws<ValueError>(), [] { L::Embedding(0, 2); }, "Embedding: input_dim 0 is not positive"},
      {throws<TypeError>(), [] { static_cast<void>(L::Embedding(3, 2)(ones({3}))); },
       "Embedding: indices are not integers (indices float32[3])"}});
}

}  // namespace kiln
