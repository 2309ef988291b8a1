// Trains a network to read images of numbers: convolutions, a bidirectional LSTM and connectionist
// temporal classification. The model is Reader below. numbers.h makes the images from digits side
// by side; picture.h draws a few.
#include "numbers.h"
#include "picture.h"
#include "program.h"

#include <kiln/train.h>

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <random>
#include <string>

namespace K = kiln;
namespace L = kiln::layers;
using K::Array, K::Tensor;

struct Options {
  std::string backend, data, save, load, checkpoint;
  int steps = 1000, batch = 32, units = 64, numbers = 1000, seed = 1;
};

constexpr std::int64_t kClasses = 11;  // ten digits and, the last one, the blank

struct Reader {
  std::vector<Tensor> weights;
  /// The rate depends on the step, not on --steps: a training that goes on later has the same one.
  K::optimizers::Optimizer adam = K::optimizers::Adam(
      {.learning_rate = K::schedules::CosineDecay(0.004, 1000, {.alpha = 0.02}), .epsilon = 1e-8});
  K::Function train, read;

  static L::Conv2D convolution(std::int64_t filters) {
    return L::Conv2D(filters, 3,
                     {.padding = "same",
                      .data_format = "channels_last",
                      .activation = "relu",
                      .kernel_initializer = "lecun_uniform"});
  }

  explicit Reader(std::int64_t units) {
    constexpr std::int64_t kStep = Numbers::kStep;
    const auto images = K::placeholder(
        {.shape = {K::None, Numbers::kWidth, Numbers::kHeight, 1}, .name = "images"});
    const auto integers = [](const char* name, const K::Shape& shape) {
      return K::placeholder({.shape = shape, .dtype = "int32", .name = name});
    };
    const auto labels = integers("labels", {K::None, Numbers::kMax});
    const auto steps = integers("steps", {K::None}), lengths = integers("lengths", {K::None});

    const L::Conv2D first = convolution(16), second = convolution(32);
    Tensor x = second(first(images));
    x = L::MaxPooling2D(kStep, {.data_format = "channels_last"})(x);
    x = K::reshape(x, {-1, Numbers::kWidth / kStep, Numbers::kHeight / kStep * 32});
    x = L::Dropout(0.25)(x);
    const L::Bidirectional lstm(L::LSTM(units, {.kernel_initializer = "lecun_uniform",
                                                .recurrent_initializer = "lecun_uniform",
                                                .return_sequences = true}));
    const L::Dense out(kClasses, {.activation = "softmax", .kernel_initializer = "lecun_uniform"});
    const Tensor mask = K::less(K::arange(Numbers::kWidth / kStep), K::expand_dims(steps));
    const Tensor y = out(lstm(x, {.mask = mask}));
    weights = L::weights({first, second, lstm, out});
    const Tensor loss = K::mean(K::ctc_batch_cost(labels, y, steps, lengths));

    train = K::function({images, labels, steps, lengths, K::learning_phase()}, {loss},
                        {.updates = adam.minimize(loss, weights), .name = "train"});
    read = K::function(
        {images, steps},
        {K::ctc_decode(y, steps).decoded[0], K::ctc_decode(y, steps, {.greedy = false}).decoded[0]},
        {.name = "read"});
  }
};

/// A row of ctc_decode's result; -1 ends it.
std::string read_text(const Array& decoded, std::int64_t row) {
  std::string text;
  for (std::int64_t j = 0; j < decoded.dims()[1] && decoded.at<std::int64_t>(row, j) >= 0; ++j) {
    text += static_cast<char>('0' + decoded.at<std::int64_t>(row, j));
  }
  return text;
}

