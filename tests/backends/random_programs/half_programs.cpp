// Every program adds numbers that a half holds exactly. Where a sum of them is no half, one more
// number leads back into the range: rounding in between would give an infinity.
#include "tests/backends/random_programs/half_programs.h"

#include "tests/backends/random_programs/lstm_step.h"
#include "tests/backends/random_programs/program.h"

#include <algorithm>

namespace kiln::testing {
namespace {

using Dims = std::vector<std::int64_t>;

class Builder {
 public:
  explicit Builder(DType dtype) : dtype_(dtype) {}

  Tensor full(const Dims& dims, double number) { return fed(Array::full(dims, number), dtype_); }
  Tensor numbers(const std::vector<double>& numbers, const Dims& dims) {
    return fed(Array(numbers, dims), dtype_);
  }
  Tensor drawn(const Dims& dims) { return fed(random(dims), dtype_); }
  /// The first size is not known to the program.
  Tensor batched(const Dims& dims) { return fed(random(dims), dtype_, /*is_batched=*/true); }
  Tensor wide(const Dims& dims, double number) {
    return fed(Array::full(dims, number), dtype_ == DType::Float64 ? dtype_ : DType::Float32);
  }
  Tensor indices(const Dims& dims) { return fed(Array::zeros(dims), DType::Int32); }

  /// The gradients of a loss with respect to the inputs, and the loss.
  HalfProgram with_gradients(const Tensor& loss) {
    program_.outputs.push_back(loss);
    for (const Tensor& gradient : gradients(loss, program_.inputs)) {
      if (!gradient.empty()) program_.outputs.push_back(gradient);
    }
    return program_;
  }
  HalfProgram with(const std::vector<Tensor>& outputs,
                   const std::vector<std::pair<int, int>>& updates = {}) {
    program_.outputs = outputs;
    program_.updates = updates;
    return program_;
  }

 private:
  Array random(const Dims& dims) {
    Array array = Array::zeros(dims, DType::Float64);
    for (double& number : array.as<double>()) number = draw_.between(-1, 1);
    return array;
  }
  Tensor fed(const Array& array, DType dtype, bool is_batched = false) {
    std::vector<ShapeEntry> shape(array.dims().begin(), array.dims().end());
    if (is_batched) shape[0] = None;
    program_.inputs.push_back(placeholder({.shape = Shape(shape), .dtype = dtype}));
    program_.feeds.push_back(array.astype(DType::Float64));
    return program_.inputs.back();
  }

