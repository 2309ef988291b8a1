// Templates: layers, their gradients, loops, images, sums in half precision.
#include "tests/backends/random_programs/coverage_templates.h"

#include "tests/backends/random_programs/lstm_step.h"

namespace kiln::testing {
namespace {

using Dims = std::vector<std::int64_t>;

/// Builds a program whose inputs have static sizes, except the first size of `batched` ones.
class Builder {
 public:
  Tensor input(const Dims& dims) { return fed(dims, false); }
  Tensor batched(const Dims& dims) { return fed(dims, true); }
  /// Outputs and the gradients of their squares with respect to all inputs.
  Program with_gradients(const std::vector<Tensor>& outputs) {
    program_.outputs = outputs;
    Tensor loss = sum(square(outputs[0]));
    for (std::size_t i = 1; i < outputs.size(); ++i) loss = loss + sum(square(outputs[i]));
    for (const Tensor& gradient : gradients(loss, program_.inputs)) {
      if (!gradient.empty()) program_.outputs.push_back(gradient);
    }
    return program_;
  }
  Program with(const std::vector<Tensor>& outputs) {
    program_.outputs = outputs;
    return program_;
  }

 private:
  Tensor fed(const Dims& dims, bool batched) {
    std::vector<ShapeEntry> shape(dims.begin(), dims.end());
    if (batched) shape[0] = None;
    Array array = Array::zeros(dims);
    for (float& number : array.as<float>()) number = static_cast<float>(draw_.between(-1, 1));
    const std::string name = "x" + std::to_string(program_.inputs.size());
    program_.inputs.push_back(placeholder({.shape = Shape(shape), .name = name}));
    program_.feeds.push_back(std::move(array));
    program_.is_exact.push_back(false);
    return program_.inputs.back();
  }

