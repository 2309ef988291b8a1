// Trains a convolutional network to read handwritten digits. All computation is K functions: the
// model is DigitsCnn below. digits.h reads the images, picture.h draws some with their predicted
// classes.
#include "digits.h"
#include "picture.h"
#include "program.h"

#include <kiln/train.h>

#include <algorithm>
#include <cfloat>
#include <climits>
#include <cstdio>
#include <string>

namespace K = kiln;
namespace D = kiln::distributed;
namespace L = kiln::layers;
using K::Array, K::Tensor;

struct Options {
  std::string backend, data, data_format, save, load, checkpoint;
  int epochs = 20, batch = 32, seed = 1, shards = 0;
  double rate = 0.003;
  bool dropout = true;
};

struct DigitsCnn {
  bool channels_first = K::image_data_format() == "channels_first";
  std::int64_t shards;  // parts of a batch that are normalized apart; 0: the batch of all ranks is
  std::vector<L::Layer> layers;  // in their order; those without weights are left out
  K::optimizers::Optimizer adam;
  K::Function train, classify;
  /// He et al., "Delving deep into rectifiers", 2015.
  K::Initializer he =
      K::initializers::VarianceScaling({.scale = 2, .distribution = "untruncated_normal"});

  Tensor convolve(const Tensor& x, std::int64_t filters) {
    const L::Conv2D conv(filters, 3,
                         {.padding = "same", .use_bias = false, .kernel_initializer = he});
    const L::BatchNormalization norm(
        {.axis = channels_first ? 1 : -1, .momentum = 0.9, .synchronized = shards == 0});
    layers.insert(layers.end(), {conv, norm});
    return K::relu(norm(conv(x)));
  }

  DigitsCnn(double rate, bool has_dropout, std::int64_t parts) : shards(parts) {
    const K::Shape shape = channels_first ? K::Shape{K::None, 1, Digits::kSide, Digits::kSide}
                                          : K::Shape{K::None, Digits::kSide, Digits::kSide, 1};
    const auto images = K::placeholder({.shape = shape, .name = "images"});
    const auto labels = K::placeholder({.shape = {K::None}, .dtype = "int32", .name = "labels"});
    Tensor x = convolve(convolve(images, 32), 32);
    x = L::Dropout(has_dropout ? 0.25 : 0.0)(L::MaxPooling2D()(x));
    x = L::MaxPooling2D()(convolve(x, 64));
    // Flatten has one order of elements for both formats: weights learned in one serve the other.
    x = L::Dropout(has_dropout ? 0.5 : 0.0)(L::Flatten()(x));
    const L::Dense out(10, {.kernel_initializer = he});
    const Tensor logits = out(x);
    layers.push_back(out);
    const Tensor loss =
        K::mean(K::sparse_categorical_crossentropy(labels, logits, {.from_logits = true}));

    std::vector<K::UpdateOp> updates = L::updates(layers);
    adam = K::optimizers::Adam({.learning_rate = rate, .epsilon = 1e-8});
    const Averaging how(shards, {images, labels});
    if (shards != 0) {
      for (K::UpdateOp& average : updates) average.value = how.mean(average.value);
    }
    const std::vector<Tensor> weights = L::trainable_weights(layers);
    const std::vector<K::UpdateOp> learn = adam.updates(how.gradients(loss, weights), weights);
    const Tensor mean = how.mean(loss);
    updates.insert(updates.end(), learn.begin(), learn.end());
    train = K::function({images, labels, K::learning_phase()}, {mean},
                        {.updates = updates, .name = "train"});
    classify = K::function({images}, {K::argmax(logits)}, {.name = "classify"});
  }

  std::vector<Tensor> all() const { return L::weights(layers); }
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
  const D::Session world = join_ranks();
  if (!o.backend.empty()) K::set_backend(o.backend);
  const K::BackendChoice choice = K::backend_choice();
  std::printf("backend %s (%s)\n", choice.name.c_str(), choice.reason.c_str());
  const auto [train, held_out] = read_digits(o.data);
  std::printf("digits: %zu to learn, %zu held out\n", train.size(), held_out.size());
  K::set_random_seed(o.seed);
  const DigitsCnn model(o.rate, o.dropout, o.shards);
  load_on_root(o.load, model.all());
  if (world.is_root()) try_saving(o.save, model.all());
  int epoch = 0;  // epochs done
  const auto checkpoint = resume(o.checkpoint, {.variables = {model.all(), model.adam.variables()},
                                                .numbers = {{"epoch", &epoch}}});
  const K::Batches batches(
      {model.images(train), Array(train.labels)},
      {.size = o.batch, .shuffle = true, .seed = o.seed, .drop_last = o.shards != 0});
  while (epoch < o.epochs) {
    const std::string title = std::to_string(epoch + 1) + "/" + std::to_string(o.epochs);
    const K::Epoch pass = batches.epoch(epoch, {.progress = "epoch " + title});
    double loss = 0, digits = 0;
    for (const std::vector<Array>& batch : pass) {
      const auto size = static_cast<double>(batch[1].size());
      const Array images = own_rows(batch[0]), labels = own_rows(batch[1]);
      loss += size * model.train({images, labels, true})[0].item<float>();
      pass.show("loss", loss / (digits += size));
    }
    ++epoch;
    if (checkpoint) checkpoint->save();
    std::printf("epoch %d loss %.9g\n", epoch, loss / digits);
    flush_output();
  }
  if (!world.is_root()) return;
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
  app.add_flag("--dropout,!--no-dropout", o.dropout, "drop activations at random [default: yes]");
  app.add_option("--seed", o.seed, "seed of weights and batches")->type_name("N");
  add_shards_option(app, o.shards);
  app.add_option("--save", o.save, "write the weights to FILE (safetensors)")->type_name("FILE");
  app.add_option("--load", o.load, "start from the weights in FILE, with a new optimiser")
      ->type_name("FILE");
  app.add_option("--checkpoint", o.checkpoint,
                 "resume the training in FILE, with the same other options; saved each epoch")
      ->type_name("FILE");
  app.footer(
      "Examples:\n  digits_cnn --epochs 3 --data-format channels_first\n"
      "  kiln launch -n 4 -- digits_cnn --no-dropout");
  return run_program(app, argc, argv, [&] { run(o); });
}
