// Tests repeated calls on the cpu backend: from the third one on nothing is allocated, neither by
// the host, the backend, its threads nor the libraries. Only convolutions allocate: the library
// makes small blocks for the arguments of each of its calls.
#include "tests/support/catch.h"
#include "tests/runtime/host_allocations/counted.h"

#include <kiln/k.h>

#include <functional>
#include <new>

using namespace kiln;
using allocations_test::allocations_of;

namespace {

/// A function with its feeds and memory for its results.
class Steady {
 public:
  Steady(Function f, std::vector<Array> feeds, std::vector<Array> results)
      : f_(std::move(f)), feeds_(std::move(feeds)), results_(std::move(results)) {
    for (const Array& feed : feeds_) inputs_.push_back(feed.as_view());
    for (Array& result : results_) {
      outputs_.push_back({result.dtype(), result.data(), result.dims()});
    }
  }
  void call() { f_.call_into(inputs_, outputs_); }
  Profiler profile() const { return f_.profile(); }
  const Array& result(std::size_t i) const { return results_[i]; }

 private:
  Function f_;
  std::vector<Array> feeds_, results_;
  std::vector<ArrayView> inputs_;
  std::vector<MutableArrayView> outputs_;
};

Array drawn(std::vector<std::int64_t> dims, unsigned seed) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) / 16777216.0f - 0.5f;
  }
  return Array(values, std::move(dims));
}

Variable weight(std::int64_t rows, std::int64_t columns) {
  return variable(drawn({rows, columns}, 7));
}

/// A training step of a network with one hidden layer: returns the loss, updates each weight.
Steady mlp_step(std::int64_t batch, std::int64_t in, std::int64_t hidden, std::int64_t out) {
  const Tensor x = placeholder({.shape = {None, in}}), t = placeholder({.shape = {None, out}});
  const std::vector<Tensor> weights{weight(in, hidden), variable(Array::zeros({hidden})),
                                    weight(hidden, out), variable(Array::zeros({out}))};
  const Tensor y = dot(relu(dot(x, weights[0]) + weights[1]), weights[2]) + weights[3];
  const Tensor loss = mean(square(y - t));
  const std::vector<Tensor> slopes = gradients(loss, weights);
  std::vector<UpdateOp> updates;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    updates.push_back(update_sub(weights[i], slopes[i] * 0.01));
  }
  return Steady(function({x, t}, {loss}, {.updates = updates, .backend = "cpu"}),
                {drawn({batch, in}, 1), drawn({batch, out}, 2)}, {Array(0.0f)});
}

struct Lstm {
  explicit Lstm(std::int64_t in, std::int64_t units)
      : units(units), kernel(weight(in, 4 * units)), recurrent(weight(units, 4 * units)) {}
  StepResult step(const Tensor& x, const std::vector<Tensor>& states) const {
    const Tensor z = dot(x, kernel) + dot(states[0], recurrent);
    const auto gate = [&](std::int64_t i) { return slice(z, {0, i * units}, {-1, units}); };
    const Tensor c = sigmoid(gate(0)) * states[1] + sigmoid(gate(1)) * tanh(gate(2));
    const Tensor h = sigmoid(gate(3)) * tanh(c);
    return {h, {h, c}};
  }
  std::int64_t units;
  Tensor kernel, recurrent;
};

/// One step of an LSTM whose states are fed and returned.
Steady lstm_step(std::int64_t batch, std::int64_t in, std::int64_t units) {
  const Lstm lstm(in, units);
  const Tensor x = placeholder({.shape = {None, in}}), h = placeholder({.shape = {None, units}}),
               c = placeholder({.shape = {None, units}});
  const StepResult next = lstm.step(x, {h, c});
  return Steady(function({x, h, c}, {next.states[0], next.states[1]}, {.backend = "cpu"}),
                {drawn({batch, in}, 1), drawn({batch, units}, 2), drawn({batch, units}, 3)},
                {Array::zeros({batch, units}), Array::zeros({batch, units})});
}

