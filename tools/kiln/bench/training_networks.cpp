// Rows of a GPU's table: training steps of a transformer block and of ResNet-50, in float32 and in
// mixed precision: float32 weights, matmuls and convolutions of bfloat16.
#include "tools/kiln/bench/models.h"
#include "tools/kiln/bench/rows.h"

#include "core/types/text.h"

#include <cmath>

namespace kiln::bench {
namespace {

std::string described(DType dtype) {
  return dtype == DType::Float32 ? "float32" : text("float32 weights, ", dtype, " products");
}

/// Weights of a network, as its products take them.
class Weights {
 public:
  explicit Weights(DType dtype) : dtype_(dtype_name(dtype)) {}

  /// A variable of about unit gain, in the dtype of products.
  Tensor product(const Ints& dims, std::int64_t inputs) {
    const double bound = 1.7 / std::sqrt(static_cast<double>(inputs));
    all_.push_back(random_uniform_variable(dims, -bound, bound, {.seed = 1}));
    return narrow(all_.back());
  }
  Tensor scale(std::int64_t size) {
    all_.push_back(ones({size}));
    return all_.back();
  }
  Tensor offset(std::int64_t size) {
    all_.push_back(zeros({size}));
    return all_.back();
  }
  Tensor narrow(const Tensor& x) const { return dtype(x) == dtype_ ? x : cast(x, dtype_); }
  const std::vector<Tensor>& all() const { return all_; }

 private:
  std::string dtype_;
  std::vector<Tensor> all_;
};

/// Normalises the last axis in float32.
Tensor layer_normalised(const Tensor& x, Weights& weights, std::int64_t width) {
  const AxisOptions last{.axis = -1, .keepdims = true};
  const Tensor centred = x - mean(x, last);
  const Tensor normed = centred / sqrt(mean(square(centred), last) + 1e-5);
  return normed * weights.scale(width) + weights.offset(width);
}

/// A block of GPT-2: x + attention(norm(x)), then x + dense(gelu(dense(norm(x)))); causal.
Tensor transformer_block(const Tensor& x, Weights& weights, const TransformerSizes& s) {
  const Ints matrix{s.width, s.width};
  const Tensor h = weights.narrow(layer_normalised(x, weights, s.width));
  const auto head = [&] {
    const Tensor y = dot(h, weights.product(matrix, s.width));
    const Tensor split = reshape(y, {s.batch, s.time, s.heads, s.width / s.heads});
    return permute_dimensions(split, {0, 2, 1, 3});
  };
  const Tensor q = head(), k = head(), v = head();
  const Tensor attended = dot_product_attention(q, k, v, {.causal = true});
  const Tensor joined =
      reshape(permute_dimensions(attended, {0, 2, 1, 3}), {s.batch, s.time, s.width});
  const Tensor y = x + cast(dot(joined, weights.product(matrix, s.width)), "float32");
  const Tensor wide = gelu(dot(weights.narrow(layer_normalised(y, weights, s.width)),
                               weights.product({s.width, 4 * s.width}, s.width)));
  const Tensor narrow = dot(wide, weights.product({4 * s.width, s.width}, 4 * s.width));
  return y + cast(narrow, "float32");
}

/// ResNet-50 (He et al. 2016), but with strides in the 3x3 convolutions, channels last, its
/// channels divided by `divisor`.
class ResidualNetwork {
 public:
  ResidualNetwork(Tensor x, std::int64_t divisor, Weights& weights)
      : x_(weights.narrow(x)), divisor_(divisor), weights_(weights) {}

  Tensor logits(std::int64_t classes) {
    x_ = relu(convolved(x_, 3, 64, 7, 2));
    x_ = pool2d(x_, 3, {.strides = 2, .padding = "same"});
    channels_ = 64;
    constexpr std::int64_t kBlocks[] = {3, 4, 6, 3};
    for (std::int64_t stage = 0; stage < 4; ++stage) {
      for (std::int64_t i = 0; i < kBlocks[stage] / (divisor_ == 1 ? 1 : 3); ++i) {
        add_block(64 << stage, stage > 0 && i == 0 ? 2 : 1);
      }
    }
    const Tensor pooled = weights_.narrow(mean(cast(x_, "float32"), {.axis = {1, 2}}));
    const std::int64_t features = channels_ / divisor_;
    return cast(dot(pooled, weights_.product({features, classes}, features)), "float32");
  }

