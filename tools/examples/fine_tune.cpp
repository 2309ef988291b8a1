// Trains the weights of an ONNX model on arrays of a file, to the mean squared error of its first
// output. The trained model is a .kiln file, which kiln run and K::load_model take.
#include "program.h"

#include <kiln/model.h>
#include <kiln/onnx.h>
#include <kiln/optimizers.h>

namespace K = kiln;
using K::Array;
using K::Tensor;

struct Options {
  std::string model, data, save, backend;
  int steps = 50;
  double learning_rate = 1e-4;
};

/// The array of the file `path` that is named `name`.
const Array& array_of(const std::map<std::string, Array>& arrays, const std::string& name,
                      const std::string& path) {
  const auto found = arrays.find(name);
  if (found != arrays.end()) return found->second;
  throw K::ValueError("--data", "", path + " has no array named '" + name + "'");
}

void run(const Options& o) {
  if (!o.backend.empty()) K::set_backend(o.backend);
  const K::Model model = K::import_onnx(o.model);
  const Tensor y = model.outputs[0];
  std::printf("%zu weights, output %s\n", model.trainable.size(), y.name().c_str());

  const std::vector<Tensor> weights(model.trainable.begin(), model.trainable.end());
  try_saving(o.save, weights);
  const auto data = K::load_arrays(o.data);
  std::vector<Array> fed;
  for (const Tensor& x : model.inputs) fed.push_back(array_of(data, x.name(), o.data));
  fed.push_back(array_of(data, y.name(), o.data));

  const Tensor target = K::placeholder({.shape = K::int_shape(y), .dtype = K::dtype(y)});
  const Tensor loss = K::mean(K::square(y - target));
  const auto adam = K::optimizers::Adam({.learning_rate = o.learning_rate});
  std::vector<Tensor> inputs = model.inputs;
  inputs.push_back(target);
  const K::Function step =
      K::function(inputs, {loss}, {.updates = adam.minimize(loss, weights), .name = "fine_tune"});
  for (int i = 1; i <= o.steps; ++i) {
    const double now = step(fed)[0].item<float>();
    const int every = std::max(1, o.steps / 10);
    if (i == 1 || i % every == 0) std::printf("step %d loss %.6g\n", i, now);
  }
  if (!o.save.empty()) K::save_model(o.save, model.inputs, model.outputs);
}

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Trains an ONNX model on inputs and its wanted first output, by their names",
               "fine_tune");
  set_help_format(app);
  app.add_option("MODEL", o.model, "ONNX file")->required()->type_name("FILE");
  app.add_option("--data", o.data, "arrays, such as an .npz file")->required()->type_name("FILE");
  app.add_option("--backend", o.backend, "name or absolute path of a backend")->type_name("NAME");
  app.add_option("--steps", o.steps, "training steps, each on all rows of the data")
      ->check(in_range(0, INT_MAX))
      ->type_name("N");
  app.add_option("--learning-rate", o.learning_rate, "learning rate of Adam")->type_name("X");
  app.add_option("--save", o.save, "write the trained model to FILE (.kiln)")->type_name("FILE");
  app.footer("Example:\n  fine_tune net.onnx --data data.npz --save net.kiln");
  return run_program(app, argc, argv, [&] { run(o); });
}