/// A training step through a loop of an LSTM.
Steady lstm_training(std::int64_t batch, std::int64_t steps, std::int64_t in, std::int64_t units) {
  const Lstm lstm(in, units);
  const Tensor x = placeholder({.shape = {None, None, in}});
  const Tensor start = dot(gather(permute_dimensions(x, {1, 0, 2}), 0) * 0.0, zeros({in, units}));
  const RnnResult run =
      rnn([&](const Tensor& input,
              const std::vector<Tensor>& states) { return lstm.step(input, states); },
          x, {start, start});
  const Tensor loss = mean(square(run.last_output - 0.25));
  const std::vector<Tensor> weights{lstm.kernel, lstm.recurrent};
  const std::vector<Tensor> slopes = gradients(loss, weights);
  const std::vector<UpdateOp> updates{update_sub(weights[0], slopes[0] * 0.1),
                                      update_sub(weights[1], slopes[1] * 0.1)};
  return Steady(function({x}, {loss}, {.updates = updates, .backend = "cpu"}),
                {drawn({batch, steps, in}, 1)}, {Array(0.0f)});
}

Steady transposed_product(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  const Tensor x = placeholder({.shape = {None, depth}});
  const Tensor y = placeholder({.shape = {columns, depth}});
  return Steady(function({x, y}, {dot(x, transpose(y))}, {.backend = "cpu"}),
                {drawn({rows, depth}, 1), drawn({columns, depth}, 2)},
                {Array::zeros({rows, columns})});
}

Steady plain_product(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  const Tensor x = placeholder({.shape = {None, depth}});
  const Tensor y = placeholder({.shape = {depth, columns}});
  return Steady(function({x, y}, {dot(x, y)}, {.backend = "cpu"}),
                {drawn({rows, depth}, 1), drawn({depth, columns}, 2)},
                {Array::zeros({rows, columns})});
}

/// Matmuls of a batch of matrices, and the gradients of both operands.
Steady batch_of_products(std::int64_t batch, std::int64_t rows, std::int64_t columns,
                         std::int64_t depth) {
  const Tensor x = placeholder({.shape = {None, rows, depth}});
  const Tensor y = placeholder({.shape = {None, depth, columns}});
  const Tensor z = batch_dot(x, y);
  const std::vector<Tensor> slopes = gradients(sum(square(z)), {x, y});
  return Steady(function({x, y}, {z, slopes[0], slopes[1]}, {.backend = "cpu"}),
                {drawn({batch, rows, depth}, 1), drawn({batch, depth, columns}, 2)},
                {Array::zeros({batch, rows, columns}), Array::zeros({batch, rows, depth}),
                 Array::zeros({batch, depth, columns})});
}

/// A training step of two convolutions.
Steady convolutions_step(std::int64_t batch, std::int64_t size, std::int64_t filters) {
  const Tensor x = placeholder({.shape = {None, size, size, 3}});
  const std::vector<Tensor> kernels{variable(drawn({3, 3, 3, filters}, 5)),
                                    variable(drawn({3, 3, filters, filters}, 6))};
  const Tensor y = conv2d(relu(conv2d(x, kernels[0])), kernels[1]);
  const Tensor loss = mean(square(y));
  const std::vector<Tensor> slopes = gradients(loss, kernels);
  return Steady(function({x}, {loss},
                         {.updates = {update_sub(kernels[0], slopes[0] * 0.01),
                                      update_sub(kernels[1], slopes[1] * 0.01)},
                          .backend = "cpu"}),
                {drawn({batch, size, size, 3}, 1)}, {Array(0.0f)});
}

