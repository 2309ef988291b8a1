// Four ranks that train with a quarter of the batch each learn as one process does with all of it.
#include "tests/distributed/collectives/session_ranks.h"
#include "tests/support/catch.h"

#include <kiln/train.h>

#include <cmath>

namespace K = kiln;
namespace D = kiln::distributed;
namespace L = kiln::layers;

namespace kiln::testing {
namespace {

constexpr std::int64_t kBatch = 32;
constexpr int kSteps = 20;

/// A model with its inputs, and a batch of them.
struct Training {
  std::vector<K::Tensor> inputs;
  K::Tensor loss;
  std::vector<K::Tensor> weights;
  std::vector<K::Array> batch;
  double gradient_tolerance, loss_tolerance;
};

K::Array waves(const std::vector<std::int64_t>& dims, double period, DType dtype) {
  K::Array array = K::Array::zeros(dims, DType::Float64);
  const auto elements = array.as<double>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    elements[i] = std::sin(static_cast<double>(i) * period);
  }
  return K::eval(K::cast(K::constant(array, {.dtype = "float64"}), dtype));
}

/// The weights that the layers made, with values that are equal on all ranks.
std::vector<K::Tensor> initialised(const std::vector<L::Layer>& layers, DType dtype) {
  const std::vector<K::Tensor> weights = L::trainable_weights(layers);
  for (const K::Tensor& w : weights) {
    const auto dims = K::get_value(w).dims();
    K::set_value(w, waves({dims.begin(), dims.end()}, 1.3, dtype));
  }
  return weights;
}

Training dense_net(DType dtype) {
  const bool is_double = dtype == DType::Float64;
  const auto x = K::placeholder({.shape = {K::None, 5}, .dtype = dtype});
  const auto y = K::placeholder({.shape = {K::None, 2}, .dtype = dtype});
  const L::Dense hidden(16, {.activation = "tanh", .dtype = dtype}), out(2, {.dtype = dtype});
  const auto loss = K::mean(K::square(out(hidden(x)) - y));
  return {.inputs = {x, y},
          .loss = loss,
          .weights = initialised({hidden, out}, dtype),
          .batch = {waves({kBatch, 5}, 0.7, dtype), waves({kBatch, 2}, 0.9, dtype)},
          .gradient_tolerance = is_double ? 1e-13 : 1e-5,
          .loss_tolerance = is_double ? 1e-11 : 1e-4};
}

Training char_lstm() {
  constexpr std::int64_t kTime = 6, kCharacters = 8;
  const auto x = K::placeholder({.shape = {K::None, kTime}, .dtype = "int32"});
  const auto next = K::placeholder({.shape = {K::None, kTime}, .dtype = "int32"});
  const L::LSTM lstm(12, {.return_sequences = true});
  const L::Dense out(kCharacters, {.activation = "softmax"});
  const auto predicted = out(lstm(K::one_hot(x, kCharacters)));
  const auto loss = K::mean(K::sparse_categorical_crossentropy(next, predicted));
  std::vector<std::int32_t> text, shifted;
  for (std::int64_t i = 0; i < kBatch * kTime; ++i) {
    text.push_back(static_cast<std::int32_t>(i * i % kCharacters));
    shifted.push_back(static_cast<std::int32_t>((i + 1) * (i + 1) % kCharacters));
  }
  return {.inputs = {x, next},
          .loss = loss,
          .weights = initialised({lstm, out}, DType::Float32),
          .batch = {K::Array(text, {kBatch, kTime}), K::Array(shifted, {kBatch, kTime})},
          .gradient_tolerance = 1e-5,
          .loss_tolerance = 1e-4};
}

double scalar(const K::Array& array) {
  return array.dtype() == DType::Float64 ? array.item<double>() : array.item<float>();
}

/// Whether they differ by at most `tolerance` of the largest element.
bool are_close(const K::Array& a, const K::Array& b, double tolerance) {
  const auto wide = [](const K::Array& array) { return K::constant(array, {.dtype = "float64"}); };
  const auto most = K::eval(K::max(K::abs(wide(b)))).item<double>();
  return K::eval(K::max(K::abs(wide(a) - wide(b)))).item<double>() <= tolerance * most;
}

/// The gradients on the inputs, and the loss in each step of training, from the weights' values on.
struct Learned {
  std::vector<K::Array> gradients;
  std::vector<double> losses;
};

Learned learn(const Training& t, const K::Tensor& loss, const std::vector<K::Tensor>& gradients,
              const std::vector<K::Array>& inputs, const char* backend) {
  std::vector<K::UpdateOp> updates;
  for (std::size_t i = 0; i < t.weights.size(); ++i) {
    updates.push_back(K::update_sub(t.weights[i], 0.1 * gradients[i]));
  }
  Learned learned{K::function(t.inputs, gradients, {.backend = backend})(inputs), {}};
  const auto step = K::function(t.inputs, {loss}, {.updates = updates, .backend = backend});
  for (int i = 0; i < kSteps; ++i) learned.losses.push_back(scalar(step(inputs)[0]));
  return learned;
}

K::Array rows_of_rank(const K::Array& batch, const D::Group& world) {
  const auto [begin, end] = world.shard(kBatch);
  std::vector<std::int64_t> dims(batch.dims().begin(), batch.dims().end());
  const std::size_t row = batch.bytes() / static_cast<std::size_t>(kBatch);
  dims[0] = end - begin;
  const auto* const data = static_cast<const std::byte*>(batch.data());
  return K::Array::copy_of(data + static_cast<std::size_t>(begin) * row, dims, batch.dtype());
}

std::string compare(const Training& t, const D::Group& world, const char* backend) {
  Faults faults;
  const std::vector<K::Array> values = K::batch_get_value(t.weights);
  std::vector<K::Array> rows;
  for (const K::Array& input : t.batch) rows.push_back(rows_of_rank(input, world));
  const Learned ranks = learn(t, D::all_reduce(t.loss, {.reduction = D::Reduction::Mean}),
                              D::gradients(t.loss, t.weights), rows, backend);
  D::require_equal(t.weights);
  for (std::size_t i = 0; i < values.size(); ++i) K::set_value(t.weights[i], values[i]);
  // Of all rows on each rank: equal, as an update must be.
  const auto own = D::all_reduce(K::gradients(t.loss, t.weights), {.reduction = D::Reduction::Max});
  const Learned alone = learn(t, t.loss, own, t.batch, backend);
  for (std::size_t i = 0; i < alone.gradients.size(); ++i) {
    faults.expect(are_close(ranks.gradients[i], alone.gradients[i], t.gradient_tolerance),
                  "gradient " + std::to_string(i) + " on " + backend);
  }
  for (std::size_t i = 0; i < alone.losses.size(); ++i) {
    faults.expect(std::fabs(ranks.losses[i] - alone.losses[i]) <= t.loss_tolerance,
                  "the loss of step " + std::to_string(i) + " on " + backend);
  }
  faults.expect(alone.losses.back() < 0.95 * alone.losses[0], "nothing was learnt");
  return faults.text();
}

TEST_CASE("equivalence: 4 ranks learn as one process with the whole batch") {
  const std::string ends = run_sessions({.ranks = 4, .seed = 1}, [](const D::Group& world) {
    std::string faults;
    for (const char* backend : kBackends) {
      faults += compare(dense_net(DType::Float32), world, backend);
      faults += compare(dense_net(DType::Float64), world, backend);
      faults += compare(char_lstm(), world, backend);
    }
    return faults;
  });
  CHECK(ends == "");
}

}  // namespace
}  // namespace kiln::testing
