// The rows of whole image networks in inference: one image, channels last, batch normalisation by
// variables after each convolution.
#include "tools/kiln/bench/rows.h"

#include "core/types/text.h"

#include <cmath>

namespace kiln::bench {
namespace {

/// Adds layers to an image [1, size, size, 3], and counts the operations of the convolutions and of
/// the dense layer.
class Network {
 public:
  Network(Tensor x, std::int64_t size) : x_(std::move(x)), size_(size) {}

  /// `separate`: one filter per channel.
  void convolve(std::int64_t filters, std::int64_t window, std::int64_t stride,
                bool separate = false) {
    const std::int64_t inputs = separate ? 1 : channels_;
    // A variance of about 1 / fan-in (LeCun), so that results keep their magnitude.
    const double bound = 1.7 / std::sqrt(static_cast<double>(window * window * inputs));
    const Ints dims{window, window, channels_, separate ? 1 : filters};
    const Tensor filter = random_uniform_variable(dims, -bound, bound, {.seed = 1});
    const ConvOptions options{.strides = stride, .padding = "same"};
    x_ = separate ? depthwise_conv2d(x_, filter, options) : conv2d(x_, filter, options);
    size_ = (size_ + stride - 1) / stride;
    channels_ = filters;
    operations_ += 2.0 * static_cast<double>(size_ * size_ * window * window * inputs * filters);
    const auto vector = [&](double low, double high) {
      return random_uniform_variable({filters}, low, high, {.seed = 2});
    };
    const Tensor mean = vector(-0.2, 0.2), var = vector(0.8, 1.2), beta = vector(-0.2, 0.2);
    x_ = batch_normalization(x_, mean, var, beta, vector(0.8, 1.2));
  }
  void relu(const ReluOptions& options = {}) { x_ = kiln::relu(x_, options); }
  void pool() {
    x_ = pool2d(x_, 3, {.strides = 2, .padding = "same"});
    size_ = (size_ + 1) / 2;
  }
  /// Two 3x3 convolutions beside the identity, or beside a 1x1 convolution of that stride.
  void residual_block(std::int64_t filters, std::int64_t stride) {
    Network beside = *this;
    beside.operations_ = 0;
    if (stride != 1 || channels_ != filters) beside.convolve(filters, 1, stride);
    convolve(filters, 3, stride);
    relu();
    convolve(filters, 3, 1);
    x_ = kiln::relu(x_ + beside.x_);
    operations_ += beside.operations_;
  }
  void classify(std::int64_t classes) {
    const Tensor w = random_uniform_variable({channels_, classes}, -0.05, 0.05, {.seed = 1});
    x_ = dot(mean(x_, {.axis = {1, 2}}), w) + zeros({classes});
    operations_ += 2.0 * static_cast<double>(channels_ * classes);
  }
  const Tensor& output() const { return x_; }
  double operations() const { return operations_; }

 private:
  Tensor x_;
  std::int64_t size_, channels_ = 3;
  double operations_ = 0;
};

/// MobileNet (Howard et al. 2017), its channels divided by `divisor`.
void add_separable_layers(Network& net, std::int64_t divisor) {
  const ReluOptions six{.max_value = 6};
  net.convolve(32 / divisor, 3, 2);
  net.relu(six);
  std::int64_t channels = 32 / divisor;
  const auto block = [&](std::int64_t filters, std::int64_t stride) {
    net.convolve(channels, 3, stride, /*separate=*/true);
    net.relu(six);
    channels = filters / divisor;
    net.convolve(channels, 1, 1);
    net.relu(six);
  };
  block(64, 1);
  for (const std::int64_t filters : {128, 256}) {
    block(filters, 2);
    block(filters, 1);
  }
  block(512, 2);
  for (int i = 0; i < 5; ++i) block(512, 1);
  block(1024, 2);
  block(1024, 1);
}

/// ResNet-18 (He et al. 2016), its channels divided by `divisor`.
void add_residual_layers(Network& net, std::int64_t divisor) {
  net.convolve(64 / divisor, 7, 2);
  net.relu();
  net.pool();
  for (const std::int64_t filters : {64, 128, 256, 512}) {
    net.residual_block(filters / divisor, filters == 64 ? 1 : 2);
    net.residual_block(filters / divisor, 1);
  }
}

Row network(const std::string& name, const std::string& work,
            void (*add_layers)(Network&, std::int64_t), bool tiny, const std::string& reason = "") {
  const std::int64_t size = tiny ? 32 : 224, divisor = tiny ? 8 : 1, classes = tiny ? 10 : 1000;
  const auto added = [=](const Tensor& x) {
    Network net(x, size);
    add_layers(net, divisor);
    net.classify(classes);
    return net;
  };
  const Limit limit{.formula = "convolutions and the dense layer at the peak",
                    .operations = added(placeholder({.shape = {1, size, size, 3}})).operations()};
  return {name,
          text(work, ", one image of ", size, " x ", size, ": inference"),
          limit,
          [=] {
            WorkBuilder builder(Memory::Host);
            const Tensor x = builder.input(drawn({1, size, size, 3}));
            return builder.work({added(x).output()});
          },
          Timing::Steady,
          reason};
}

}  // namespace

std::vector<Row> network_rows(bool tiny) {
  return {
      network("separable_one", "MobileNet, batch normalisation, relu6", add_separable_layers, tiny),
      network("resnet18_one", "ResNet-18, batch normalisation", add_residual_layers, tiny,
              "KILN_DUMP=timings, AVX2, 1 thread: native 3x3 convolutions are 87 %, alone at 95 % "
              "of the peak, in spells of seconds at 65 to 75 %")};
}

}  // namespace kiln::bench
