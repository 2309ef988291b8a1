// Trains an LSTM that continues text, character by character: the model is CharRnn below. text.h
// reads text, curve.h draws the loss.
#include "curve.h"
#include "program.h"
#include "text.h"

#include <kiln/train.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>

namespace K = kiln;
namespace D = kiln::distributed;
namespace L = kiln::layers;
using K::Array, K::Tensor;

struct Options {
  std::string backend, text, save, load, checkpoint;
  int steps = 1000, hidden = 256, batch = 32, time = 64, seed = 1, shards = 0;
};

struct CharRnn {
  std::vector<Tensor> weights;
  K::optimizers::Optimizer adam = K::optimizers::Adam({.learning_rate = 0.005, .epsilon = 1e-8});
  K::Function train, evaluate, next;

  CharRnn(std::int64_t characters, std::int64_t hidden, std::int64_t shards) {
    const auto x = K::placeholder({.shape = {K::None, K::None}, .dtype = "int32", .name = "x"});
    const auto y = K::placeholder({.shape = {K::None, K::None}, .dtype = "int32", .name = "y"});
    const auto h = K::placeholder({.shape = {K::None, hidden}, .name = "h"});
    const auto c = K::placeholder({.shape = {K::None, hidden}, .name = "c"});
    const L::Embedding embedding(characters, hidden);
    const L::LSTM lstm(hidden, {.return_sequences = true});
    const L::Dense out(characters);
    const L::RecurrentOutput run = lstm(embedding(x), {.initial_state = {h, c}});
    const Tensor logits = out(run);
    const Tensor loss =
        K::mean(K::sparse_categorical_crossentropy(y, logits, {.from_logits = true}));

    weights = L::weights({embedding, lstm, out});
    const Averaging how(shards, {x, y, h, c});
    const std::vector<Tensor> gradients = how.gradients(loss, weights);
    const Tensor mean = how.mean(loss);
    train = K::function({x, y, h, c}, {mean},
                        {.updates = adam.updates(gradients, weights), .name = "train"});
    evaluate = K::function({x, y, h, c}, {loss}, {.name = "evaluate"});
    next = K::function({x, h, c}, {K::softmax(logits), run.states[0], run.states[1]},
                       {.name = "next"});
  }
};

Array no_state(std::int64_t rows, const Options& o) { return Array::zeros({rows, o.hidden}); }

double held_out_loss(const CharRnn& model, const Text& text, const Options& o) {
  const auto time =
      std::min<std::size_t>(static_cast<std::size_t>(o.time), text.held_out.size() - 1);
  double sum = 0, rows = 0;
  for (std::size_t at = 0; at + time < text.held_out.size();) {
    std::vector<std::size_t> starts;
    for (; starts.size() < 64 && at + time < text.held_out.size(); at += time) {
      starts.push_back(at);
    }
    const auto [x, y] = text.batch(text.held_out, starts, static_cast<std::int64_t>(time));
    const auto count = static_cast<std::int64_t>(starts.size());
    const Array loss = model.evaluate({x, y, no_state(count, o), no_state(count, o)})[0];
    sum += loss.item<float>() * static_cast<double>(count);
    rows += static_cast<double>(count);
  }
  return sum / rows;
}

std::string sample(const CharRnn& model, const Text& text, const Options& o, std::mt19937 random) {
  std::string out = "The ";
  if (out.find_first_not_of(text.alphabet) != std::string::npos) out = text.train.substr(0, 4);
  const std::size_t given = out.size();
  Array h = no_state(1, o), c = no_state(1, o);
  for (std::size_t i = 0; i < 160; ++i) {
    const Array x(std::vector<std::int32_t>{text.index(out[i])}, {1, 1});
    const auto result = model.next({x, h, c});
    h = result[1], c = result[2];
    if (i + 1 < given) continue;
    double left = random() * 0x1p-32;
    std::size_t pick = 0;
    const auto p = result[0].as<float>();
    while (pick + 1 < p.size() && (left -= p[pick]) > 0) ++pick;
    out += text.alphabet[pick];
  }
  return out;
}

