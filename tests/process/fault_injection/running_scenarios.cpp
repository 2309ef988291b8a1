// Scenarios that compile and call: values, dumps and weights, on either backend.
#include "tests/process/fault_injection/scenario.h"
#include "test_folders.h"

#include <unistd.h>

#include <sstream>

using namespace kiln;

namespace fault_injection {
namespace {

/// A training step of one layer: returns its loss and updates its weight.
struct Model {
  explicit Model(const Setup& setup)
      : x(placeholder({.shape = {None, 3}, .name = "x"})),
        w(variable(Array::full({3, 4}, 0.25), {.name = "w"})),
        loss(mean(square(tanh(dot(x, w) + 1.0)))),
        change(update_sub(w, gradients(loss, {w})[0] * 0.5)),
        backend(setup.backend) {}
  Function compile(FunctionOptions options = {}) const {
    options.updates = {change};
    options.name = "step";
    options.backend = backend;
    return function({x}, {loss}, options);
  }

  Tensor x;
  Variable w;
  Tensor loss;
  UpdateOp change;
  std::string backend;
};

const Array& rows(std::int64_t count) {
  static const Array two = Array::full({2, 3}, 0.5), seven = Array::full({7, 3}, 0.25);
  return count == 2 ? two : seven;
}

std::string name_of(const Function& f) { return f.name() + " on " + f.backend(); }

Prepared compiled(const Setup& setup) {
  const Model model(setup);
  return {[model] { return Values{.text = name_of(model.compile())}; }, {model.w}};
}
Prepared compiled_and_called(const Setup& setup) {
  const Model model(setup);
  return {[model] { return Values{model.compile()({rows(2)})}; }, {model.w}};
}
Prepared called_first(const Setup& setup) {
  const Model model(setup);
  const Function f = model.compile();
  return {[model, f] { return Values{f({rows(2)})}; }, {model.w}};
}
Prepared called_again(const Setup& setup) {
  const Model model(setup);
  const Function f = model.compile();
  f({rows(2)});
  f({rows(2)});
  return {[model, f] { return Values{f({rows(2)})}; }, {model.w}};
}
Prepared called_with_other_sizes(const Setup& setup) {
  const Model model(setup);
  const Function f = model.compile();
  f({rows(2)});
  return {[model, f] { return Values{f({rows(7)})}; }, {model.w}};
}
Prepared called_with_a_wrong_shape(const Setup& setup) {
  const Model model(setup);
  const Function f = model.compile();
  return {[f] {
            try {
              f({Array::zeros({2, 2})});
            } catch (const ValueError& error) {
              return Values{.text = error.argument()};
            }
            return Values{};
          },
          {model.w}};
}

/// A function of one input, compiled and called.
Scenario of_one_input(const char* name, const Shape& shape, const Array& fed,
                      Tensor (*build)(const Tensor&)) {
  return {name, [=](const Setup& setup) {
            const Tensor x = placeholder({.shape = shape, .name = "x"});
            const Tensor y = build(x);
            return Prepared{[x, y, fed, backend = setup.backend] {
              set_random_seed(5);  // draws depend on the number of the call
              return Values{function({x}, {y}, {.backend = backend})({fed})};
            }};
          }};
}
Tensor convolved(const Tensor& x) {
  return pool2d(conv2d(x, ones({2, 2, 1, 2}), {.padding = "same"}), 2, {.strides = 2});
}
Tensor looped(const Tensor& x) {
  const auto step = [](const Tensor& in, const std::vector<Tensor>& states) {
    const Tensor next = tanh(in + states[0] * 0.5);
    return StepResult{next, {next}};
  };
  return rnn(step, x, {zeros_like(sum(x, {.axis = 1}))}).last_output;
}
Tensor chosen(const Tensor& x) {
  return switch_(sum(x) > 0.0, [&] { return exp(x); }, [&] { return x * 2.0; });
}
Tensor decoded(const Tensor& x) {
  return cast(ctc_decode(softmax(x), constant({4}, {.dtype = "int32"})).decoded[0], "float32");
}
Tensor drawn(const Tensor& x) {
  return x + random_uniform({2, 3}, {.seed = 7}) + random_normal({2, 3}, {.seed = 8});
}

Prepared evaluated(const Setup& setup) {
  set_backend(setup.backend);
  const Tensor y = exp(constant({1., 2., 3.})) + 1.0;
  return {[y] { return Values{{eval(y)}}; }};
}
Prepared variable_made(const Setup& setup) {
  set_backend(setup.backend);
  return {[] {
    const Variable v = random_normal_variable({3, 2}, 0, 1, {.name = "v", .seed = 3});
    return Values{{get_value(v)}};
  }};
}
Prepared values_set(const Setup& setup) {
  const Model model(setup);
  const Variable b = variable(Array::full({4}, 1.0), {.name = "b"});
  const std::vector<std::pair<Tensor, Array>> values{{model.w, Array::full({3, 4}, 2.0)},
                                                     {b, Array::full({4}, 3.0)}};
  const std::vector<Tensor> variables{model.w, b};
  return {[variables, values] {
            batch_set_value(values);
            return Values{.text = "set"};
          },
          variables};
}
Prepared values_read(const Setup& setup) {
  const Model model(setup);
  model.compile()({rows(2)});
  const std::vector<Tensor> variables{model.w};
  return {[variables] { return Values{batch_get_value(variables)}; }, variables};
}
Prepared arrays_changed(const Setup&) {
  return {[] {
    const Array a = rows(2).astype(DType::Int32), b = rows(7).reshape({3, 7});
    std::ostringstream text;
    text.exceptions(std::ios::badbit);
    text << a << b;
    return Values{{a, b}, text.str()};
  }};
}

Prepared dumped(const Setup& setup) {
  const Model model(setup);
  const Function f = model.compile();
  f({rows(2)});
  return {[f, folder = setup.folder] {
            f.dump(folder + "/dump", Stage::Graph | Stage::Module | Stage::Plan);
            return Values{.text = "dumped"};
          },
          {model.w}};
}
Prepared dumped_while_compiled(const Setup& setup) {
  const Model model(setup);
  return {[model, folder = setup.folder] {
            const Function f = model.compile(
                {.dump = folder + "/dump", .dump_stages = Stage::Graph | Stage::Passes});
            return Values{.text = name_of(f)};
          },
          {model.w}};
}

/// Saves a variable to a file of that name, whose extension chooses the format.
Scenario saving(const char* name, const char* file) {
  return {name, [=](const Setup& setup) {
            const Model model(setup);
            return Prepared{[model, path = setup.folder + "/" + file] {
                              save_weights(path, {model.w});
                              return Values{.text = "saved"};
                            },
                            {model.w}};
          }};
}
/// Loads a variable from such a file.
Scenario loading(const char* name, const char* file) {
  return {name, [=](const Setup& setup) {
            const Model model(setup);
            const std::string path = setup.folder + "/" + file;
            save_weights(path, {model.w});
            set_value(model.w, Array::full({3, 4}, 9.0));
            return Prepared{[model, path] {
                              load_weights(path, {model.w});
                              return Values{.text = "loaded"};
                            },
                            {model.w}};
          }};
}
Prepared model_saved(const Setup& setup) {
  const Model model(setup);
  return {[model, path = setup.folder + "/step.kiln"] {
            save_model(path, {model.x}, {model.loss}, {.updates = {model.change}});
            return Values{.text = "saved"};
          },
          {model.w}};
}
Prepared model_loaded(const Setup& setup) {
  const Model model(setup);
  const std::string path = setup.folder + "/step.kiln";
  save_model(path, {model.x}, {model.loss}, {.updates = {model.change}});
  return {[path] { return Values{{get_value(load_model(path).variables[0])}, "loaded"}; },
          {model.w}};
}
Prepared network_imported(const Setup& setup) {
  const Model model(setup);
  return {[] {
            const auto network = import_onnx(KILN_SOURCE_DIR "/tests/whole/pages/net.onnx");
            return Values{{get_value(network.variables[0])}, network.outputs[0].name()};
          },
          {model.w}};
}
Prepared loaded_what_does_not_match(const Setup& setup) {
  const Model model(setup);
  const std::string path = "weights-" + std::to_string(::getpid());
  const std::string in_folder = setup.folder + "/" + path;
  save_weights(in_folder, {model.w});
  const Variable other = variable(Array::zeros({2}), {.name = "v"});
  return {[other, in_folder] {
            try {
              load_weights(in_folder, {other});
            } catch (const ValueError& error) {
              return Values{.text = error.function()};
            }
            return Values{};
          },
          {other}};
}

}  // namespace

const std::vector<Scenario>& running_scenarios() {
  static const std::vector<Scenario> scenarios{
      {"compile a training step", compiled},
      {"compile and call a training step", compiled_and_called},
      {"call a first time", called_first},
      {"call again", called_again},
      {"call with other sizes", called_with_other_sizes},
      {"call with a wrong shape", called_with_a_wrong_shape},
      of_one_input("compile and call a convolution", {None, 4, 4, 1}, Array::full({1, 4, 4, 1}, 1),
                   convolved),
      of_one_input("compile and call a loop", {None, 5, 3}, Array::full({2, 5, 3}, 0.5), looped),
      of_one_input("compile and call a branch", {None, 3}, Array::full({2, 3}, 0.5), chosen),
      of_one_input("compile and call a search", {1, 4, 3}, Array::full({1, 4, 3}, 0.5), decoded),
      of_one_input("compile and call draws", {2, 3}, Array::full({2, 3}, 0.5), drawn),
      {"eval", evaluated},
      {"make a variable", variable_made},
      {"set values", values_set},
      {"read values", values_read},
      {"cast, reshape and print arrays", arrays_changed},
      {"dump", dumped},
      {"dump while compiling", dumped_while_compiled},
      saving("save", "weights"),
      loading("load", "weights"),
      saving("save a NumPy archive", "weights.npz"),
      loading("load a NumPy archive", "weights.npz"),
      {"save a model", model_saved},
      {"load a model", model_loaded},
      {"import a network", network_imported},
      {"load what does not match", loaded_what_does_not_match},
  };
  return scenarios;
}

}  // namespace fault_injection
