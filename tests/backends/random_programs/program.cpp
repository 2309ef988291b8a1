// Draws inputs and steps of random programs.
#include "tests/backends/random_programs/program.h"

#include <cmath>

namespace kiln::testing {

namespace {

constexpr double kLargest = 20;
constexpr std::int64_t kSizes[] = {1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33};

std::int64_t elements(const std::vector<std::int64_t>& dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  return count;
}

std::vector<std::int64_t> draw_dims(Draw& draw) {
  std::vector<std::int64_t> dims(static_cast<std::size_t>(draw.below(4)));
  for (std::int64_t& dim : dims) {
    dim = draw.chance(4) ? 0 : kSizes[draw.below(std::size(kSizes))];
  }
  return dims;
}

}  // namespace

std::int64_t Growing::pick() const {
  const auto count = static_cast<std::int64_t>(values.size());
  // Prefers late values, so that programs become deep, not only wide.
  return std::max(draw.below(count), draw.below(count));
}

const Value* Growing::of_rank(std::size_t rank) const {
  for (int tries = 0; tries < 8; ++tries) {
    const Value& value = any();
    if (value.dims.size() >= rank) return &value;
  }
  return nullptr;
}

Tensor Growing::placeholder_of(const std::vector<std::int64_t>& dims, DType of) {
  std::vector<ShapeEntry> shape;
  for (const std::int64_t dim : dims) {
    // A size of 1, which may broadcast, is known: an unknown size must equal its counterpart.
    const bool hidden = dim != 1 && draw.chance(40);
    shape.push_back(hidden ? ShapeEntry(None) : ShapeEntry(dim));
  }
  const std::string name = "x" + std::to_string(program.inputs.size());
  Tensor tensor = placeholder({.shape = Shape(shape), .dtype = of, .name = name});
  program.inputs.push_back(tensor);
  return tensor;
}

void Growing::feed(const Array& array, bool is_exact) {
  program.feeds.push_back(array);
  program.is_exact.push_back(is_exact);
}

Value Growing::input(const std::vector<std::int64_t>& dims) {
  std::vector<float> numbers(static_cast<std::size_t>(elements(dims)));
  for (float& number : numbers) number = static_cast<float>(draw.between(-2, 2));
  const Array array = Array(numbers, dims).astype(dtype);
  if (draw.chance(25)) {
    program.starts.push_back(array);
    program.variables.push_back(variable(array, {.dtype = dtype}));
    values.push_back({program.variables.back(), dims, 2});
    return values.back();
  }
  values.push_back({placeholder_of(dims, dtype), dims, 2});
  feed(array, false);
  return values.back();
}

Tensor Growing::exact(const std::vector<std::int64_t>& dims, DType of) {
  constexpr std::int64_t kNumbers[] = {0,
                                       1,
                                       2,
                                       7,
                                       100,
                                       127,
                                       128,
                                       200,
                                       255,
                                       256,
                                       300,
                                       2047,
                                       32767,
                                       32768,
                                       65535,
                                       65536,
                                       -1,
                                       -5,
                                       -128,
                                       -129,
                                       -200,
                                       -300,
                                       -32769,
                                       1 << 24,
                                       std::int64_t{1} << 31,
                                       -(std::int64_t{1} << 40)};
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(elements(dims)));
  for (auto& number : numbers) number = kNumbers[draw.below(std::size(kNumbers))];
  const Tensor tensor = placeholder_of(dims, of);
  feed(Array(numbers, dims).astype(of), true);
  return tensor;
}

Tensor Growing::indices(const std::vector<std::int64_t>& dims, std::int64_t limit) {
  const Tensor tensor = placeholder_of(dims, DType::Int32);
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(elements(dims)));
  for (auto& number : numbers) number = static_cast<std::int32_t>(draw.below(limit));
  feed(Array(numbers, dims), true);
  return tensor;
}

Tensor Growing::number(std::int64_t number) {
  const Tensor tensor = placeholder_of({}, DType::Int32);
  feed(Array(static_cast<std::int32_t>(number)), true);
  return tensor;
}