  Draw draw_{1};
  Program program_;
};

template <bool kBias, bool kRelu>
Program dense_layer() {
  Builder builder;
  Tensor y = dot(builder.batched({5, 4}), builder.input({4, 6}));
  if (kBias) y = y + builder.input({6});
  return builder.with({kRelu ? relu(y) : y});
}

template <bool kBias, bool kRelu>
Program convolution_layer() {
  Builder builder;
  Tensor y = conv2d(builder.batched({2, 5, 5, 3}), builder.input({3, 3, 3, 4}));
  if (kBias) y = bias_add(y, builder.input({4}));
  return builder.with({kRelu ? relu(y) : y});
}

Program images_with_channels_first() {
  const ConvOptions convolution{.padding = "same", .data_format = "channels_first"};
  const BiasAddOptions bias{.data_format = "channels_first"};
  Builder builder;
  Tensor y = conv2d(builder.batched({2, 3, 6, 6}), builder.input({3, 3, 3, 4}), convolution);
  y = relu(bias_add(y, builder.input({4}), bias));
  y = conv2d(y, builder.input({3, 3, 4, 5}), convolution);
  return builder.with_gradients({y, mean(y, {.axis = {2, 3}})});
}

/// Overlapping windows with padding, and elements that no window reaches.
Program pooling() {
  Builder builder;
  const Tensor x = builder.batched({2, 7, 8, 3});
  return builder.with_gradients({pool2d(x, 3, {.strides = 2, .padding = "same"}),
                                 pool2d(x, 2, {.strides = 3, .pool_mode = "avg"})});
}

Program dense_layers_and_gradients() {
  Builder builder;
  const Tensor x = builder.batched({7, 4});
  const Tensor h = relu(dot(x, builder.input({4, 6})) + builder.input({6}));
  return builder.with_gradients({softmax(dot(h, builder.input({6, 3})))});
}

Program filter_gradient() {
  Builder builder;
  return builder.with_gradients(
      {conv2d(builder.input({2, 10, 10, 8}), builder.input({3, 3, 8, 16}), {.padding = "same"})});
}

/// Convolutions of few pixels, of 1x1 and of many filters, with their gradients.
Program small_convolutions() {
  Builder builder;
  const Tensor x = conv2d(builder.input({1, 4, 4, 16}), builder.input({1, 1, 16, 64}));
  return builder.with_gradients({conv2d(x, builder.input({3, 3, 64, 64}), {.padding = "same"})});
}

/// Work on pixels that a resize repeats: with channels and an image, permuted, summed.
Program resized_images() {
  Builder builder;
  const Tensor x = resize_images(builder.batched({2, 3, 5, 3}), 2, 3, "channels_last");
  const Tensor y = tanh(x - builder.input({3})) * builder.input({3});
  return builder.with_gradients({permute_dimensions(y, {0, 3, 1, 2}),
                                 y + builder.batched({2, 6, 15, 3}), sum(y, {.axis = {1, 2}})});
}

Program permuted_results() {
  Builder builder;
  const Tensor x = builder.batched({3, 5, 4});
  return builder.with({permute_dimensions(tanh(x) * builder.input({4}), {2, 0, 1}),
                       permute_dimensions(x * builder.batched({3, 5, 4}), {1, 0, 2})});
}

Program lstm_training() {
  Builder builder;
  const Tensor x = builder.batched({2, 5, 3});
  std::vector<Tensor> kernels, recurrent;
  for (int i = 0; i < 4; ++i) kernels.push_back(builder.input({3, 4}));
  for (int i = 0; i < 4; ++i) recurrent.push_back(builder.input({4, 4}));
  const Tensor h0 = builder.batched({2, 4}), c0 = builder.batched({2, 4});
  const RnnResult result = rnn(lstm_step(kernels, recurrent), x, {h0, c0});
  return builder.with_gradients({result.last_output, sum(result.outputs, {.axis = 1})});
}

/// Two gates from one matmul and a third that depends on one of them, backwards and masked.
Program masked_gru_training() {
  Builder builder;
  const Tensor x = builder.batched({2, 5, 3});
  std::vector<Tensor> kernels, recurrent;
  for (int i = 0; i < 3; ++i) kernels.push_back(builder.input({3, 4}));
  for (int i = 0; i < 3; ++i) recurrent.push_back(builder.input({4, 4}));
  const Tensor h0 = builder.batched({2, 4});
  const StepFunction step = [&](const Tensor& input, const std::vector<Tensor>& states) {
    const auto gate = [&](std::size_t i, const Tensor& h) {
      return dot(input, kernels[i]) + dot(h, recurrent[i]);
    };
    const Tensor z = sigmoid(gate(0, states[0])), r = sigmoid(gate(1, states[0]));
    const Tensor h = z * states[0] + (1.0 - z) * tanh(gate(2, r * states[0]));
    return StepResult{h, {h}};
  };
  const Tensor mask = greater(sum(x, {.axis = 2}), 0.0);
  const RnnResult result = rnn(step, x, {h0}, {.go_backwards = true, .mask = mask});
  return builder.with_gradients({result.last_output, sum(result.outputs, {.axis = 1})});
}

/// A loop state that no step changes, and values computed of that state alone.
Program loop_with_an_invariant_state() {
  Builder builder;
  const Tensor x = builder.batched({2, 5, 3});
  const Tensor h0 = builder.input({2, 3}), scale = builder.input({2, 3});
  const StepFunction step = [&](const Tensor& input, const std::vector<Tensor>& states) {
    const Tensor h = tanh(states[0] * sigmoid(states[1]) + input);
    return StepResult{h, {h, states[1]}};
  };
  return builder.with_gradients({rnn(step, x, {h0, scale}).outputs});
}

Program half_precision_sums() {
  Builder builder;
  const Tensor x = cast(builder.batched({9, 4}), "float16");
  const Tensor image = cast(builder.batched({2, 6, 6, 3}), "float16");
  const Tensor filter = cast(builder.input({3, 3, 3, 4}), "float16");
  return builder.with({cast(sum(x, {.axis = 0}), "float32"),
                       cast(dot(x, cast(builder.input({4, 3}), "float16")), "float32"),
                       cast(conv2d(image, filter), "float32")});
}

/// Weights of halves by rows of float32, which matmuls widen.
Program weights_of_halves() {
  Builder builder;
  Tensor x = builder.batched({9, 4});
  Program program = builder.with({});
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    program.starts.push_back(Array::full({4, 4}, 0.5).astype(dtype));
    program.variables.push_back(variable(program.starts.back(), {.dtype = dtype}));
    x = relu(dot(x, cast(program.variables.back(), "float32")));
  }
  program.outputs = {x};
  return program;
}

Program statistics() {
  Builder builder;
  const Tensor x = builder.batched({6, 3, 4});
  return builder.with_gradients({mean(x), var(x, {.axis = 1}), max(x), softmax(x)});
}

/// Gathers the same rows repeatedly, and single elements: the gradients are scatters.
Program lookups() {
  Builder builder;
  const Tensor table = builder.input({5, 6}), numbers = builder.input({5});
  const Tensor at = cast(abs(builder.input({8, 5})) * 4.9, "int32");
  return builder.with_gradients({sin(gather(table, at)), gather(numbers, at)});
}

/// One step of SGD: only the rows that have an index change.
Program embedding_training() {
  Builder builder;
  const Tensor at = cast(abs(builder.input({8})) * 4.9, "int32"), x = builder.input({8, 6});
  Program program = builder.with({});
  program.starts = {Array::full({5, 6}, 0.5)};
  program.variables = {variable(program.starts[0])};
  const Tensor loss = sum(gather(program.variables[0], at) * x);
  const Tensor slope = gradients(loss, program.variables)[0];
  program.outputs = {loss};
  program.updates = {update_sub(program.variables[0], 0.125 * slope)};
  return program;
}

/// Batch normalization of a convolution by variables, as inference does.
template <bool kFirst>
Program normalized_images() {
  const ConvOptions options{.padding = "same",
                            .data_format = kFirst ? "channels_first" : "channels_last"};
  const std::int64_t axis = kFirst ? 1 : -1;
  Builder builder;
  const Tensor x = kFirst ? builder.batched({2, 3, 6, 6}) : builder.batched({2, 6, 6, 3});
  Program program = builder.with({});
  Draw draw(2);
  const auto weight = [&](const Dims& dims, double low, double high) {
    program.starts.push_back(Array::zeros(dims));
    for (float& number : program.starts.back().as<float>()) {
      number = static_cast<float>(draw.between(low, high));
    }
    program.variables.push_back(variable(program.starts.back()));
    return program.variables.back();
  };
  const auto normalized = [&](const Tensor& y) {
    const Tensor mean = weight({4}, -1, 1), var = weight({4}, 0.5, 2);
    const Tensor beta = weight({4}, 1, 3), gamma = weight({4}, 0.5, 1);
    return batch_normalization(y, mean, var, beta, gamma, {.axis = axis});
  };
  Tensor y = normalized(conv2d(x, weight({3, 3, 3, 4}, -0.3, 0.3), options));
  y = depthwise_conv2d(relu(y, {.max_value = 6}), weight({3, 3, 4, 1}, -0.3, 0.3), options);
  program.outputs = {relu(normalized(y), {.max_value = 2.5})};
  return program;
}

/// Zeros around images, before a convolution without padding.
Program padded_images() {
  Builder builder;
  const Tensor x = spatial_2d_padding(builder.batched({2, 5, 6, 3}), {.padding = {{2, 2}, {1, 0}}});
  return builder.with_gradients({conv2d(x, builder.input({3, 3, 3, 4}), {.strides = 2})});
}

/// Large results of short sums, which oneDNN computes faster with AVX-512.
Program wide_matmul() {
  Builder builder;
  return builder.with({dot(builder.input({1024, 8}), builder.input({8, 4096}))});
}

/// The bias is an input, so the second attention has the cotangent of its bias.
Program attentions() {
  Builder builder;
  const Tensor q = builder.batched({3, 70, 16}), k = builder.batched({3, 140, 16});
  const Tensor v = builder.batched({3, 140, 32}), bias = builder.input({1, 140});
  const Tensor p = softmax(batch_dot(q, k, {.axes = {2, 2}}) * 0.25);
  return builder.with_gradients({dot_product_attention(q, k, v, {.causal = true}),
                                 batch_dot(p, v, {.axes = {2, 1}}),
                                 dot_product_attention(q, k, v, {.bias = bias})});
}

/// Small results of long sums, as gradients of weights are.
Program deep_matmul() {
  Builder builder;
  return builder.with({dot(transpose(builder.input({1 << 15, 4})), builder.input({1 << 15, 6}))});
}

}  // namespace

