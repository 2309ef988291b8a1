// Trains a network to read handwritten digits in mixed precision: weights and their updates are
// float32, images and products float16 or bfloat16, and the loss is scaled so that small gradients
// do not vanish in a float16. Steps whose gradients are not finite are skipped. The scaling is
// LossScale below (P. Micikevicius et al., "Mixed precision training", 2018).
#include "digits.h"
#include "program.h"

#include <kiln/train.h>

#include <cfloat>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace K = kiln;
namespace L = kiln::layers;
using K::Array, K::Tensor;

struct Options {
  std::string backend, data, dtype = "bfloat16";
  int epochs = 10, batch = 32, seed = 1, growth = 200;
  double rate = 0.003, scale = 65536;
};

/// A scale of the loss that halves when a gradient is not finite and doubles after `growth` steps.
struct LossScale {
  Tensor scale, steps;  // variables: float32; int32, since the last change

  explicit LossScale(double initial)
      : scale(K::variable(initial, {.dtype = "float32", .name = "loss_scale"})),
        steps(K::variable(0, {.dtype = "int32", .name = "loss_scale_steps"})) {}

  /// Whether all elements are finite: a comparison with NaN is false.
  static Tensor are_finite(const std::vector<Tensor>& gradients) {
    Tensor finite = K::constant(true, {.dtype = "bool"});
    for (const Tensor& one : gradients) finite = finite && K::all(K::abs(one) <= FLT_MAX);
    return finite;
  }

  /// The updates of one step that minimizes `loss`; without finite gradients only those of the
  /// scale.
  std::vector<K::UpdateOp> minimize(const Tensor& loss, const std::vector<Tensor>& weights,
                                    const K::optimizers::Optimizer& optimizer, int growth) const {
    std::vector<Tensor> gradients = K::gradients(loss * scale, weights);
    for (Tensor& one : gradients) one = one / scale;
    const Tensor finite = are_finite(gradients);
    std::vector<K::UpdateOp> updates = optimizer.updates(gradients, weights);
    for (K::UpdateOp& one : updates) one.value = K::switch_(finite, one.value, one.variable);
    const Tensor grows = steps >= growth - 1;
    const Tensor next = K::switch_(grows, K::minimum(2 * scale, 0x1p30), scale);
    updates.push_back({scale, K::switch_(finite, next, K::maximum(scale / 2, 1))});
    updates.push_back({steps, K::switch_(finite && !grows, steps + 1, K::zeros_like(steps))});
    return updates;
  }
};

struct Network {
  std::string dtype;  // of images and products
  std::vector<Tensor> weights;
  K::Function train, classify;

  Tensor weight(const std::vector<std::int64_t>& shape) {
    weights.push_back(K::variable(K::initializers::HeNormal()(shape)));
    return K::cast(weights.back(), dtype);
  }
  Tensor bias(std::int64_t size) {
    weights.push_back(K::variable(K::initializers::Zeros()({size})));
    return K::cast(weights.back(), dtype);
  }

  Network(const Options& o, const LossScale& scale) : dtype(o.dtype) {
    constexpr std::int64_t kSide = Digits::kSide, kFilters = 32, kUnits = 128;
    const auto images = K::placeholder({.shape = {K::None, kSide, kSide, 1}, .name = "images"});
    const auto labels = K::placeholder({.shape = {K::None}, .dtype = "int32", .name = "labels"});
    const K::ConvOptions same{.padding = "same", .data_format = "channels_last"};
    Tensor x = K::cast(images, dtype);
    x = K::relu(K::bias_add(K::conv2d(x, weight({3, 3, 1, kFilters}), same), bias(kFilters)));
    x = K::relu(
        K::bias_add(K::conv2d(x, weight({3, 3, kFilters, kFilters}), same), bias(kFilters)));
    x = K::reshape(x, {-1, kSide * kSide * kFilters});
    x = K::relu(K::bias_add(K::dot(x, weight({kSide * kSide * kFilters, kUnits})), bias(kUnits)));
    // The loss is float32: its exponentials and sums need the range and the digits.
    const Tensor logits =
        K::cast(K::bias_add(K::dot(x, weight({kUnits, 10})), bias(10)), "float32");
    const Tensor loss =
        K::mean(K::sparse_categorical_crossentropy(labels, logits, {.from_logits = true}));
    const auto adam = K::optimizers::Adam({.learning_rate = o.rate});
    train =
        K::function({images, labels}, {loss},
                    {.updates = scale.minimize(loss, weights, adam, o.growth), .name = "train"});
    classify = K::function({images}, {K::argmax(logits)}, {.name = "classify"});
  }
};

Array images_of(const Digits& digits) {
  const auto count = static_cast<std::int64_t>(digits.size());
  return {digits.pixels, {count, Digits::kSide, Digits::kSide, 1}};
}

void run(const Options& o) {
  if (!o.backend.empty()) K::set_backend(o.backend);
  K::set_floatx("float32");
  const auto [learned, held_out] = read_digits(o.data);
  K::set_random_seed(o.seed);
  const LossScale scale(o.scale);
  const Network network(o, scale);
  const K::Batches batches({images_of(learned), Array(learned.labels)},
                           {.size = o.batch, .shuffle = true, .seed = o.seed});
  for (int epoch = 0; epoch < o.epochs; ++epoch) {
    double loss = 0, digits = 0;
    for (const std::vector<Array>& batch : batches.epoch(epoch)) {
      const auto size = static_cast<double>(batch[1].size());
      loss += size * network.train({batch[0], batch[1]})[0].item<float>();
      digits += size;
    }
    std::printf("epoch %d loss %.6g scale %.0f\n", epoch + 1, loss / digits,
                K::get_value(scale.scale).item<float>());
  }
  const Array classes = network.classify({images_of(held_out)})[0];
  double right = 0;
  for (std::size_t i = 0; i < held_out.size(); ++i) {
    right += classes.as<std::int64_t>()[i] == held_out.labels[i];
  }
  std::printf("held-out accuracy %.2f %%\n", 100 * right / static_cast<double>(held_out.size()));
}

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Trains a network to read handwritten digits in mixed precision", "mixed_precision");
  set_help_format(app);
  app.add_option("--backend", o.backend, "name or absolute path of a backend")->type_name("NAME");
  app.add_option("--data", o.data,
                 "CSV of digits, gzipped or plain [default: the file of tools/digits]")
      ->type_name("FILE");
  app.add_option("--dtype", o.dtype, "dtype of images and products: float16, bfloat16 or float32")
      ->check(CLI::IsMember({"float16", "bfloat16", "float32"}))
      ->type_name("DTYPE");
  app.add_option("--epochs", o.epochs, "passes over the training digits")
      ->check(in_range(0, INT_MAX))
      ->type_name("N");
  app.add_option("--batch", o.batch, "digits per batch")
      ->check(in_range(1, INT_MAX))
      ->type_name("N");
  app.add_option("--rate", o.rate, "learning rate of Adam")
      ->check(in_range(DBL_MIN, DBL_MAX, "a finite number above 0"))
      ->type_name("X");
  app.add_option("--scale", o.scale, "first scale of the loss")
      ->check(in_range(1.0, 0x1p30))
      ->type_name("X");
  app.add_option("--growth", o.growth, "steps after which the scale doubles")
      ->check(in_range(1, INT_MAX))
      ->type_name("N");
  app.add_option("--seed", o.seed, "seed of weights and batches")->type_name("N");
  app.footer("Example:\n  mixed_precision --dtype float16 --epochs 3");
  return run_program(app, argc, argv, [&] { run(o); });
}