  DType dtype_;
  Draw draw_{1};
  HalfProgram program_;
};

/// start + term(x[:, 0]) + term(x[:, 1]) + .. The loop has another state, which is added to x and
/// stays 0, so that no pass moves the terms before the loop.
template <class Term>
Tensor added_over_steps(Builder& builder, const Tensor& x, const Tensor& start, const Term& term) {
  const StepFunction step = [&](const Tensor& input, const std::vector<Tensor>& states) {
    const Tensor zero = states[1] * 0.5;
    return StepResult{zero, {states[0] + term(input + states[1]), zero}};
  };
  const Tensor zero = builder.full({1, 1}, 0);
  return rnn(step, x, {start, zero}).new_states[0];
}

/// -60000 + 20 x 4096, and 600 steps of 1.
template <class Term>
HalfProgram sums_over_steps(DType dtype, const Dims& dims, const Term& term) {
  Builder builder(dtype);
  const Tensor few = builder.full({1, 20, 4}, 32), many = builder.full({1, 600, 4}, 0.5);
  return builder.with({added_over_steps(builder, few, builder.full(dims, -60000), term),
                       added_over_steps(builder, many, builder.full(dims, 0), term)});
}

HalfProgram dots_over_steps(DType dtype) {
  return sums_over_steps(dtype, {1, 1}, [](const Tensor& x) { return dot(x, transpose(x)); });
}

HalfProgram reductions_over_steps(DType dtype) {
  return sums_over_steps(dtype, {1}, [](const Tensor& x) { return sum(x * x, {.axis = 1}); });
}

/// Each step adds 4000 x 2^-8: the sum of the inputs of all steps is 80000.
HalfProgram dots_with_an_invariant_over_steps(DType dtype) {
  Builder builder(dtype);
  const Tensor w = builder.full({1, 1}, 1.0 / 256);
  const Tensor x = builder.full({1, 20, 1}, 4000);
  const Tensor start = builder.full({1, 1}, 0);
  const auto term = [&](const Tensor& row) { return dot(row, w); };
  return builder.with({added_over_steps(builder, x, start, term)});
}

/// A state that stays 0, so that the operands of the matmuls are computed in the loop.
HalfProgram dots_of_one_sum(DType dtype) {
  Builder builder(dtype);
  const Tensor u = builder.full({16, 2}, 50), v = builder.full({16, 2}, 25);
  const Tensor c = builder.full({2}, -60000);
  const StepFunction step = [&](const Tensor& x, const std::vector<Tensor>& states) {
    const Tensor a = x + states[0], b = x * 2.0 + states[0];
    const Tensor y = (c + dot(a, u)) + dot(b, v), only = dot(a * 0.5, v) + dot(b * 0.5, u);
    return StepResult{concatenate({y, only}), {states[0] * 0.5}};
  };
  const Tensor x = builder.full({3, 5, 16}, 50);
  return builder.with({rnn(step, x, {builder.full({3, 16}, 0)}).outputs});
}

/// Matmuls of slices of one tensor.
HalfProgram dots_of_slices(DType dtype) {
  Builder builder(dtype);
  const Tensor s = builder.full({16, 16}, 50), c = builder.full({2, 16}, -60000);
  const Tensor first = s.slice(0, 8), second = s.slice(8, 16), w = builder.drawn({16, 16});
  const Tensor u = builder.full({2, 8}, 100), v = builder.full({2, 8}, 100);
  return builder.with({(c + dot(u, first)) + dot(v, second), dot(first, w), dot(second, w)});
}

HalfProgram lstm_training(DType dtype) {
  Builder builder(dtype);
  const Tensor x = builder.batched({2, 5, 3});
  std::vector<Tensor> kernels, recurrent;
  for (int i = 0; i < 4; ++i) kernels.push_back(builder.drawn({3, 4}));
  for (int i = 0; i < 4; ++i) recurrent.push_back(builder.drawn({4, 4}));
  const RnnResult result =
      rnn(lstm_step(kernels, recurrent), x, {builder.batched({2, 4}), builder.batched({2, 4})});
  return builder.with_gradients(sum(result.outputs) + sum(result.last_output));
}

/// A state that no step changes, and a value computed of that state alone.
HalfProgram loop_with_an_invariant_state(DType dtype) {
  Builder builder(dtype);
  const StepFunction step = [&](const Tensor& input, const std::vector<Tensor>& states) {
    const Tensor h = states[0] + sigmoid(states[1]) * input;
    return StepResult{h, {h, states[1]}};
  };
  const Tensor x = builder.drawn({2, 5, 3});
  return builder.with({rnn(step, x, {builder.drawn({2, 3}), builder.drawn({2, 3})}).outputs});
}

/// The gradient of a weight that 600 steps use.
HalfProgram weight_of_a_loop(DType dtype) {
  Builder builder(dtype);
  const Tensor w = builder.full({1, 1}, 0.5), b = builder.full({1, 1}, 0);
  const Tensor x = builder.full({1, 600, 1}, 1);
  const StepFunction step = [&](const Tensor& in, const std::vector<Tensor>&) {
    const Tensor y = dot(in, w) + in * b;
    return StepResult{y, {y}};
  };
  const Tensor outputs = rnn(step, x, {builder.full({1, 1}, 0)}).outputs;
  return builder.with(gradients(sum(outputs), {w, b}));
}

/// The gradient of a tensor that 600 nodes use, to first and second order.
HalfProgram uses_of_one_tensor(DType dtype) {
  Builder builder(dtype);
  const Tensor x = builder.full({2}, 1), ones = builder.full({600, 2}, 1);
  Tensor total;
  for (int i = 0; i < 600; ++i) {
    const Tensor term = x * x * ones.slice(i, i + 1);
    total = i == 0 ? term : total + term;
  }
  const Tensor slope = gradients(sum(total), {x})[0];
  return builder.with({slope, gradients(sum(slope), {x})[0]});
}

/// Parts of the sums are 140000, and the whole is 0 or 1.
HalfProgram long_sums(DType dtype) {
  constexpr std::int64_t kSize = 70000;
  std::vector<double> numbers(kSize, 4);
  std::fill(numbers.begin() + kSize / 2, numbers.end(), -4);
  numbers[0] = 5;
  Builder builder(dtype);
  const Tensor x = builder.numbers(numbers, {kSize});
  const Tensor columns = reshape(x, {kSize / 8, 8}), ones = builder.full({kSize}, 1);
  return builder.with({sum(x), sum(columns, {.axis = 0}), mean(x), var(x), mean(ones), var(ones),
                       dot(reshape(x, {1, kSize}), reshape(ones, {kSize, 1})), softmax(x),
                       logsumexp(ones * 0.0), cumsum(ones.slice(0, 600))});
}

/// As many ties as are no finite float16, of which each gets a share.
HalfProgram ties(DType dtype) {
  constexpr std::int64_t kSize = 65536;
  Builder builder(dtype);
  const Tensor x = builder.full({kSize}, 1), y = builder.full({2, 600}, 3);
  return builder.with({gradients(max(x) * 32768.0, {x})[0], gradients(min(x) * 32768.0, {x})[0],
                       gradients(sum(max(y, {.axis = 1}) * 600.0), {y})[0]});
}

/// The gradient of one entry that 600 indices gather.
HalfProgram lookups(DType dtype) {
  Builder builder(dtype);
  const Tensor table = builder.full({3, 2}, 1), at = builder.indices({600});
  return builder.with(gradients(sum(gather(table, at)), {table}));
}

/// One position adds 80000 to an element, and another one takes 60000 away.
HalfProgram convolution_gradients(DType dtype) {
  Builder builder(dtype);
  const Tensor x = builder.full({1, 5, 1}, 0.5);
  const Tensor filter = builder.numbers({0, 0, -1, 1, 1, 1}, {3, 1, 2});
  const Tensor dy = builder.numbers({40000, 40000, 30000, -30000, 0, 0}, {1, 3, 2});
  return builder.with(gradients(sum(conv1d(x, filter) * dy), {x, filter}));
}

/// Layouts that need permutations, padding at one end and a mask.
HalfProgram images(DType dtype) {
  const ConvOptions options{.strides = 2, .padding = "same", .data_format = "channels_first"};
  Builder builder(dtype);
  const Tensor x = builder.drawn({2, 3, 6, 6});
  Tensor y = relu(conv2d(x, builder.drawn({3, 3, 3, 4}), options));
  y = conv2d(y, builder.drawn({3, 3, 4, 5}), options);
  return builder.with_gradients(sum(y * y) + sum(mean(y, {.axis = {2, 3}})));
}

/// Pixels that are repeated, and what is computed of them.
HalfProgram resized_images(DType dtype) {
  Builder builder(dtype);
  const Tensor x = resize_images(builder.drawn({2, 3, 4, 3}), 2, 2, "channels_last");
  return builder.with_gradients(sum(square(tanh(x - builder.drawn({3})))));
}

HalfProgram permuted_results(DType dtype) {
  Builder builder(dtype);
  const Tensor x = builder.drawn({5, 4, 3});
  return builder.with({permute_dimensions(tanh(x) * builder.drawn({3}), {2, 0, 1})});
}

HalfProgram dense_layers(DType dtype) {
  Builder builder(dtype);
  const Tensor x = builder.drawn({7, 4});
  const Tensor h = relu(dot(x, builder.drawn({4, 6})) + builder.drawn({6}));
  return builder.with_gradients(sum(square(softmax(dot(h, builder.drawn({6, 3}))))));
}

/// Float32 parameters with a half for the data: the layout of mixed precision.
HalfProgram mixed_training(DType dtype) {
  Builder builder(dtype);
  const Tensor table = builder.wide({5, 4}, 0.5), w = builder.wide({4, 3}, 0.25);
  const Tensor b = builder.wide({3}, -1), x = builder.drawn({8, 4});
  const Tensor rows = gather(table, builder.indices({8}));
  const Tensor y = relu(dot(rows, w) + b) + sum(cast(cast(rows, dtype) * x, kiln::dtype(rows)));
  const std::vector<Tensor> slopes = gradients(sum(y), {table, b});
  return builder.with({y, table - 0.125 * slopes[0], b - 0.125 * slopes[1]}, {{1, 0}, {2, 2}});
}

/// A dense layer, and a convolution whose padding is at one end, of float32.
HalfProgram wide_layers(DType dtype) {
  Builder builder(dtype);
  const Tensor w = builder.wide({4, 3}, 0.5), b = builder.wide({3}, -0.5);
  const Tensor h = relu(dot(cast(builder.drawn({5, 4}), kiln::dtype(w)), w) + b);
  const Tensor x = builder.drawn({1, 6, 6, 2}), filter = builder.wide({3, 3, 2, 2}, 0.5);
  const Tensor y = conv2d(cast(x, kiln::dtype(filter)), filter, {.strides = 2, .padding = "same"});
  return builder.with({h, cast(relu(y), dtype)});
}

/// A convolution of float32 whose results are scaled by numbers that count as variables.
HalfProgram scaled_convolution(DType dtype) {
  Builder builder(dtype);
  const Tensor x = builder.drawn({1, 6, 6, 2});
  const Tensor filter = builder.wide({3, 3, 2, 2}, 0.5), scale = builder.wide({2}, 0.75);
  const Tensor y = conv2d(cast(x, kiln::dtype(filter)), filter) * scale;
  HalfProgram program = builder.with({cast(y, dtype)});
  program.unchanged = {false, true, true};
  return program;
}

}  // namespace

const std::vector<HalfTemplate>& half_templates() {
  static const std::vector<HalfTemplate> all = {
      {.name = "matmuls over steps", .make = dots_over_steps, .is_exact_after_passes = true},
      {.name = "reductions over steps",
       .make = reductions_over_steps,
       .is_exact_after_passes = true},
      {.name = "matmuls with an invariant over steps",
       .make = dots_with_an_invariant_over_steps,
       .is_exact_after_passes = true},
      {.name = "matmuls of one sum", .make = dots_of_one_sum, .is_exact_after_passes = true},
      {.name = "matmuls of slices", .make = dots_of_slices},
      {.name = "LSTM training", .make = lstm_training},
      {.name = "a loop with an invariant state", .make = loop_with_an_invariant_state},
      {.name = "the weight of a loop", .make = weight_of_a_loop, .is_exact = true},
      {.name = "uses of one tensor", .make = uses_of_one_tensor, .is_exact = true},
      {.name = "long sums", .make = long_sums, .is_exact = true},
      {.name = "ties", .make = ties, .is_exact = true},
      {.name = "lookups", .make = lookups, .is_exact = true},
      {.name = "gradients of a convolution", .make = convolution_gradients, .is_exact = true},
      {.name = "images with channels first", .make = images},
      {.name = "resized images", .make = resized_images},
      {.name = "permuted results", .make = permuted_results},
      {.name = "dense layers", .make = dense_layers},
      {.name = "mixed training", .make = mixed_training},
      {.name = "wide layers", .make = wide_layers},
      {.name = "a scaled convolution", .make = scaled_convolution},
  };
  return all;
}

}  // namespace kiln::testing