 private:
  /// Channels are counted before the division by divisor_, but for the image's three.
  Tensor convolved(const Tensor& x, std::int64_t from, std::int64_t filters, std::int64_t window,
                   std::int64_t stride) {
    const std::int64_t inputs = from == 3 ? 3 : from / divisor_, outputs = filters / divisor_;
    const Tensor filter =
        weights_.product({window, window, inputs, outputs}, window * window * inputs);
    const Tensor y = conv2d(x, filter, {.strides = stride, .padding = "same"});
    const Tensor normed = normalize_batch_in_training(cast(y, "float32"), weights_.scale(outputs),
                                                      weights_.offset(outputs), {0, 1, 2})
                              .normed;
    return weights_.narrow(normed);
  }

  void add_block(std::int64_t filters, std::int64_t stride) {
    const std::int64_t outputs = 4 * filters;
    const bool is_identity = channels_ == outputs && stride == 1;
    const Tensor beside = is_identity ? x_ : convolved(x_, channels_, outputs, 1, stride);
    const Tensor first = relu(convolved(x_, channels_, filters, 1, 1));
    const Tensor second = relu(convolved(first, filters, filters, 3, stride));
    x_ = relu(convolved(second, filters, outputs, 1, 1) + beside);
    channels_ = outputs;
  }

  Tensor x_;
  std::int64_t divisor_, channels_ = 3;
  Weights& weights_;
};

}  // namespace

Row transformer_train(const std::string& name, const TransformerSizes& s, DType dtype,
                      Memory memory) {
  const auto rows = static_cast<double>(s.batch * s.time), width = static_cast<double>(s.width);
  const double scores = rows * static_cast<double>(s.time) / 2;  // causal
  const Limit limit{.formula = "the products, forward and two gradients, at the peak of float32",
                    .operations = 2 * rows * width * width * 12 * 3 + 2 * scores * width * 6};
  return {name,
          text("block of GPT-2, batch ", s.batch, ", ", s.time, " positions of ", s.width, ", ",
               s.heads, " heads, causal, ", described(dtype), ": mean square, SGD step"),
          limit, [=] {
            WorkBuilder builder(memory);
            Weights weights(dtype);
            const Tensor x = builder.input(drawn({s.batch, s.time, s.width}));
            const Tensor loss = mean(square(transformer_block(x, weights, s)));
            return builder.work({loss}, sgd_updates(weights.all(), gradients(loss, weights.all())));
          }};
}

Row resnet50_train(const std::string& name, std::int64_t batch, bool tiny, DType dtype,
                   Memory memory) {
  const std::int64_t size = tiny ? 32 : 224, divisor = tiny ? 8 : 1, classes = tiny ? 8 : 1000;
  // 4.1e9 multiply-adds an image: strides are in the 3x3 convolutions, where He et al. 2016, with
  // strides in the 1x1 ones, have 3.8e9.
  const Limit limit{
      .formula = "the convolutions, forward and two gradients, at the peak of float32",
      .operations = tiny ? 1e6 : 3 * 2 * 4.1e9 * static_cast<double>(batch)};
  return {name,
          text("ResNet-50, batch ", batch, ", ", size, " x ", size, " pixels, ", described(dtype),
               ": cross-entropy, SGD step"),
          limit, [=] {
            WorkBuilder builder(memory);
            Weights weights(dtype);
            const Tensor x = builder.input(drawn({batch, size, size, 3}));
            const Tensor logits = ResidualNetwork(x, divisor, weights).logits(classes);
            const Tensor labels = builder.input(drawn({batch}, 0, static_cast<double>(classes)));
            const Tensor loss = mean(sparse_categorical_crossentropy(cast(labels, "int32"), logits,
                                                                     {.from_logits = true}));
            return builder.work({loss}, sgd_updates(weights.all(), gradients(loss, weights.all())));
          }};
}

}  // namespace kiln::bench
