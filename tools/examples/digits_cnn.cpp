// Trains a convolutional network to read handwritten digits. All computation is K functions: the
// model is DigitsCnn below, its optimiser is in adam.h. digits.h reads the images, picture.h draws
// some with their predicted classes.
#include "adam.h"
#include "digits.h"
#include "picture.h"
#include "program.h"

#include <kiln/k.h>

#include <unistd.h>

#include <algorithm>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>
#include <string>

namespace K = kiln;
using K::Array, K::Tensor;

struct Options {
  std::string backend, data, data_format, save, load;
  int epochs = 20, batch = 32, seed = 1;
  double rate = 0.003;
};

struct DigitsCnn {
  bool channels_first = K::image_data_format() == "channels_first";
  std::vector<Tensor> weights, averages;  // learned; of batch normalisations
  std::vector<K::UpdateOp> updates;       // of the averages
  K::Function train, classify;

  /// He et al., "Delving deep into rectifiers", 2015.
  Tensor weight(const std::string& name, const std::vector<std::int64_t>& shape) {
    const auto inputs = std::accumulate(shape.begin(), shape.end() - 1, 1.0, std::multiplies<>());
    weights.push_back(K::random_normal_variable(shape, 0, std::sqrt(2 / inputs), {.name = name}));
    return weights.back();
  }

  /// S. Ioffe and C. Szegedy, "Batch normalization", 2015: with the batch's mean and variance while
  /// training, else with their moving averages.
  Tensor normalize(const std::string& name, const Tensor& x, std::int64_t channels) {
    const Tensor gamma = K::ones({channels}, {.name = name + "_gamma"});
    const Tensor beta = K::zeros({channels}, {.name = name + "_beta"});
    const Tensor mean = K::zeros({channels}, {.name = name + "_mean"});
    const Tensor var = K::ones({channels}, {.name = name + "_var"});
    weights.insert(weights.end(), {gamma, beta});
    averages.insert(averages.end(), {mean, var});
    const int axis = channels_first ? 1 : -1;
    const K::Axes others = channels_first ? K::Axes{0, 2, 3} : K::Axes{0, 1, 2};
    const auto batch = K::normalize_batch_in_training(x, gamma, beta, others);
    updates.push_back(K::moving_average_update(mean, batch.mean, 0.9));
    updates.push_back(K::moving_average_update(var, batch.var, 0.9));
    return K::in_train_phase(batch.normed,
                             K::batch_normalization(x, mean, var, beta, gamma, {.axis = axis}));
  }

  Tensor convolve(const std::string& name, const Tensor& x, std::int64_t from, std::int64_t to) {
    const Tensor y = K::conv2d(x, weight(name + "_kernel", {3, 3, from, to}), {.padding = "same"});
    return K::relu(normalize(name, y, to));
  }

  static Tensor drop(const Tensor& x, double level) {
    return K::in_train_phase(K::dropout(x, level), x);
  }

  explicit DigitsCnn(double rate) {
    const K::Shape shape = channels_first ? K::Shape{K::None, 1, Digits::kSide, Digits::kSide}
                                          : K::Shape{K::None, Digits::kSide, Digits::kSide, 1};
    const auto images = K::placeholder({.shape = shape, .name = "images"});
    const auto labels = K::placeholder({.shape = {K::None}, .dtype = "int32", .name = "labels"});
    Tensor x = convolve("conv1", images, 1, 32);
    x = convolve("conv2", x, 32, 32);
    x = drop(K::pool2d(x, 2, {.strides = 2}), 0.25);
    x = convolve("conv3", x, 32, 64);
    x = K::pool2d(x, 2, {.strides = 2});
    // One order of elements for both formats: weights learned in one serve the other.
    if (channels_first) x = K::permute_dimensions(x, {0, 2, 3, 1});
    x = drop(K::batch_flatten(x), 0.5);
    const Tensor bias = K::zeros({10}, {.name = "out_bias"});
    const Tensor logits = K::bias_add(K::dot(x, weight("out_kernel", {256, 10})), bias);
    weights.push_back(bias);
    const Tensor loss =
        K::mean(K::sparse_categorical_crossentropy(labels, logits, {.from_logits = true}));

    const std::vector<K::UpdateOp> learn = adam(loss, weights, rate);
    updates.insert(updates.end(), learn.begin(), learn.end());
    train = K::function({images, labels, K::learning_phase()}, {loss},
                        {.updates = updates, .name = "train"});
    classify = K::function({images}, {K::argmax(logits)}, {.name = "classify"});
  }

  std::vector<Tensor> all() const {
    std::vector<Tensor> all = weights;
    all.insert(all.end(), averages.begin(), averages.end());
    return all;
  }
  Array images(const Digits& digits) const {
    const auto count = static_cast<std::int64_t>(digits.size());
    const std::vector<std::int64_t> last{count, Digits::kSide, Digits::kSide, 1};
    const std::vector<std::int64_t> first{count, 1, Digits::kSide, Digits::kSide};
    return {digits.pixels, channels_first ? first : last};
  }
};

