// One row for each construct, alone and as a step of training, side by side and one after another.
#include "tests/backends/compile_work/repeating_programs.h"

using namespace kiln;

namespace compile_work_test {
namespace {

Tensor input(const Shape& shape) { return placeholder({.shape = shape, .name = "x"}); }

Tensor weight(const std::vector<std::int64_t>& shape) {
  return variable(Array::full(shape, 0.5), {.name = "w"});
}

Tensor added(const Tensor& sum, const Tensor& term, int i) { return i == 0 ? term : sum + term; }

// ---- elementwise, matmuls ----

Program elementwise(int count) {
  const Tensor x = input({4, 8});
  Tensor y = x;
  for (int i = 0; i < count; ++i) y = i % 2 == 0 ? sin(y) * x : tanh(y);
  return {{x}, {y}};
}

Program elementwise_trained(int count) {
  const Tensor x = input({4, 8}), w = weight({4, 8});
  Tensor y = x;
  for (int i = 0; i < count; ++i) y = tanh(y * w);
  return {{x}, {y}, {w}};
}

Program one_tensor_used(int count) {
  const Tensor x = input({4, 8}), used = tanh(x);
  Program program{{x}, {}};
  for (int i = 0; i < count; ++i) program.outputs.push_back(used * static_cast<double>(i));
  return program;
}

Program layers(int count) {
  const Tensor x = input({4, 8});
  Program program{{x}, {x}};
  for (int i = 0; i < count; ++i) {
    program.weights.push_back(weight({8, 8}));
    program.outputs[0] = relu(dot(program.outputs[0], program.weights.back()) + 1.0);
  }
  return program;
}

Program layers_side_by_side(int count) {
  const Tensor x = input({4, 8});
  Program program{{x}, {x}};
  for (int i = 0; i < count; ++i) {
    program.weights.push_back(weight({8, 8}));
    const Tensor layer = tanh(dot(x, program.weights.back()));
    program.outputs[0] = added(program.outputs[0], layer, i);
  }
  return program;
}

/// An unrolled cell whose gates are slices of one weight.
Program sliced_gates(int count) {
  const Tensor x = input({2, 4}), w = weight({4, 8});
  Tensor h = x;
  for (int i = 0; i < count; ++i) {
    const Tensor a = dot(h, slice(w, {0, 0}, {4, 4})), b = dot(h, slice(w, {0, 4}, {4, 4}));
    h = tanh(a) * sigmoid(b) + x;
  }
  return {{x}, {h}, {w}};
}

Program convolutions(int count) {
  const Tensor x = input({1, 8, 8, 3});
  Program program{{x}, {x}};
  for (int i = 0; i < count; ++i) {
    program.weights.push_back(weight({3, 3, 3, 3}));
    const Tensor& w = program.weights.back();
    program.outputs[0] = relu(conv2d(program.outputs[0], w, {.padding = "same"}));
  }
  return program;
}

// ---- slices, concatenations, transpositions, rows ----

Program slices(int count) {
  const Tensor x = input({1024, 8}), w = weight({1024, 8}), z = x * w;
  Tensor y;
  for (int i = 0; i < count; ++i) y = added(y, tanh(z.slice(i, i + 3)), i);
  return {{x}, {y}, {w}};
}

Program slices_of_slices(int count) {
  const Tensor x = input({1024, 8});
  Tensor y = x;
  for (int i = 0; i < count; ++i) y = y.slice(1, {});
  return {{x}, {y}};
}

Program slices_as_outputs(int count) {
  const Tensor x = input({1024, 8});
  Program program{{x}, {}};
  for (int i = 0; i < count; ++i) program.outputs.push_back(x.slice(i, i + 3));
  return program;
}

Program one_concatenation(int count) {
  const Tensor x = input({4, 8}), w = weight({4, 8});
  std::vector<Tensor> parts;
  for (int i = 0; i < count; ++i) parts.push_back(tanh(x * w * static_cast<double>(i + 1)));
  return {{x}, {concatenate(parts, {.axis = 0})}, {w}};
}

Program concatenations(int count) {
  const Tensor x = input({4, 8});
  Tensor y = x;
  for (int i = 0; i < count; ++i) {
    y = concatenate({tanh(y).slice(0, 2), sin(y).slice(2, 4)}, {.axis = 0});
  }
  return {{x}, {y}};
}

Program growing_concatenation(int count) {
  const Tensor x = input({1, 8});
  Tensor y = x;
  for (int i = 0; i < count; ++i) {
    y = concatenate({y, x * static_cast<double>(i)}, {.axis = 0});
  }
  return {{x}, {y}};
}

Program transpositions(int count) {
  const Tensor x = input({4, 4});
  Tensor y = x;
  for (int i = 0; i < count; ++i) y = tanh(transpose(y)) + y;
  return {{x}, {y}};
}

Program gathered_rows(int count) {
  const Tensor w = weight({100, 8});
  const Tensor x = placeholder({.shape = {4}, .dtype = "int32", .name = "x"});
  Tensor y;
  for (int i = 0; i < count; ++i) y = added(y, gather(w, x + i), i);
  return {{x}, {y}, {w}};
}

// ---- reductions, updates, random draws ----

Program reductions(int count) {
  const Tensor x = input({4, 8});
  Program program{{x}, {}};
  for (int i = 0; i < count; ++i) {
    program.outputs.push_back(sum(x * static_cast<double>(i + 1), {.axis = {1}}));
  }
  return program;
}

Program reductions_one_after_another(int count) {
  const Tensor x = input({4, 8});
  Tensor y = x;
  for (int i = 0; i < count; ++i) y = y - sum(y, {.axis = {1}, .keepdims = true});
  return {{x}, {y}};
}

Program softmaxes(int count) {
  const Tensor x = input({4, 8}), w = weight({4, 8});
  Tensor y = x * w;
  for (int i = 0; i < count; ++i) y = softmax(y);
  return {{x}, {y}, {w}};
}

Program updates(int count) {
  const Tensor x = input({4, 8});
  Program program{{x}, {x * 1.5}};
  for (int i = 0; i < count; ++i) {
    const Variable state = variable(Array::full({4, 8}, 0.5), {.name = "state"});
    program.updates.push_back(update_add(state, x * static_cast<double>(i)));
  }
  return program;
}

Program dropouts(int count) {
  const Tensor x = input({4, 8});
  Tensor y = x;
  for (int i = 0; i < count; ++i) y = dropout(y, 0.5) + 1.0;
  return {{x}, {y}};
}

// ---- loops ----

Tensor loop(const Tensor& x, Program& program) {
  const Tensor w = weight({4, 4}), u = weight({4, 4});
  program.weights.insert(program.weights.end(), {w, u});
  const auto step = [&](const Tensor& in, const std::vector<Tensor>& state) -> StepResult {
    const Tensor h = tanh(dot(in, w) + dot(state[0], u));
    return {h, {h}};
  };
  return rnn(step, x, {zeros({2, 4})}).outputs;
}

Program loops_on_one_input(int count) {
  const Tensor x = input({2, 5, 4});
  Program program{{x}, {x}};
  for (int i = 0; i < count; ++i) {
    program.outputs[0] = added(program.outputs[0], loop(x, program), i);
  }
  return program;
}

Program loops_one_after_another(int count) {
  const Tensor x = input({2, 5, 4});
  Program program{{x}, {x}};
  for (int i = 0; i < count; ++i) program.outputs[0] = loop(program.outputs[0], program);
  return program;
}

Program loops_of_unknown_length(int count) {
  const Tensor x = input({2, None, 4});
  Program program{{x}, {x}};
  for (int i = 0; i < count; ++i) program.outputs[0] = loop(program.outputs[0], program);
  return program;
}

/// Each loop captures the result of the one before.
Program loops_that_capture(int count) {
  const Tensor x = input({2, 5, 4}), w = weight({4, 4});
  Tensor captured = weight({2, 4});
  for (int i = 0; i < count; ++i) {
    const auto step = [&](const Tensor& in, const std::vector<Tensor>& state) -> StepResult {
      const Tensor h = tanh(dot(in, w) + state[0] * captured);
      return {h, {h}};
    };
    captured = rnn(step, x, {zeros({2, 4})}).last_output;
  }
  return {{x}, {captured}};
}

Program maps_of_one_input(int count) {
  const Tensor x = input({5, 4});
  Program program{{x}, {}};
  for (int i = 0; i < count; ++i) {
    const auto scaled = [&](const Tensor& row) { return tanh(row * static_cast<double>(i + 1)); };
    program.outputs.push_back(map_fn(scaled, x));
  }
  return program;
}

Program nested_loops(int count) {
  const Tensor x = input({2, 5, 4});
  Program program{{x}, {}};
  for (int i = 0; i < count; ++i) {
    const auto scaled = [&](const Tensor& row) { return tanh(row * static_cast<double>(i)); };
    program.outputs.push_back(map_fn([&](const Tensor& rows) { return map_fn(scaled, rows); }, x));
  }
  return program;
}

/// One loop over a deep body, whose gates share operands.
Program loop_of_many_gates(int count) {
  const Tensor x = input({2, 5, 4});
  Program program{{x}, {}};
  for (int i = 0; i < 4 * count; ++i) program.weights.push_back(weight({4, 4}));
  const std::vector<Tensor>& w = program.weights;
  const auto step = [&](const Tensor& in, const std::vector<Tensor>& state) -> StepResult {
    Tensor h = in;
    std::vector<Tensor> next;
    for (std::size_t i = 0; i < state.size(); i += 2) {
      const Tensor gate = sigmoid(dot(h, w[2 * i]) + dot(state[i], w[2 * i + 1]));
      const Tensor fresh = tanh(dot(h, w[2 * i + 2]) + dot(state[i], w[2 * i + 3]));
      const Tensor c = gate * state[i + 1] + fresh;
      h = tanh(c) * gate;
      next.insert(next.end(), {h, c});
    }
    return {h, next};
  };
  const std::vector<Tensor> states(static_cast<std::size_t>(2 * count), zeros({2, 4}));
  program.outputs.push_back(rnn(step, x, states).outputs);
  return program;
}

/// One loop with many states, none of which reads another.
Program loop_of_many_states(int count) {
  const Tensor x = input({2, 5, 4});
  Program program{{x}, {}};
  for (int i = 0; i < count; ++i) program.weights.push_back(weight({2, 4}));
  const std::vector<Tensor>& w = program.weights;
  const auto step = [&](const Tensor& in, const std::vector<Tensor>& state) -> StepResult {
    std::vector<Tensor> next;
    Tensor sum = in;
    for (std::size_t i = 0; i < state.size(); ++i) {
      next.push_back(tanh(in + state[i] * w[i]));
      sum = sum + next.back();
    }
    return {sum, next};
  };
  const std::vector<Tensor> states(static_cast<std::size_t>(count), zeros({2, 4}));
  program.outputs.push_back(rnn(step, x, states).outputs);
  return program;
}

/// A layer of two gates, whose matmuls merge in the loop and in its gradient.
Tensor loop_of_gates(const Tensor& x, Program& program) {
  std::vector<Tensor> w;
  for (int i = 0; i < 4; ++i) w.push_back(weight({4, 4}));
  program.weights.insert(program.weights.end(), w.begin(), w.end());
  const auto step = [&](const Tensor& in, const std::vector<Tensor>& state) -> StepResult {
    const Tensor gate = sigmoid(dot(in, w[0]) + dot(state[0], w[1]));
    const Tensor h = gate * tanh(dot(in, w[2]) + dot(state[0], w[3])) + state[0];
    return {h, {h}};
  };
  return rnn(step, x, {zeros({2, 4})}).outputs;
}

Program loops_of_gates(int count) {
  const Tensor x = input({2, 5, 4});
  Program program{{x}, {x}};
  for (int i = 0; i < count; ++i) program.outputs[0] = loop_of_gates(program.outputs[0], program);
  return program;
}

/// Loops one after another that all count their steps, so that they have an equal state.
Program loops_that_count(int count) {
  const Tensor x = input({2, 5, 4});
  Program program{{x}, {x}};
  for (int i = 0; i < count; ++i) {
    const auto step = [&](const Tensor& in, const std::vector<Tensor>& state) -> StepResult {
      const Tensor h = tanh(in + state[0] * state[1]);
      return {h, {h, state[1] + 1.0}};
    };
    program.outputs[0] = rnn(step, program.outputs[0], {zeros({2, 4}), zeros({2, 4})}).outputs;
  }
  return program;
}

// ---- unknown sizes ----

/// Each sum demands that two sizes are equal.
Program unknown_sizes(int count) {
  Program program;
  for (int i = 0; i < count; ++i) {
    const Tensor x = input({None, 4}), y = input({None, 4});
    program.inputs.insert(program.inputs.end(), {x, y});
    program.outputs.push_back(tanh(x + y));
  }
  return program;
}

// ---- branches ----

Program branches(int count) {
  const Tensor x = input({4, 8}), w = weight({4, 8});
  Tensor y = x * w;
  for (int i = 0; i < count; ++i) {
    const Tensor z = y;
    y = switch_(max(z) > static_cast<double>(i), [&] { return tanh(z); }, [&] { return z * w; });
  }
  return {{x}, {y}, {w}};
}

Program branches_side_by_side(int count) {
  const Tensor x = input({4, 8});
  Program program{{x}, {}};
  for (int i = 0; i < count; ++i) {
    const auto scaled = [&] { return x * static_cast<double>(i); };
    program.outputs.push_back(
        switch_(max(x) > static_cast<double>(i), [&] { return tanh(x); }, scaled));
  }
  return program;
}

}  // namespace

const std::vector<RepeatingProgram>& repeating_programs() {
  static const std::vector<RepeatingProgram> all{
      {"elementwise", elementwise},
      {"elementwise, trained", elementwise_trained},
      {"one tensor used", one_tensor_used},
      {"layers", layers},
      {"layers side by side", layers_side_by_side},
      {"sliced gates", sliced_gates},
      {"convolutions", convolutions},
      {"slices", slices},
      {"slices of slices", slices_of_slices},
      {"slices as outputs", slices_as_outputs},
      {"one concatenation", one_concatenation},
      {"concatenations", concatenations},
      {"growing concatenation", growing_concatenation},
      {"transpositions", transpositions},
      {"gathered rows", gathered_rows},
      {"reductions", reductions},
      {"reductions one after another", reductions_one_after_another},
      {"softmaxes", softmaxes},
      {"updates", updates},
      {"dropouts", dropouts},
      {"loops on one input", loops_on_one_input},
      {"loops one after another", loops_one_after_another},
      {"loops of unknown length", loops_of_unknown_length},
      {"loops that capture", loops_that_capture},
      {"maps of one input", maps_of_one_input},
      {"nested loops", nested_loops},
      {"loop of many gates", loop_of_many_gates},
      {"loop of many states", loop_of_many_states},
      {"loops of gates", loops_of_gates},
      {"loops that count", loops_that_count},
      {"unknown sizes", unknown_sizes},
      {"branches", branches},
      {"branches side by side", branches_side_by_side},
  };
  return all;
}

}  // namespace compile_work_test