/// Reads numbers of held-out digits, draws a few, prints the share read without an error.
void report(const Reader& model, const Digits& held_out, int count) {
  constexpr std::size_t kDrawn = 12;
  std::mt19937 random(0);  // the same numbers whatever the seed
  int greedy = 0, beam = 0;
  std::vector<Picture> pictures;
  for (int at = 0; at < count; at += 100) {
    const int rows = std::min(count - at, 100);
    const Numbers n(rows, held_out, random, false);
    const std::vector<Array> found = model.read({n.images, n.steps});
    for (int i = 0; i < rows; ++i) {
      const std::string truth = n.text(i), read = read_text(found[1], i);
      greedy += read_text(found[0], i) == truth;
      beam += read == truth;
      if (pictures.size() == kDrawn) continue;
      const std::string caption = read == truth ? read : read + ", is " + truth;
      pictures.push_back({n.pixels(i), Numbers::kWidth, caption, read == truth});
    }
  }
  const auto percent = [&](int right) { return 100.0 * right / count; };
  const std::string title = "Held-out numbers as the network reads them; errors in red";
  const std::string path = draw_pictures(pictures, 2, title, "digits_ctc.svg");
  std::printf("picture: %s\n", path.c_str());
  std::printf("greedy %.1f %%, beam search %.1f %%\n", percent(greedy), percent(beam));
  std::printf("held-out numbers read %.1f %%\n", percent(beam));
}

void run(const Options& o) {
  if (!o.backend.empty()) K::set_backend(o.backend);
  const K::BackendChoice choice = K::backend_choice();
  std::printf("backend %s (%s)\n", choice.name.c_str(), choice.reason.c_str());
  const auto [train, held_out] = read_digits(o.data);
  std::printf("digits: %zu to learn, %zu held out\n", train.size(), held_out.size());
  K::set_random_seed(o.seed);
  Reader model(o.units);
  if (!o.load.empty()) K::load_weights(o.load, model.weights);
  try_saving(o.save, model.weights);
  int step = 0;  // steps done
  const auto checkpoint =
      resume(o.checkpoint,
             {.variables = {model.weights, model.adam.variables()}, .numbers = {{"step", &step}}});
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  const int every = o.steps <= 20 ? 1 : o.steps / 20;
  while (step < o.steps) {
    std::mt19937 random = random_of_step(o.seed, ++step);
    const Numbers n(o.batch, train, random, true);
    const Array loss = model.train({n.images, n.labels, n.steps, n.lengths, true})[0];
    if (terminal) {
      const std::string bar(static_cast<std::size_t>(40 * step / o.steps), '#');
      std::printf("\r[%-40s] %d/%d  loss %.3f ", bar.c_str(), step, o.steps, loss.item<float>());
    }
    if (step % every == 0) {
      std::printf("%sstep %d loss %.9g\n", terminal ? "\r\033[K" : "", step, loss.item<float>());
    }
    if (checkpoint && (step % every == 0 || step == o.steps)) checkpoint->save();
    flush_output();
  }
  if (!o.save.empty()) K::save_weights(o.save, model.weights);
  report(model, held_out, o.numbers);
}

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Trains a network to read numbers of several digits", "digits_ctc");
  set_help_format(app);
  app.add_option("--backend", o.backend, "name or absolute path of a backend")->type_name("NAME");
  app.add_option("--data", o.data,
                 "CSV of digits, gzipped or plain [default: the file of tools/digits]")
      ->type_name("FILE");
  app.add_option("--steps", o.steps, "training steps")->check(in_range(0, INT_MAX))->type_name("N");
  app.add_option("--batch", o.batch, "numbers per batch")
      ->check(in_range(1, INT_MAX))
      ->type_name("N");
  app.add_option("--units", o.units, "units per LSTM")->check(in_range(1, INT_MAX))->type_name("N");
  app.add_option("--numbers", o.numbers, "held-out numbers to read after training")
      ->check(in_range(1, INT_MAX))
      ->type_name("N");
  app.add_option("--seed", o.seed, "seed of weights and batches")->type_name("N");
  app.add_option("--save", o.save, "write the weights to FILE (safetensors)")->type_name("FILE");
  app.add_option("--load", o.load, "start from the weights in FILE, with a new optimiser")
      ->type_name("FILE");
  app.add_option("--checkpoint", o.checkpoint,
                 "resume the training in FILE, with the same other options; saved as it goes on")
      ->type_name("FILE");
  app.footer("Example:\n  digits_ctc --steps 200 --units 32");
  return run_program(app, argc, argv, [&] { run(o); });
}