std::vector<std::int64_t> classify(const DigitsCnn& model, const Digits& digits) {
  std::vector<std::int64_t> classes;
  for (std::size_t at = 0; at < digits.size(); at += 256) {
    Digits batch;
    for (std::size_t i = at; i < std::min(at + 256, digits.size()); ++i) batch.add(digits, i);
    const Array result = model.classify({model.images(batch)})[0];
    const auto found = result.as<std::int64_t>();
    classes.insert(classes.end(), found.begin(), found.end());
  }
  return classes;
}

double accuracy(const Digits& digits, const std::vector<std::int64_t>& classes) {
  double right = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) right += classes[i] == digits.labels[i];
  return 100 * right / static_cast<double>(classes.size());
}

/// Draws the first held-out images with their predicted classes, errors in red.
std::string draw(const Digits& digits, const std::vector<std::int64_t>& classes) {
  std::vector<Picture> pictures;
  for (std::size_t i = 0; i < std::min<std::size_t>(classes.size(), 40); ++i) {
    const auto image = digits.image(i);
    const std::string read = std::to_string(classes[i]), truth = std::to_string(digits.labels[i]);
    pictures.push_back({{image.begin(), image.end()},
                        Digits::kSide,
                        read == truth ? read : read + ", is " + truth,
                        read == truth});
  }
  return draw_pictures(pictures, 10, "Held-out digits as the network reads them; errors in red",
                       "digits_cnn.svg");
}

void run(const Options& o) {
  if (!o.data_format.empty()) K::set_image_data_format(o.data_format);
  if (!o.backend.empty()) K::set_backend(o.backend);
  const K::BackendChoice choice = K::backend_choice();
  std::printf("backend %s (%s)\n", choice.name.c_str(), choice.reason.c_str());
  const auto [train, held_out] = read_digits(o.data);
  std::printf("digits: %zu to learn, %zu held out\n", train.size(), held_out.size());
  K::set_random_seed(o.seed);
  const DigitsCnn model(o.rate);
  if (!o.load.empty()) K::load_weights(o.load, model.all());
  try_saving(o.save, model.all());
  std::mt19937 random(static_cast<unsigned>(o.seed));
  std::vector<std::size_t> order(train.size());
  std::iota(order.begin(), order.end(), 0);
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  for (int epoch = 1; epoch <= o.epochs; ++epoch) {
    std::shuffle(order.begin(), order.end(), random);
    double loss = 0;
    for (std::size_t at = 0; at < order.size();) {
      Digits batch;
      const std::size_t end = std::min(at + static_cast<std::size_t>(o.batch), order.size());
      for (; at < end; ++at) batch.add(train, order[at]);
      const Array one = model.train({model.images(batch), Array(batch.labels), Array(1)})[0];
      loss += one.item<float>() * static_cast<double>(batch.size());
      if (!terminal) continue;
      const std::string bar(40 * at / order.size(), '#');
      std::printf("\repoch %d/%d [%-40s] loss %.4f ", epoch, o.epochs, bar.c_str(),
                  loss / static_cast<double>(at));
      flush_output();
    }
    std::printf("%sepoch %d loss %.9g\n", terminal ? "\r\033[K" : "", epoch,
                loss / static_cast<double>(order.size()));
    flush_output();
  }
  if (!o.save.empty()) K::save_weights(o.save, model.all());
  const std::vector<std::int64_t> classes = classify(model, held_out);
  std::printf("picture: %s\n", draw(held_out, classes).c_str());
  std::printf("held-out accuracy %.1f %%\n", accuracy(held_out, classes));
}

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Trains a convolutional network to read handwritten digits", "digits_cnn");
  set_help_format(app);
  app.add_option("--backend", o.backend, "name or absolute path of a backend")->type_name("NAME");
  app.add_option("--data", o.data,
                 "CSV of digits, gzipped or plain [default: the file of tools/digits]")
      ->type_name("FILE");
  app.add_option("--data-format", o.data_format,
                 "channels_last or channels_first [default: from keras.json]")
      ->type_name("FORMAT");
  app.add_option("--epochs", o.epochs, "passes over the training digits")
      ->check(in_range(0, INT_MAX))
      ->type_name("N");
  app.add_option("--batch", o.batch, "digits per batch")
      ->check(in_range(1, INT_MAX))
      ->type_name("N");
  app.add_option("--rate", o.rate, "learning rate")
      ->check(in_range(DBL_MIN, DBL_MAX, "a finite number above 0"))
      ->type_name("X");
  app.add_option("--seed", o.seed, "seed of weights and batches")->type_name("N");
  app.add_option("--save", o.save, "write the weights to FILE (safetensors)")->type_name("FILE");
  app.add_option("--load", o.load, "start from the weights in FILE")->type_name("FILE");
  app.footer("Example:\n  digits_cnn --epochs 3 --data-format channels_first");
  return run_program(app, argc, argv, [&] { run(o); });
}
