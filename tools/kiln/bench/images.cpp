// The rows of images: convolutions, pooling and batch normalisation, all channels last.
#include "tools/kiln/bench/models.h"
#include "tools/kiln/bench/rows.h"

#include "core/types/text.h"

#include <cmath>

namespace kiln::bench {
namespace {

Tensor weight(const Ints& shape, std::int64_t inputs) {
  const double scale = 1 / std::sqrt(static_cast<double>(inputs));
  return random_uniform_variable(shape, -scale, scale, {.seed = 1});
}

struct Cnn {
  std::vector<Tensor> weights;
  Tensor output;  // without softmax
};

Cnn cnn(const Tensor& x, const CnnSizes& s) {
  const Tensor k1 = weight({3, 3, 1, s.first}, 9), b1 = zeros({s.first});
  const Tensor k2 = weight({3, 3, s.first, s.second}, 9 * s.first), b2 = zeros({s.second});
  const Tensor w1 = weight({s.pixels(), s.dense}, s.pixels()), c1 = zeros({s.dense});
  const Tensor w2 = weight({s.dense, s.classes}, s.dense), c2 = zeros({s.classes});
  const Tensor first = relu(bias_add(conv2d(x, k1), b1));
  const Tensor second = relu(bias_add(conv2d(first, k2), b2));
  const Tensor pooled = batch_flatten(pool2d(second, 2, {.strides = 2}));
  return {{k1, b1, k2, b2, w1, c1, w2, c2}, dot(relu(dot(pooled, w1) + c1), w2) + c2};
}

std::string described(const CnnSizes& s, std::int64_t batch) {
  return text(s.size, " x ", s.size, " x 1, conv 3x3x", s.first, ", conv 3x3x", s.second,
              ", max-pool 2, dense ", s.dense, ", ", s.classes, ", batch ", batch);
}

Row cnn_infer(const std::string& name, std::int64_t batch, const CnnSizes& s) {
  Limit limit{
      .formula = "convolutions and matmuls at the peak",
      .operations = static_cast<double>(batch) * (s.first_operations() + s.other_operations())};
  Row row{name, described(s, batch) + ": inference", limit, [=] {
            WorkBuilder builder(Memory::Host);
            const Tensor x = builder.input(drawn({batch, s.size, s.size, 1}));
            return builder.work({softmax(cnn(x, s).output)});
          }};
  row.note =
      batch > 1
          ? "KILN_DUMP=timings, 1 thread: AVX-512: oneDNN's second convolution is 81 %, at 86 to "
            "90 % of the peak with its second pass of bias and ReLU, the dense layer 10 %, pooling "
            "5 %; AVX2 (native convolution): 82 %, 10 %, 4 %"
          : "KILN_DUMP=timings, 1 thread: the second convolution is 63 %, the dense layer 32 % "
            "(AVX2: 29 %): parts of 32 columns have two sums each and wait for the latency of "
            "additions (parts along K, in a loop of their own: 37.5 for 51 us)";
  return row;
}

Row depthwise(const Ints& dims) {
  const auto count = static_cast<double>(elements(dims));
  Limit limit{.formula = "one pass: 1 array read, 1 written, 8 B; + 9 multiply-adds an element",
              .operations = 18 * count,
              .reads = 1,
              .writes = 1,
              .floats = elements(dims)};
  return {"depthwise",
          text("depthwise convolution 3x3 of ", join_text(dims, " x "), ", padding same"),
          limit,
          [=] {
            WorkBuilder builder(Memory::Host);
            const Tensor x = builder.input(drawn(dims));
            const Tensor kernel = weight({3, 3, dims[3], 1}, 9);
            return builder.work({depthwise_conv2d(x, kernel, {.padding = "same"})});
          },
          Timing::Steady,
          "Zen 4: 26 MB of tensors in a level 3 cache of 32 MB, which other virtual machines use, "
          "too: 1.0 to 2.1 ms from call to call of one process"};
}

}  // namespace

double CnnSizes::parameters() const {
  return static_cast<double>(10 * first + (9 * first + 1) * second + (pixels() + 1) * dense +
                             (dense + 1) * classes);
}

double CnnSizes::first_operations() const {
  return 2.0 * static_cast<double>((size - 2) * (size - 2) * 9 * first);
}

double CnnSizes::other_operations() const {
  return 2.0 * static_cast<double>((size - 4) * (size - 4) * 9 * first * second + pixels() * dense +
                                   dense * classes);
}

Row cnn_adam(std::int64_t batch, const CnnSizes& s, Memory memory) {
  const double operations =
      static_cast<double>(batch) * (2 * s.first_operations() + 3 * s.other_operations());
  Limit limit{.formula =
                  "convolutions and matmuls at the peak + Adam: 3 arrays read and written "
                  "in place, 24 B a weight",
              .operations = operations,
              .reads = 3,
              .writes = 3,
              .floats = static_cast<std::size_t>(s.parameters()),
              .in_place = true};
  return {"cnn_adam", described(s, batch) + ": Adam step", limit, [=] {
            WorkBuilder builder(memory);
            const Tensor x = builder.input(drawn({batch, s.size, s.size, 1}));
            const Tensor y = builder.input(drawn_classes({batch}, s.classes));
            const Cnn net = cnn(x, s);
            const Tensor loss =
                mean(sparse_categorical_crossentropy(y, net.output, {.from_logits = true}));
            return builder.work({loss}, adam_updates(net.weights, gradients(loss, net.weights)));
          }};
}

Row bn_relu_train(const Ints& dims, Memory memory) {
  Limit limit{.formula = "passes: 2 arrays read, 2 written, 16 B an element",
              .reads = 2,
              .writes = 2,
              .floats = elements(dims)};
  return {"bn_relu_train",
          text("batch normalisation and relu of ", join_text(dims, " x "),
               ", forward and all gradients"),
          limit, [=] {
            WorkBuilder builder(memory);
            const Tensor x = builder.input(drawn(dims)), dy = builder.input(drawn(dims));
            const Tensor gamma = ones({dims[3]}), beta = zeros({dims[3]});
            const NormalizedBatch batch = normalize_batch_in_training(x, gamma, beta, {0, 1, 2});
            const Tensor y = relu(batch.normed);
            std::vector<Tensor> outputs = gradients(sum(y * dy), {x, gamma, beta});
            outputs.insert(outputs.end(), {y, batch.mean, batch.var});
            return builder.work(outputs);
          }};
}

Row resnet_block(const Ints& dims, Memory memory) {
  const std::int64_t channels = dims[3];
  const double depth = static_cast<double>(9 * channels);
  const double convolution = 2 * static_cast<double>(elements(dims)) * depth;
  Limit limit{.formula = "two convolutions, each forward and two gradients, at the peak",
              .operations = 6 * convolution};
  return {"resnet_block",
          text("residual block of two conv 3x3, batch normalisation, relu: ",
               join_text(dims, " x "), ", forward and all gradients"),
          limit, [=] {
            WorkBuilder builder(memory);
            const Tensor x = builder.input(drawn(dims)), dy = builder.input(drawn(dims));
            std::vector<Tensor> wanted{x};
            const auto layer = [&](const Tensor& in) {
              const Tensor kernel = weight({3, 3, channels, channels}, 9 * channels);
              const Tensor gamma = ones({channels}), beta = zeros({channels});
              wanted.insert(wanted.end(), {kernel, gamma, beta});
              const Tensor convolved = conv2d(in, kernel, {.padding = "same"});
              return normalize_batch_in_training(convolved, gamma, beta, {0, 1, 2}).normed;
            };
            const Tensor y = relu(layer(relu(layer(x))) + x);
            std::vector<Tensor> outputs = gradients(sum(y * dy), wanted);
            outputs.push_back(y);
            return builder.work(outputs);
          }};
}

std::vector<Row> image_rows(bool tiny) {
  const CnnSizes sizes = tiny ? CnnSizes{8, 2, 3, 4, 3} : CnnSizes{28, 32, 64, 128, 10};
  return {cnn_adam(tiny ? 2 : 64, sizes, Memory::Host),
          cnn_infer("cnn_infer", tiny ? 2 : 64, sizes),
          cnn_infer("cnn_infer_one", 1, sizes),
          depthwise(tiny ? Ints{2, 5, 5, 3} : Ints{16, 56, 56, 64}),
          bn_relu_train(tiny ? Ints{2, 3, 3, 4} : Ints{32, 56, 56, 64}, Memory::Host),
          resnet_block(tiny ? Ints{2, 5, 5, 3} : Ints{16, 56, 56, 64}, Memory::Host)};
}

}  // namespace kiln::bench
