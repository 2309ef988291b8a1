// The rows that measure the first training step of image networks in a new process: ResNet50 (He
// et al. 2015, stride in the 3x3 convolution) and MobileNetV2 (Sandler et al. 2018, width 1).
#include "tools/kiln/bench/models.h"
#include "tools/kiln/bench/rows.h"

#include "core/types/text.h"

#include <array>
#include <cmath>

namespace kiln::bench {
namespace {

struct Images {
  std::int64_t batch, size, classes;
  std::int64_t width;   // divides the number of channels
  std::size_t blocks;   // limit for each group
};

Tensor weight(const Ints& shape, std::int64_t inputs) {
  const double scale = std::sqrt(3.0 / static_cast<double>(inputs));
  return random_uniform_variable(shape, -scale, scale, {.seed = 1});
}

/// Collects the weights and the updates of moving averages while layers are added.
class Network {
 public:
  Tensor convolution(const Tensor& x, std::int64_t channels, std::int64_t size,
                     std::int64_t stride) {
    const std::int64_t inputs = *int_shape(x)[3];
    const Tensor filter = weight({size, size, inputs, channels}, size * size * inputs);
    weights.push_back(filter);
    return normalised(conv2d(x, filter, {.strides = stride, .padding = "same"}));
  }
  Tensor depthwise(const Tensor& x, std::int64_t stride) {
    const Tensor filter = weight({3, 3, *int_shape(x)[3], 1}, 9);
    weights.push_back(filter);
    return normalised(depthwise_conv2d(x, filter, {.strides = stride, .padding = "same"}));
  }
  /// The mean over each image's positions, then a dense layer without activation.
  Tensor classified(const Tensor& x, std::int64_t classes) {
    const Tensor pooled = mean(x, {.axis = {1, 2}});
    const Mlp dense = mlp(pooled, {*int_shape(x)[3], classes});
    weights.insert(weights.end(), dense.weights.begin(), dense.weights.end());
    return dense.output;
  }

  std::vector<Tensor> weights;
  std::vector<UpdateOp> averages;

