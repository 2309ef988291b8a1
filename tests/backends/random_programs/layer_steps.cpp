// Steps of random programs that are layers: matmuls, loops, convolutions, normalisation, branches.
#include "tests/backends/random_programs/steps.h"

#include <algorithm>

namespace kiln::testing {

bool product(Growing& growing) {
  const Value* found = growing.of_rank(1);
  if (found == nullptr) return false;
  const Value x = *found;
  const std::int64_t inner = x.dims.back();
  const std::int64_t columns = 1 + growing.draw.below(20);
  const Value w = growing.input({inner, columns});
  Dims dims(x.dims.begin(), x.dims.end() - 1);
  dims.push_back(columns);
  const double bound = 2 * x.bound * static_cast<double>(inner + 1);
  Tensor result = dot(x.tensor, w.tensor);
  if (growing.draw.chance(50)) {
    result = result * (1 / bound) + growing.input({columns}).tensor;
    growing.add(growing.draw.chance(50) ? tanh(result) : softplus(result), dims, 4);
    return true;
  }
  growing.add(result, dims, bound);
  return true;
}

bool product_with_itself(Growing& growing) {
  const Value* found = growing.of_rank(2);
  if (found == nullptr || found->dims.size() != 3) return false;
  const Value x = *found;
  const double bound = x.bound * x.bound * static_cast<double>(x.dims[2] + 1);
  growing.add(batch_dot(x.tensor, sin(x.tensor), {.axes = {2, 2}}),
              {x.dims[0], x.dims[1], x.dims[1]}, bound);
  return true;
}

/// softmax(q k^T) v, written as products, which find_attention recognises.
Tensor attention_of_products(Growing& growing, const Value& q, const Value& k, const Value& v) {
  Tensor scores = batch_dot(sin(q.tensor), k.tensor, {.axes = {2, 2}});
  if (growing.draw.chance(60)) scores = scores * 0.37;
  if (growing.draw.chance(40)) scores = scores + growing.input({k.dims[1]}).tensor;
  return batch_dot(softmax(scores), v.tensor, {.axes = {2, 1}});
}

/// Queries of any depth, or as many and of a depth that the kernels of `cuda` take, and `cpu` has a
/// gradient without products for.
bool attention(Growing& growing) {
  const Value* found = growing.of_rank(3);
  if (found == nullptr || found->dims.size() != 3) return false;
  const Value x = *found;
  const bool is_wide = growing.draw.chance(40);
  const std::int64_t batch = x.dims[0], keys = 1 + growing.draw.below(9);
  const std::int64_t depth = is_wide ? 16 : x.dims[2];
  const std::int64_t queries = is_wide ? 17 + growing.draw.below(60) : x.dims[1];
  const Value q = is_wide ? growing.input({batch, queries, depth}) : x;
  const Value k = growing.input({batch, keys, depth});
  const Value v = growing.input({batch, keys, is_wide ? 16 : 1 + growing.draw.below(5)});
  const Dims dims{batch, queries, v.dims[2]};
  if (growing.draw.chance(50)) {
    growing.add(attention_of_products(growing, q, k, v), dims, v.bound);
    return true;
  }
  AttentionOptions options;
  if (growing.draw.chance(40)) options.bias = growing.input({keys}).tensor;
  options.causal = growing.draw.chance(40);
  if (depth == 0) options.scale = 1.0;  // 1 / sqrt(0) times an empty sum is NaN
  const Tensor result = dot_product_attention(sin(q.tensor), k.tensor, v.tensor, options);
  growing.add(result, dims, v.bound);
  return true;
}

bool recurrence(Growing& growing) {
  const Value* found = growing.of_rank(3);
  if (found == nullptr || found->dims.size() != 3) return false;
  const Value x = *found;
  const std::int64_t units = 1 + growing.draw.below(9);
  const Value w = growing.input({x.dims[2], units});
  const Value u = growing.input({units, units});
  const Value start = growing.input({x.dims[0], units});
  RnnOptions options{};
  options.go_backwards = growing.draw.chance(50);
  if (growing.draw.chance(50)) {
    options.mask = sum(off_the_jump(growing, x), {.axis = 2}) > 0.2;
  }
  const bool gated = growing.draw.chance(50);
  const double scale = 1 / (x.bound * static_cast<double>(x.dims[2] + units));
  const StepFunction step = [&](const Tensor& input, const std::vector<Tensor>& states) {
    const Tensor sums = (dot(input, w.tensor) + dot(states[0], u.tensor)) * scale;
    if (!gated) return StepResult{tanh(sums), {tanh(sums)}};
    const Tensor gate = sigmoid(sums);
    const Tensor next = gate * states[0] + (1.0 - gate) * tanh(dot(states[0] * gate, u.tensor));
    return StepResult{next * 0.5, {next}};
  };
  const RnnResult result = rnn(step, x.tensor, {start.tensor}, options);
  if (growing.draw.chance(50)) {
    growing.add(result.outputs, {x.dims[0], x.dims[1], units}, 2);
  }
  growing.add(growing.draw.chance(50) ? result.last_output : result.new_states[0],
              {x.dims[0], units}, 2);
  return true;
}

/// An LSTM in its usual form: all gates from one matmul, then sliced.
bool gated_recurrence(Growing& growing) {
  const Value* found = growing.of_rank(3);
  if (found == nullptr || found->dims.size() != 3) return false;
  const Value x = *found;
  const std::int64_t units = 1 + growing.draw.below(8);
  const Value w = growing.input({x.dims[2], 4 * units}), u = growing.input({units, 4 * units});
  const Value h0 = growing.input({x.dims[0], units}), c0 = growing.input({x.dims[0], units});
  const double scale = 1 / (x.bound * static_cast<double>(x.dims[2] + 1));
  const StepFunction step = [&](const Tensor& input, const std::vector<Tensor>& states) {
    const Tensor all = dot(input, w.tensor) * scale + dot(states[0], u.tensor) * 0.3;
    const auto gate = [&](std::int64_t i) { return slice(all, {0, i * units}, {-1, units}); };
    const Tensor c = sigmoid(gate(1)) * states[1] + sigmoid(gate(0)) * tanh(gate(3));
    const Tensor h = sigmoid(gate(2)) * tanh(c);
    return StepResult{h, {h, c}};
  };
  RnnOptions options{};
  options.go_backwards = growing.draw.chance(40);
  if (growing.draw.chance(40)) {
    options.mask = mean(off_the_jump(growing, x), {.axis = 2}) < 0.4;
  }
  const RnnResult result = rnn(step, x.tensor, {h0.tensor, c0.tensor}, options);
  growing.add(result.outputs, {x.dims[0], x.dims[1], units}, 2);
  growing.add(result.new_states[1], {x.dims[0], units}, 2 + static_cast<double>(x.dims[1]));
  return true;
}

bool element_by_element(Growing& growing) {
  const Value* found = growing.of_rank(1);
  if (found == nullptr) return false;
  const Value x = *found;
  const Dims row(x.dims.begin() + 1, x.dims.end());
  if (growing.draw.chance(50)) {
    growing.add(map_fn([](const Tensor& e) { return tanh(e) * sin(sum(e)); }, x.tensor), x.dims, 1);
    return true;
  }
  const FoldFunction fold = [](const Tensor& sum, const Tensor& e) { return sin(sum * 0.5 + e); };
  const FoldOptions options{.initializer = zeros_like(sum(x.tensor, {.axis = 0}))};
  growing.add(
      growing.draw.chance(50) ? foldl(fold, x.tensor, options) : foldr(fold, x.tensor, options),
      row, 1);
  return true;
}

bool image(Growing& growing) {
  const std::int64_t size = 2 + growing.draw.below(7), channels = 1 + growing.draw.below(5);
  const Value x = growing.input({growing.draw.below(3) + 1, size, size, channels});
  const std::int64_t filters = 1 + growing.draw.below(9), kernel = 1 + growing.draw.below(3);
  const Value w = growing.input({kernel, kernel, channels, filters});
  const std::int64_t stride = 1 + growing.draw.below(2);
  const std::string padding = growing.draw.chance(50) || kernel > size ? "same" : "valid";
  const bool first = growing.draw.chance(50);
  Tensor images = x.tensor;
  if (first) images = permute_dimensions(images, {0, 3, 1, 2});
  const std::string format = first ? "channels_first" : "channels_last";
  const double bound = 4 * static_cast<double>(kernel * kernel * channels);
  Tensor result =
      conv2d(images, w.tensor, {.strides = stride, .padding = padding, .data_format = format}) *
      (1 / bound);
  std::int64_t out =
      padding == "same" ? (size + stride - 1) / stride : (size - kernel) / stride + 1;
  if (growing.draw.chance(50)) {
    const Tensor bias = growing.input({filters}).tensor;
    result = relu(bias_add(result, bias, {.data_format = format}) + 0.0371);
  }
  if (growing.draw.chance(40)) {
    const std::string mode = growing.draw.chance(50) ? "max" : "avg";
    const std::int64_t window = 2 + growing.draw.below(2), step = 1 + growing.draw.below(3);
    result = pool2d(result, window,
                    {.strides = step, .padding = "same", .data_format = format, .pool_mode = mode});
    out = (out + step - 1) / step;
  }
  if (first) result = permute_dimensions(result, {0, 2, 3, 1});
  growing.add(result, {x.dims[0], out, out, filters}, 4);
  return true;
}

/// Causal convolutions over sequences, depthwise and transposed ones over images.
bool other_convolution(Growing& growing) {
  const std::int64_t size = 3 + growing.draw.below(6), channels = 1 + growing.draw.below(4);
  const std::int64_t many = growing.draw.below(3) + 1, kernel = 1 + growing.draw.below(3);
  const double bound = 4 * static_cast<double>(kernel * kernel * channels);
  switch (growing.draw.below(3)) {
    case 0: {
      const std::int64_t filters = 1 + growing.draw.below(6), dilation = 1 + growing.draw.below(2);
      const Value x = growing.input({many, size, channels});
      const Value w = growing.input({kernel, channels, filters});
      growing.add(conv1d(x.tensor, w.tensor, {.padding = "causal", .dilation_rate = dilation}),
                  {many, size, filters}, bound);
      return true;
    }
    case 1: {
      const Value x = growing.input({many, size, size, channels});
      const Value w = growing.input({kernel, kernel, channels, 2});
      growing.add(depthwise_conv2d(x.tensor, w.tensor, {.padding = "same"}),
                  {many, size, size, 2 * channels}, bound);
      return true;
    }
    default: {
      const std::int64_t filters = 1 + growing.draw.below(4);
      const Value x = growing.input({many, size, size, channels});
      const Value w = growing.input({kernel, kernel, filters, channels});
      growing.add(conv2d_transpose(x.tensor, w.tensor, {many, 2 * size, 2 * size, filters},
                                   {.strides = 2, .padding = "same"}),
                  {many, 2 * size, 2 * size, filters}, bound);
      return true;
    }
  }
}

bool normalization(Growing& growing) {
  const Value* found = growing.of_rank(2);
  if (found == nullptr || found->dims.back() == 0) return false;
  const Value x = *found;
  std::int64_t count = 1;
  for (const std::int64_t dim : x.dims) count *= dim;
  if (count == 0) return false;
  const Value gamma = growing.input({x.dims.back()}), beta = growing.input({x.dims.back()});
  std::vector<std::int64_t> others;
  for (std::size_t i = 0; i + 1 < x.dims.size(); ++i) {
    others.push_back(static_cast<std::int64_t>(i));
  }
  const auto batch = normalize_batch_in_training(x.tensor, gamma.tensor, beta.tensor, Axes(others),
                                                 {.epsilon = 0.1});
  growing.add(batch.normed, x.dims, 2 * x.bound / 0.3 + 2);
  growing.add(batch.var, {x.dims.back()}, x.bound * x.bound);
  return true;
}

bool branch(Growing& growing) {
  const Value x = growing.any();
  const Value y = growing.any();
  const Tensor condition = sum(tanh(y.tensor)) > growing.draw.between(-1, 1);
  growing.add(switch_(
                  condition, [&] { return sin(x.tensor) + 0.5; },
                  [&] { return x.tensor * sigmoid(sum(x.tensor)); }),
              x.dims, x.bound + 2);
  return true;
}

}  // namespace kiln::testing
