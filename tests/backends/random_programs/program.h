// Draws a program of K functions from a seed, with inputs to run it on. Its steps are in
// steps.cpp.
#pragma once

#include <kiln/k.h>

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace kiln::testing {

/// A tensor of a program and its sizes in the run, which the program may not know.
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
  std::vector<bool> is_exact;  ///< of feeds: a rounded feed would change the program
  std::vector<Tensor> variables;
  std::vector<Array> starts;  ///< of variables
  std::vector<UpdateOp> updates;
  std::vector<Tensor> outputs;
  Tensor loss;  ///< a scalar of all outputs, every element with a weight of its own
  std::string text;  ///< the steps that were taken, in their order

  /// Placeholders and variables that results depend on smoothly, but for jumps: feeds that are not
  /// exact, then variables.
  std::vector<Tensor> differentiable() const;
};

/// A program under construction: the values that steps read, and to which they add.
class Growing {
 public:
  /// Float inputs and variables are of that dtype.
  Growing(std::uint64_t seed, DType dtype) : draw(seed), dtype(dtype) {}

  /// Adds a float input or variable; sizes of inputs are hidden from the program at random.
  Value input(const std::vector<std::int64_t>& dims);
  /// Adds an input of any dtype, with whole numbers about the limits of narrow dtypes.
  Tensor exact(const std::vector<std::int64_t>& dims, DType of);
  /// Adds an int32 input with elements in [0, limit).
  Tensor indices(const std::vector<std::int64_t>& dims, std::int64_t limit);
  /// Adds an int32 scalar input that is `number`.
  Tensor number(std::int64_t number);
  /// One of the values so far.
  const Value& any() const { return values[static_cast<std::size_t>(pick())]; }
  /// One of at least `rank` axes, or nullptr.
  const Value* of_rank(std::size_t rank) const;
  /// Updates most variables, by values of the program.
  void update_variables();
  /// Adds the result of a step, scaled down where its elements could grow large.
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

/// A step that a program may take: take() returns false where no value fits.
struct Step {
  const char* name;
  bool (*take)(Growing&);
};

/// All steps.
const std::vector<Step>& steps();

/// Draws a program of float32; every other one has gradients among its outputs.
Program random_program(std::uint64_t seed);
/// Draws a shorter program of float64, without updates, for the sake of its loss.
Program random_loss(std::uint64_t seed);

/// The feeds, with each float32 that is not exact moved by about an ulp.
std::vector<Array> moved_in_the_last_bits(const Program& program, std::uint64_t seed);

}  // namespace kiln::testing