/// A training step through a loop with a convolution, whose gradients pack the filter in each call.
Steady convolution_loop(std::int64_t batch, std::int64_t size, std::int64_t channels) {
  const Tensor x = placeholder({.shape = {None, None, size, size, channels}});
  const Tensor start = placeholder({.shape = {None, size, size, channels}});
  const Tensor kernel = variable(drawn({3, 3, channels, channels}, 5));
  const RnnResult run = rnn(
      [&](const Tensor& input, const std::vector<Tensor>& states) {
        const Tensor next = tanh(conv2d(states[0], kernel, {.padding = "same"}) * 0.01 + input);
        return StepResult{next, {next}};
      },
      x, {start});
  const Tensor loss = mean(square(run.last_output));
  const UpdateOp update = update_sub(kernel, gradients(loss, {kernel})[0] * 0.01);
  return Steady(
      function({x, start}, {loss}, {.updates = {update}, .backend = "cpu"}),
      {drawn({batch, 3, size, size, channels}, 1), drawn({batch, size, size, channels}, 2)},
      {Array(0.0f)});
}

/// Labels 0 .. labels - 1 for each sample, repeated.
Array counted_labels(std::int64_t samples, std::int64_t labels) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(samples * labels));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::int32_t>(i) % static_cast<std::int32_t>(labels);
  }
  return Array(values, {samples, labels});
}

Array lengths(std::int64_t samples, std::int32_t length) {
  return Array(std::vector<std::int32_t>(static_cast<std::size_t>(samples), length), {samples, 1});
}

/// The CTC cost of a batch and its gradient: two loops over time.
Steady ctc_cost_and_slope(std::int64_t samples, std::int64_t steps, std::int64_t labels) {
  const Tensor y = placeholder({.shape = {None, None, labels + 1}});
  const Tensor truth = placeholder({.shape = {None, None}, .dtype = "int32"});
  const Tensor n = placeholder({.shape = {None, 1}, .dtype = "int32"});
  const Tensor m = placeholder({.shape = {None, 1}, .dtype = "int32"});
  const Tensor cost = ctc_batch_cost(truth, softmax(y), n, m);
  const Tensor slope = gradients(sum(cost), {y})[0];
  return Steady(function({truth, y, n, m}, {cost, slope}, {.backend = "cpu"}),
                {counted_labels(samples, labels), drawn({samples, steps, labels + 1}, 3),
                 lengths(samples, static_cast<std::int32_t>(steps)),
                 lengths(samples, static_cast<std::int32_t>(labels))},
                {Array::zeros({samples, 1}), Array::zeros({samples, steps, labels + 1})});
}

/// Kernels that are divided among the threads.
Steady large_chain() {
  const Tensor x = placeholder({.shape = {None, 1024}});
  const Tensor y = softmax(tanh(x) * 2.0 + 1.0);
  return Steady(function({x}, {y, sum(y, {.axis = {0}})}, {.backend = "cpu"}),
                {drawn({512, 1024}, 1)}, {Array::zeros({512, 1024}), Array::zeros({1024})});
}

/// The number of allocations of twenty calls after the first three.
std::int64_t of_twenty_calls(Steady steady) {
  for (int i = 0; i < 3; ++i) steady.call();
  return allocations_of([&] {
    for (int i = 0; i < 20; ++i) steady.call();
  });
}