 private:
  /// Batch normalisation, whose mean and variance also update moving averages.
  Tensor normalised(const Tensor& x) {
    const std::int64_t channels = *int_shape(x)[3];
    const Tensor gamma = ones({channels}), beta = zeros({channels});
    const NormalizedBatch batch = normalize_batch_in_training(x, gamma, beta, {0, 1, 2});
    averages.push_back(moving_average_update(zeros({channels}), batch.mean, 0.9));
    averages.push_back(moving_average_update(ones({channels}), batch.var, 0.9));
    weights.insert(weights.end(), {gamma, beta});
    return batch.normed;
  }
};

/// 1x1, 3x3 and 1x1 convolutions with a residual connection.
Tensor bottleneck(Network& net, const Tensor& x, std::int64_t channels, std::int64_t stride) {
  const std::int64_t results = 4 * channels;
  const bool is_projected = stride != 1 || *int_shape(x)[3] != results;
  const Tensor shortcut = is_projected ? net.convolution(x, results, 1, stride) : x;
  const Tensor narrow = relu(net.convolution(x, channels, 1, 1));
  const Tensor middle = relu(net.convolution(narrow, channels, 3, stride));
  return relu(net.convolution(middle, results, 1, 1) + shortcut);
}

Tensor resnet50(Network& net, const Tensor& images, const Images& s) {
  Tensor y = relu(net.convolution(images, 64 / s.width, 7, 2));
  y = pool2d(y, 3, {.strides = 2, .padding = "same"});
  constexpr std::array<std::size_t, 4> kBlocks{3, 4, 6, 3};
  for (std::size_t group = 0; group < kBlocks.size(); ++group) {
    const std::int64_t channels = (std::int64_t{64} << group) / s.width;
    for (std::size_t block = 0; block < std::min(kBlocks[group], s.blocks); ++block) {
      y = bottleneck(net, y, channels, block == 0 && group > 0 ? 2 : 1);
    }
  }
  return net.classified(y, s.classes);
}

Tensor relu6(const Tensor& x) { return relu(x, {.max_value = 6}); }

/// A 1x1 convolution to more channels, a depthwise 3x3 convolution, a 1x1 convolution to fewer.
Tensor inverted_residual(Network& net, const Tensor& x, std::int64_t channels, std::int64_t stride,
                         std::int64_t expansion) {
  const std::int64_t inputs = *int_shape(x)[3];
  const Tensor wide = expansion == 1 ? x : relu6(net.convolution(x, inputs * expansion, 1, 1));
  const Tensor y = net.convolution(relu6(net.depthwise(wide, stride)), channels, 1, 1);
  return stride == 1 && inputs == channels ? x + y : y;
}

Tensor mobilenet_v2(Network& net, const Tensor& images, const Images& s) {
  struct Group {
    std::int64_t expansion, channels;
    std::size_t blocks;
    std::int64_t stride;
  };
  constexpr std::array<Group, 7> kGroups{{{1, 16, 1, 1},
                                          {6, 24, 2, 2},
                                          {6, 32, 3, 2},
                                          {6, 64, 4, 2},
                                          {6, 96, 3, 1},
                                          {6, 160, 3, 2},
                                          {6, 320, 1, 1}}};
  Tensor y = relu6(net.convolution(images, 32 / s.width, 3, 2));
  for (const Group& group : kGroups) {
    for (std::size_t block = 0; block < std::min(group.blocks, s.blocks); ++block) {
      y = inverted_residual(net, y, group.channels / s.width, block == 0 ? group.stride : 1,
                            group.expansion);
    }
  }
  return net.classified(relu6(net.convolution(y, 1280 / s.width, 1, 1)), s.classes);
}

/// Stochastic gradient descent with momentum.
std::vector<UpdateOp> momentum_updates(const std::vector<Tensor>& weights,
                                       const std::vector<Tensor>& gradients) {
  std::vector<UpdateOp> updates;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Tensor velocity = zeros(int_shape(weights[i]));
    const Tensor next = 0.9 * velocity - 0.01 * gradients[i];
    updates.insert(updates.end(), {update(velocity, next), update_add(weights[i], next)});
  }
  return updates;
}

using MakeNetwork = Tensor (*)(Network& net, const Tensor& images, const Images& sizes);

Row first_step(const std::string& name, const std::string& network, const Images& s,
               MakeNetwork make) {
  return {
      name,
      text(network, ", ", s.size, " x ", s.size, ", batch ", s.batch,
           ", SGD with momentum: graph to first step, new process"),
      {},
      [=] {
        WorkBuilder builder(Memory::Host);
        const Tensor x = builder.input(drawn({s.batch, s.size, s.size, 3}));
        const Tensor y = builder.input(drawn_classes({s.batch}, s.classes));
        Network net;
        const Tensor logits = make(net, x, s);
        const Tensor loss = mean(sparse_categorical_crossentropy(y, logits, {.from_logits = true}));
        std::vector<UpdateOp> updates = momentum_updates(net.weights, gradients(loss, net.weights));
        updates.insert(updates.end(), net.averages.begin(), net.averages.end());
        return builder.work({loss}, updates);
      },
      Timing::FirstCall,
      "Zen 3, parts timed on 2 threads: compiling takes 50 % of MobileNetV2's first step and "
      "25 % of ResNet50's, half of it in LLVM; eager PyTorch compiles nothing"};
}

}  // namespace

std::vector<Row> first_step_rows(bool tiny) {
  const Images sizes = tiny ? Images{2, 32, 10, 8, 1} : Images{1, 224, 1000, 1, 6};
  return {first_step("first_step_resnet50", "ResNet50", sizes, resnet50),
          first_step("first_step_mobilenet_v2", "MobileNetV2", sizes, mobilenet_v2)};
}

}  // namespace kiln::bench
