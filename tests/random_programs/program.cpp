// Draws inputs and steps.
#include "tests/random_programs/program.h"

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
  // Late values are preferred: programs get deep, not only wide.
  return std::max(draw.below(count), draw.below(count));
}

const Value* Growing::of_rank(std::size_t rank) const {
  for (int tries = 0; tries < 8; ++tries) {
    const Value& value = any();
    if (value.dims.size() >= rank) return &value;
  }
  return nullptr;
}

Tensor Growing::placeholder_of(const std::vector<std::int64_t>& dims, DType dtype) {
  std::vector<ShapeEntry> shape;
  for (const std::int64_t dim : dims) {
    // A size that broadcasts is known: an unknown one stands for any other.
    const bool hidden = dim != 1 && draw.chance(40);
    shape.push_back(hidden ? ShapeEntry(None) : ShapeEntry(dim));
  }
  const std::string name = "x" + std::to_string(program.inputs.size());
  Tensor tensor = placeholder({.shape = Shape(shape), .dtype = dtype, .name = name});
  program.inputs.push_back(tensor);
  return tensor;
}

Value Growing::input(const std::vector<std::int64_t>& dims) {
  std::vector<float> numbers(static_cast<std::size_t>(elements(dims)));
  for (float& number : numbers) number = static_cast<float>(draw.between(-2, 2));
  if (draw.chance(25)) {
    program.starts.emplace_back(numbers, dims);
    program.variables.push_back(variable(program.starts.back()));
    values.push_back({program.variables.back(), dims, 2});
    return values.back();
  }
  values.push_back({placeholder_of(dims, DType::Float32), dims, 2});
  program.feeds.emplace_back(numbers, dims);
  return values.back();
}

Tensor Growing::indices(const std::vector<std::int64_t>& dims, std::int64_t limit) {
  const Tensor tensor = placeholder_of(dims, DType::Int32);
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(elements(dims)));
  for (auto& number : numbers) number = static_cast<std::int32_t>(draw.below(limit));
  program.feeds.emplace_back(numbers, dims);
  return tensor;
}

Tensor Growing::number(std::int64_t number) {
  const Tensor tensor = placeholder_of({}, DType::Int32);
  program.feeds.emplace_back(static_cast<std::int32_t>(number));
  return tensor;
}

void Growing::update_variables() {
  for (std::size_t i = 0; i < program.variables.size(); ++i) {
    const Tensor& old = program.variables[i];
    std::vector<const Value*> fitting;
    for (const Value& value : values) {
      if (value.dims == program.starts[i].dims()) fitting.push_back(&value);
    }
    const Value& chosen = *fitting[static_cast<std::size_t>(
        draw.below(static_cast<std::int64_t>(fitting.size())))];
    // As it is, which may be another variable or an input; beside the old value; added to it.
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

Program random_program(std::uint64_t seed) {
  Growing growing(seed);
  const std::int64_t inputs = 1 + growing.draw.below(3);
  for (std::int64_t i = 0; i < inputs; ++i) growing.input(draw_dims(growing.draw));
  const std::int64_t count = 3 + growing.draw.below(25);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto& all = steps();
    const Step& step = all[static_cast<std::size_t>(
        growing.draw.below(static_cast<std::int64_t>(all.size())))];
    if (!step.take(growing)) continue;
    growing.program.text += std::string(growing.program.text.empty() ? "" : ", ") + step.name;
  }
  Program& program = growing.program;
  growing.update_variables();
  for (int i = 0; i < 3; ++i) program.outputs.push_back(growing.any().tensor);
  program.outputs.push_back(growing.values.back().tensor);
  if (!growing.draw.chance(50)) return program;
  // A loss in which every element has a weight of its own.
  Tensor loss = 0.0 * sum(growing.values[0].tensor);
  for (std::size_t i = program.outputs.size(); i-- > 0;) {
    const Tensor& output = program.outputs[i];
    loss = loss + sum(sin(output * (0.7 + 0.1 * static_cast<double>(i)) + 0.3));
  }
  program.text += ", gradients";
  std::vector<Tensor> floats = program.variables;
  for (const Tensor& input : program.inputs) {
    if (dtype(input) == "float32") floats.push_back(input);
  }
  Tensor slopes = loss * 0.0;
  for (const Tensor& gradient : gradients(loss, floats)) {
    if (!gradient) continue;
    program.outputs.push_back(gradient);
    slopes = slopes + sum(sin(gradient));
  }
  if (!growing.draw.chance(15)) return program;
  program.text += " twice";
  for (const Tensor& gradient : gradients(slopes, floats)) {
    if (gradient) program.outputs.push_back(gradient);
  }
  return program;
}

std::vector<Array> moved_in_the_last_bits(const std::vector<Array>& feeds, std::uint64_t seed) {
  Draw draw(seed);
  std::vector<Array> moved;
  for (const Array& feed : feeds) {
    moved.push_back(feed);
    if (feed.dtype() != DType::Float32) continue;
    for (float& number : moved.back().as<float>()) {
      number *= draw.chance(50) ? 1 + 2e-7f : 1 - 2e-7f;
    }
  }
  return moved;
}

}  // namespace kiln::testing