struct Row {
  const char* name;
  std::function<Steady()> make;
};
const Row kRows[] = {
    {"a training step of a tiny network", [] { return mlp_step(8, 16, 32, 1); }},
    {"a training step of a small network", [] { return mlp_step(64, 128, 128, 10); }},
    {"one step of an LSTM", [] { return lstm_step(4, 32, 64); }},
    {"a training step through an LSTM", [] { return lstm_training(8, 12, 32, 32); }},
    {"a CTC cost and its gradient", [] { return ctc_cost_and_slope(32, 200, 40); }},
    {"kernels for several threads", large_chain},
    {"a training step of a large network", [] { return mlp_step(64, 784, 512, 10); }},
    {"a training step with few classes", [] { return mlp_step(8, 16, 32, 4); }},
    {"a training step of many rows with few columns", [] { return mlp_step(200, 20, 7, 3); }},
    {"a transposed operand and some rows", [] { return transposed_product(20, 80, 90); }},
    {"a transposed operand and a few rows", [] { return transposed_product(5, 300, 700); }},
    {"a large transposed operand", [] { return transposed_product(64, 1100, 1000); }},
    {"a training step of many rows of a large network",
     [] { return mlp_step(1100, 1024, 1024, 10); }},
    {"a large operand and some rows", [] { return plain_product(64, 5000, 1030); }},
    {"small matrices of a batch", [] { return batch_of_products(9, 20, 33, 40); }},
    {"large matrices of a batch", [] { return batch_of_products(2, 300, 4100, 1030); }},
};

}  // namespace

TEST_CASE("allocation counter: every allocation function is counted") {
  CHECK(allocations_of([] {}) == 0);
  CHECK(allocations_of([] { static_cast<void>(Array::zeros({1000})); }) >= 1);
  CHECK(allocations_of([] { ::operator delete(::operator new(10)); }) == 1);
  CHECK(allocations_of([] {
          ::operator delete(::operator new(64, std::align_val_t{64}), std::align_val_t{64});
        }) == 1);
}

TEST_CASE("steady calls: no allocations") {
  for (const int threads : {1, 2}) {
    set_threads(threads);
    for (const Row& row : kRows) {
      INFO(row.name << ", threads: " << threads);
      CHECK(of_twenty_calls(row.make()) == 0);
    }
  }
}

TEST_CASE("steady calls: no allocations while a profile is measured and after it") {
  set_threads(2);
  Steady step = mlp_step(8, 20, 30, 10);
  for (int i = 0; i < 3; ++i) step.call();
  Profiler profiler = step.profile();
  step.call();
  const auto of_calls = [&] {
    return allocations_of([&] {
      for (int i = 0; i < 20; ++i) step.call();
    });
  };
  CHECK(of_calls() == 0);
  profiler.stop();
  CHECK(of_calls() == 0);
  CHECK(profiler.result().calls == 21);
}

TEST_CASE("steady calls: no allocations for bools of bytes other than 0 and 1") {
  set_threads(1);
  const Tensor x = placeholder({.shape = {None}, .dtype = "bool"});
  const Function f = function({x}, {sum(cast(x, "int32"))}, {.backend = "cpu"});
  const std::vector<unsigned char> bytes(1000, 255), clean(1000, 1);
  Steady masks(f, {Array::view(bytes.data(), {1000}, DType::Bool)}, {Array(0)});
  Steady bools(f, {Array::view(clean.data(), {1000}, DType::Bool)}, {Array(0)});
  for (int i = 0; i < 3; ++i) masks.call();
  CHECK(allocations_of([&] {
          for (int i = 0; i < 20; ++i) masks.call(), bools.call();
        }) == 0);
  CHECK(masks.result(0) == Array(1000));
  CHECK(bools.result(0) == Array(1000));
}