const std::vector<Template>& coverage_templates() {
  static const std::vector<Template> all = {
      {"a matmul", dense_layer<false, false>},
      {"a matmul and bias", dense_layer<true, false>},
      {"a matmul and relu", dense_layer<false, true>},
      {"a matmul, bias and relu", dense_layer<true, true>},
      {"a convolution", convolution_layer<false, false>},
      {"a convolution and bias", convolution_layer<true, false>},
      {"a convolution and relu", convolution_layer<false, true>},
      {"a convolution, bias and relu", convolution_layer<true, true>},
      {"images with channels first", images_with_channels_first},
      {"normalized images", normalized_images<false>},
      {"normalized images with channels first", normalized_images<true>},
      {"padded images", padded_images},
      {"pooling", pooling},
      {"dense layers and gradients", dense_layers_and_gradients},
      {"the gradient of a filter", filter_gradient},
      {"convolutions of few pixels", small_convolutions},
      {"resized images", resized_images},
      {"permuted results", permuted_results},
      {"LSTM training", lstm_training},
      {"masked GRU training, backwards", masked_gru_training},
      {"a loop with an invariant state", loop_with_an_invariant_state},
      {"sums in half precision", half_precision_sums},
      {"weights of halves", weights_of_halves},
      {"statistics", statistics},
      {"lookups", lookups},
      {"training of an embedding", embedding_training},
      {"attentions", attentions},
      {"a wide matmul", wide_matmul},
      {"a deep matmul", deep_matmul},
  };
  return all;
}

}  // namespace kiln::testing