void Growing::update_variables() {
  for (std::size_t i = 0; i < program.variables.size(); ++i) {
    const Tensor& old = program.variables[i];
    std::vector<const Value*> fitting;
    for (const Value& value : values) {
      if (value.dims == program.starts[i].dims()) fitting.push_back(&value);
    }
    const Value& chosen =
        *fitting[static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(fitting.size())))];
    // The value as it is, which may be another variable or an input; mixed with the old one; added.
    switch (draw.below(4)) {
      case 0: program.updates.push_back(update(old, chosen.tensor)); break;
      case 1: program.updates.push_back(update(old, tanh(chosen.tensor) - old * 0.5)); break;
      case 2: program.updates.push_back(update_sub(old, chosen.tensor * 0.125)); break;
      default: break;
    }
  }
}

void Growing::add(Tensor tensor, std::vector<std::int64_t> dims, double bound) {
  if (bound > kLargest) {
    tensor = tensor * (1 / bound);
    bound = 1;
  }
  values.push_back({std::move(tensor), std::move(dims), bound});
}

std::vector<Tensor> Program::differentiable() const {
  std::vector<Tensor> found;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_exact[i]) found.push_back(inputs[i]);
  }
  found.insert(found.end(), variables.begin(), variables.end());
  return found;
}

namespace {

const Step& any_step(Draw& draw) {
  const auto& all = steps();
  return all[static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(all.size())))];
}

/// Adds inputs, then at most `most_steps` steps.
void grow(Growing& growing, std::int64_t most_steps) {
  const std::int64_t inputs = 1 + growing.draw.below(3);
  for (std::int64_t i = 0; i < inputs; ++i) growing.input(draw_dims(growing.draw));
  const std::int64_t count = 3 + growing.draw.below(most_steps - 2);
  // Every third program prefers one kind of step, and so contains many forms of it.
  const Step& favourite = any_step(growing.draw);
  const int percent = growing.draw.chance(33) ? 60 : 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const Step& step = growing.draw.chance(percent) ? favourite : any_step(growing.draw);
    if (!step.take(growing)) continue;
    growing.program.text += std::string(growing.program.text.empty() ? "" : ", ") + step.name;
  }
}

void choose_outputs(Growing& growing) {
  Program& program = growing.program;
  for (int i = 0; i < 3; ++i) program.outputs.push_back(growing.any().tensor);
  program.outputs.push_back(growing.values.back().tensor);
  program.loss = 0.0 * sum(growing.values[0].tensor);
  for (std::size_t i = program.outputs.size(); i-- > 0;) {
    const Tensor& output = program.outputs[i];
    program.loss = program.loss + sum(sin(output * (0.7 + 0.1 * static_cast<double>(i)) + 0.3));
  }
}

}  // namespace

Program random_program(std::uint64_t seed) {
  Growing growing(seed, DType::Float32);
  grow(growing, 27);
  growing.update_variables();
  choose_outputs(growing);
  Program& program = growing.program;
  if (!growing.draw.chance(50)) return program;
  program.text += ", gradients";
  const std::vector<Tensor> floats = program.differentiable();
  Tensor slopes = program.loss * 0.0;
  for (const Tensor& gradient : gradients(program.loss, floats)) {
    if (gradient.empty()) continue;
    program.outputs.push_back(gradient);
    slopes = slopes + sum(sin(gradient));
  }
  if (!growing.draw.chance(15)) return program;
  program.text += " twice";
  for (const Tensor& gradient : gradients(slopes, floats)) {
    if (!gradient.empty()) program.outputs.push_back(gradient);
  }
  return program;
}

Program random_loss(std::uint64_t seed) {
  Growing growing(seed, DType::Float64);
  grow(growing, 12);
  choose_outputs(growing);
  return growing.program;
}

std::vector<Array> moved_in_the_last_bits(const Program& program, std::uint64_t seed) {
  Draw draw(seed);
  std::vector<Array> moved = program.feeds;
  for (std::size_t i = 0; i < moved.size(); ++i) {
    if (program.is_exact[i]) continue;
    for (float& number : moved[i].as<float>()) {
      number *= draw.chance(50) ? 1 + 2e-7f : 1 - 2e-7f;
    }
  }
  return moved;
}

}  // namespace kiln::testing