TEST_CASE("steady calls: library calls allocate no fresh memory") {
  // Bytes that the library allocates to pass arguments, and of a thread's own variables, which it
  // allocates when it first takes part.
  constexpr std::size_t kSmall = 2048;
  // malloc serves these from the pages that it has, where they held as much before.
  constexpr std::size_t kWithoutPages = 128 * 1024;
  const struct {
    Row row;
    std::size_t most;
  } rows[] = {
      {{"convolutions of 12 x 12", [] { return convolutions_step(8, 12, 16); }}, kSmall},
      {{"convolutions of 20 x 20", [] { return convolutions_step(8, 20, 16); }}, kSmall},
      {{"convolutions of 40 x 40", [] { return convolutions_step(8, 40, 16); }}, kSmall},
      {{"a loop with convolutions", [] { return convolution_loop(2, 20, 32); }}, kSmall},
      {{"a far result of short sums", [] { return plain_product(70000, 64, 32); }}, kWithoutPages},
      {{"a wide result of short sums", [] { return plain_product(300, 30000, 20); }},
       kWithoutPages},
      {{"a training step of very many rows", [] { return mlp_step(70000, 32, 64, 10); }},
       kWithoutPages},
  };
  for (const int threads : {1, 2}) {
    set_threads(threads);
    for (const auto& [row, most] : rows) {
      Steady steady = row.make();
      for (int i = 0; i < 3; ++i) steady.call();
      std::int64_t asked[2];
      allocations_test::exchange_largest_request();
      for (std::int64_t& count : asked) count = allocations_of([&] { steady.call(); });
      INFO(row.name << ", threads: " << threads);
      const std::size_t largest = allocations_test::exchange_largest_request();
      CHECK(largest <= most);
      if (threads == 1) CHECK(asked[0] == asked[1]);  // else the threads' concurrent use varies
    }
  }
}

TEST_CASE("steady calls: small results allocate only their vector") {
  set_threads(1);
  const Tensor x = placeholder({.shape = {None, 2, 1, 1, 1, 4}});
  const Function f = function({x}, {x + 1.0, sum(x), any(x)}, {.backend = "cpu"});
  for (const std::int64_t rows : {0, 1, 7, 16}) {
    INFO("rows: " << rows);
    const std::vector<Array> fed{drawn({rows, 2, 1, 1, 1, 4}, 1)};
    for (int i = 0; i < 3; ++i) f(fed);
    CHECK(allocations_of([&] { f(fed); }) == 1);
    CHECK(allocations_of([&] { f({fed[0]}); }) == 1);
  }
  const std::vector<Array> wide{drawn({17, 2, 1, 1, 1, 4}, 1)};  // 544 bytes, not cached
  for (int i = 0; i < 3; ++i) f(wide);
  CHECK(allocations_of([&] { f(wide); }) == 2);
}

TEST_CASE("steady calls: large results allocate only their vector") {
  set_threads(1);
  constexpr std::int64_t kRows = 512;
  const Tensor x = placeholder({.shape = {None, 1024}});
  const Function f = function({x}, {tanh(x), x + 1.0}, {.backend = "cpu"});
  const std::vector<Array> fed{drawn({kRows, 1024}, 1)};
  for (int i = 0; i < 3; ++i) f(fed);
  allocations_test::exchange_largest_request();
  CHECK(allocations_of([&] { f(fed); }) == 1);  // the vector of the results
  CHECK(allocations_test::exchange_largest_request() < 512);
}

TEST_CASE("first calls: a value that no Array shares is not copied to be overwritten") {
  constexpr std::int64_t kCount = 1 << 20;
  constexpr std::size_t kBytes = kCount * sizeof(float);
  const Array twos = Array::full({kCount}, 2);
  const Array shared = Array::full({kCount}, 1);
  enum class Before { Nothing, SharedArray, Prediction };
  for (const Before before : {Before::Nothing, Before::SharedArray, Before::Prediction}) {
    INFO("before: " << static_cast<int>(before));
    const bool is_shared = before == Before::SharedArray;
    const Variable x = variable(is_shared ? shared : Array::full({kCount}, 1));
    if (before == Before::Prediction) {
      CHECK(function({}, {sum(x)}, {.backend = "cpu"})({})[0] == Array(float{kCount}));
    }
    const Function f = function({}, {}, {.updates = {update_add(x, 1)}, .backend = "cpu"});
    allocations_test::exchange_largest_request(kBytes - 1);
    f({});
    CHECK((allocations_test::exchange_largest_request() >= kBytes) == is_shared);
    CHECK(get_value(x) == twos);
    CHECK(shared == Array::full({kCount}, 1));
    f({});
    CHECK(get_value(x) == Array::full({kCount}, 3));
  }
}
