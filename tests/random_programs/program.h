// A program of K functions that is drawn from a seed, with inputs to run it on. Its steps are in
// steps.cpp.
#pragma once

#include <kiln/k.h>

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace kiln::testing {

/// A tensor of a program and the sizes that it has in its run, which the program may not know.
struct Value {
  Tensor tensor;
  std::vector<std::int64_t> dims;
  double bound = 1;  ///< no element is larger
};

/// Draws the choices of a program. Every draw depends on the seed alone, on every machine.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  /// 0 <= result < count
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(count));
  }
  bool chance(int percent) { return below(100) < percent; }
  /// A multiple of 2^-20 in [low, high).
  double between(double low, double high) {
    return low + (high - low) * static_cast<double>(below(1 << 20)) / (1 << 20);
  }

 private:
  std::mt19937_64 engine_;
};

struct Program {
  std::vector<Tensor> inputs;
  std::vector<Array> feeds;
  std::vector<bool> is_exact;  ///< of feeds: a rounding of it would be another program
  std::vector<Tensor> variables;
  std::vector<Array> starts;  ///< of variables
  std::vector<UpdateOp> updates;
  std::vector<Tensor> outputs;
  Tensor loss;  ///< a scalar of all outputs, in which every element has a weight of its own
  std::string text;  ///< the steps that were taken, in their order

  /// Placeholders and variables that results depend on smoothly, but for jumps: feeds that are not
  /// exact, then variables.
  std::vector<Tensor> differentiable() const;
};

/// A program while it grows: what steps read from and add to.
class Growing {
 public:
  /// Float inputs and variables are of that dtype.
  Growing(std::uint64_t seed, DType dtype) : draw(seed), dtype(dtype) {}

  /// A new float input or variable; sizes of inputs are hidden from the program at random.
  Value input(const std::vector<std::int64_t>& dims);
  /// A new input of any dtype, with whole numbers about the limits of narrow dtypes.
  Tensor exact(const std::vector<std::int64_t>& dims, DType of);
  /// A new int32 input with elements in [0, limit).
  Tensor indices(const std::vector<std::int64_t>& dims, std::int64_t limit);
  /// A new int32 scalar input that is `number`.
  Tensor number(std::int64_t number);
  /// One of the values made so far.
  const Value& any() const { return values[static_cast<std::size_t>(pick())]; }
  /// One with `rank` axes at least, or nullptr.
  const Value* of_rank(std::size_t rank) const;
  /// Gives most variables a new value, of those that were made.
  void update_variables();
  /// Adds what a step gives, scaled down where its elements could grow large.
  void add(Tensor tensor, std::vector<std::int64_t> dims, double bound);

  mutable Draw draw;
  const DType dtype;
  std::vector<Value> values;
  Program program;

 private:
  std::int64_t pick() const;
  Tensor placeholder_of(const std::vector<std::int64_t>& dims, DType of);
  void feed(const Array& array, bool is_exact);
};

/// A way to go on: false where nothing fits it.
struct Step {
  const char* name;
  bool (*take)(Growing&);
};

/// All there are.
const std::vector<Step>& steps();

/// Of float32, with gradients among the outputs of every other one.
Program random_program(std::uint64_t seed);
/// A shorter one of float64, without updates: the loss is what it is for.
Program random_loss(std::uint64_t seed);

/// The same inputs, with each float32 that is not exact moved by about an ulp.
std::vector<Array> moved_in_the_last_bits(const Program& program, std::uint64_t seed);

}  // namespace kiln::testing