void run(const Options& o) {
  const D::Session world = join_ranks();
  if (!o.backend.empty()) K::set_backend(o.backend);
  const K::BackendChoice choice = K::backend_choice();
  std::printf("backend %s (%s)\n", choice.name.c_str(), choice.reason.c_str());
  const Text text(o.text);
  std::printf("text: %zu characters to learn, %zu held out, %zu different\n", text.train.size(),
              text.held_out.size(), text.alphabet.size());
  if (text.train.size() <= static_cast<std::size_t>(o.time)) {
    throw K::ValueError("--text", "", "the text is shorter than --time");
  }
  K::set_random_seed(o.seed);
  CharRnn model(static_cast<std::int64_t>(text.alphabet.size()), o.hidden, o.shards);
  load_on_root(o.load, model.weights);
  if (world.is_root()) try_saving(o.save, model.weights);
  int step = 0, seed = o.seed;  // steps done; batches draw from the seed of the checkpoint
  const auto checkpoint =
      resume(o.checkpoint, {.variables = {model.weights, model.adam.variables()},
                            .numbers = {{"step", &step}, {"seed", &seed}}});
  Curve train{"training batch", "steelblue", {}}, held_out{"held out", "darkorange", {}, true};
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  const int every = o.steps <= 20 ? 1 : o.steps / 20;
  while (step < o.steps) {
    std::mt19937 random = random_of_step(seed, ++step);
    std::vector<std::size_t> starts(static_cast<std::size_t>(o.batch));
    for (auto& start : starts)
      start = random() % (text.train.size() - static_cast<std::size_t>(o.time));
    const auto [x, y] = text.batch(text.train, starts, o.time);
    const Array own_x = own_rows(x), zeros = no_state(own_x.dims()[0], o);
    const double loss = model.train({own_x, own_rows(y), zeros, zeros})[0].item<float>();
    train.points.push_back({static_cast<double>(step), loss});
    if (terminal) {
      std::printf("\r[%-40s] %d/%d  loss %.3f ",
                  std::string(static_cast<std::size_t>(40 * step / o.steps), '#').c_str(), step,
                  o.steps, loss);
    }
    if (step % every == 0) {
      std::printf("%sstep %d loss %.9g\n", terminal ? "\r\033[K" : "", step, loss);
    }
    if (checkpoint && (step % every == 0 || step == o.steps)) checkpoint->save();
    if (!world.is_root()) continue;
    if (step % every == 0 && step < o.steps && o.steps > 20) {
      held_out.points.push_back({static_cast<double>(step), held_out_loss(model, text, o)});
    }
    if (step % (every * 5) == 0 && o.steps > 20) {
      std::printf("  | %s\n", sample(model, text, o, random).c_str());
    }
    flush_output();
  }
  if (!world.is_root()) return;
  if (!o.save.empty()) K::save_weights(o.save, model.weights);
  const double final_loss = held_out_loss(model, text, o);
  if (!train.points.empty()) {
    held_out.points.push_back({static_cast<double>(o.steps), final_loss});
    const std::string title = "Character model: loss in nats per character";
    const std::string path = draw_curves({train, held_out}, title, "char_rnn_loss.svg");
    std::printf("loss curve: %s\n", path.c_str());
  }
  std::printf("sample: %s\n", sample(model, text, o, random_of_step(seed, 0)).c_str());
  std::printf("held-out loss %.4f nats/char\n", final_loss);
}

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Trains an LSTM that continues text, character by character", "char_rnn");
  set_help_format(app);
  app.add_option("--backend", o.backend, "name or absolute path of a backend")->type_name("NAME");
  app.add_option("--text", o.text, "training text [default: all of /usr/share/common-licenses]")
      ->type_name("FILE");
  app.add_option("--steps", o.steps, "training steps")->check(in_range(0, 1 << 24))->type_name("N");
  app.add_option("--hidden", o.hidden, "LSTM units")->check(in_range(1, 1 << 20))->type_name("N");
  app.add_option("--batch", o.batch, "sequences per batch")
      ->check(in_range(1, 1 << 20))
      ->type_name("N");
  app.add_option("--time", o.time, "characters per sequence")
      ->check(in_range(1, 1 << 20))
      ->type_name("N");
  app.add_option("--seed", o.seed, "seed of weights, batches and samples")->type_name("N");
  add_shards_option(app, o.shards);
  app.add_option("--save", o.save, "write the weights to FILE (safetensors)")->type_name("FILE");
  app.add_option("--load", o.load, "start from the weights in FILE, with a new optimiser")
      ->type_name("FILE");
  app.add_option("--checkpoint", o.checkpoint,
                 "resume the training in FILE, with the same other options; saved as it goes on")
      ->type_name("FILE");
  app.footer(
      "Examples:\n  char_rnn --hidden 32 --batch 8 --time 20\n  kiln launch -n 4 -- char_rnn");
  return run_program(app, argc, argv, [&] { run(o); });
}
