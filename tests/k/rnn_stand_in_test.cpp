// Tests what masked steps of rnn compute instead: operands that belong together. No slope is
// infinite that is finite without a mask, and infinite slopes of masked steps have no effect.
// Compares with slopes written here.
#include "tests/support/catch.h"
#include "tests/k/row.h"

#include <algorithm>
#include <cmath>

namespace kiln::test {
namespace {

constexpr std::int64_t kSamples = 2, kTime = 3;
using Doubles = std::vector<double>;

/// A term that each step adds to a sum, of its input x, a position s, a number c per sample, and a
/// weight w. The next position is s - 10.
struct TermRow {
  const char* name;
  Tensor (*term)(const Tensor& x, const Tensor& s, const Tensor& c, const Tensor& w);
  /// With respect to x, s, c and w.
  Doubles (*slopes)(double x, double s, double c, double w);
  Doubles x;     // (samples, time)
  Doubles s, c;  // (samples)
  std::vector<std::int32_t> mask;
};

Tensor log_difference(const Tensor& x, const Tensor&, const Tensor& c, const Tensor& w) {
  return log(x - c) * w;
}
Doubles log_difference_slopes(double x, double, double c, double w) {
  return {w / (x - c), 0, -w / (x - c), std::log(x - c)};
}
Tensor quotient(const Tensor& x, const Tensor&, const Tensor& c, const Tensor& w) {
  return x * w / c;
}
Doubles quotient_slopes(double x, double, double c, double w) {
  return {w / c, 0, -x * w / (c * c), x / c};
}
Tensor log_position(const Tensor& x, const Tensor& s, const Tensor&, const Tensor& w) {
  return log(x * w - s);
}
Doubles log_position_slopes(double x, double s, double, double w) {
  const double slope = 1 / (x * w - s);
  return {w * slope, -slope, 0, x * slope};
}
Tensor root(const Tensor& x, const Tensor&, const Tensor& c, const Tensor& w) {
  return sqrt(x * w - c);
}
Doubles root_slopes(double x, double, double c, double w) {
  const double slope = 0.5 / std::sqrt(x * w - c);
  return {w * slope, 0, -slope, x * slope};
}
/// c normalised: NaN slopes where it is 0. The contraction over an axis of 1 keeps the samples.
Tensor attention(const Tensor& x, const Tensor&, const Tensor& c, const Tensor& w) {
  const Tensor keys = expand_dims(c / sqrt(square(c)));
  return squeeze(batch_dot(keys, expand_dims(x)), 1) * w + log(c);
}
Doubles attention_slopes(double x, double, double c, double w) {
  const double sign = c < 0 ? -1 : 1;
  return {w * sign, 0, 1 / c, x * sign};
}

const TermRow kTerms[] = {
    {"log of a difference, another sample is masked",
     log_difference,
     log_difference_slopes,
     {1, 2, 3, 5, 6, 7},
     {0, 0},
     {0, 1},
     {1, 1, 1, 0, 0, 0}},
    {"log of a difference, partly masked",
     log_difference,
     log_difference_slopes,
     {1, 2, 3, 5, 6, 7},
     {0, 0},
     {0, 1},
     {1, 1, 1, 1, 0, 0}},
    {"log of a difference, begins masked",
     log_difference,
     log_difference_slopes,
     {1, 2, 3, 5, 6, 7},
     {0, 0},
     {0, 1},
     {1, 0, 1, 0, 0, 1}},
    {"log of a difference, 0 in masked steps",
     log_difference,
     log_difference_slopes,
     {1, 0, 3, 1, 6, 1},
     {0, 0},
     {0, 1},
     {1, 0, 1, 0, 1, 0}},
    {"quotient by 0, all steps of a sample masked",
     quotient,
     quotient_slopes,
     {1, 2, 3, 0, 0, 0},
     {0, 0},
     {2, 0},
     {1, 1, 1, 0, 0, 0}},
    {"quotient by 0, all steps masked",
     quotient,
     quotient_slopes,
     {0, 0, 0, 0, 0, 0},
     {0, 0},
     {0, 0},
     {0, 0, 0, 0, 0, 0}},
    {"log of 0 if a later input meets the first position",
     log_position,
     log_position_slopes,
     {5, 0.5, 0.5, 5, 0.5, 0.5},
     {1, 1},
     {0, 0},
     {1, 1, 0, 1, 0, 1}},
    {"log of 0 if an earlier input meets the first position",
     log_position,
     log_position_slopes,
     {0.5, 0.5, 5, 0.5, 0.5, 5},
     {1, 1},
     {0, 0},
     {0, 1, 1, 1, 0, 1}},
    {"root, all steps masked",
     root,
     root_slopes,
     {3, 3, 3, 4, 4, 4},
     {0, 0},
     {1, 2},
     {0, 0, 0, 0, 0, 0}},
    {"root of 0, all steps masked",
     root,
     root_slopes,
     {0, 0, 0, 0, 0, 0},
     {0, 0},
     {0, 0},
     {0, 0, 0, 0, 0, 0}},
    {"attention to 0",
     attention,
     attention_slopes,
     {1, 2, 3, 0, 0, 0},
     {0, 0},
     {2, 0},
     {1, 0, 1, 0, 0, 0}},
};

struct LoopForm {
  bool is_captured = false, go_backwards = false, unroll = false, known = true;
};

/// Gradients of the sum of the terms with respect to x, s, c and w.
std::vector<Array> found(const TermRow& row, const LoopForm& how) {
  const auto rows = [&](std::vector<ShapeEntry> entries) {
    if (!how.known) entries[0] = None;
    return placeholder({.shape = entries, .dtype = "float64"});
  };
  const Tensors inputs{rows({kSamples, kTime, 1}), rows({kSamples, 1}), rows({kSamples, 1}),
                       placeholder({.shape = {1, 1}, .dtype = "float64"})};
  const auto step = [&](const Tensor& x, const Tensors& states) {
    const Tensor& c = how.is_captured ? inputs[2] : states[2];
    const Tensor next = states[0] + row.term(x, states[1], c, inputs[3]);
    return StepResult{next, {next, states[1] - 10.0}};
  };
  RnnOptions options{.go_backwards = how.go_backwards, .unroll = how.unroll};
  options.mask = constant(Array(row.mask, {kSamples, kTime}), {.dtype = "int32"});
  if (!how.is_captured) options.constants = {inputs[2]};
  const RnnResult run = rnn(step, inputs[0], {zeros_like(inputs[1]), inputs[1]}, options);
  Tensor loss = sum(run.new_states[0]);
  for (const Tensor& input : inputs) loss = loss + sum(input) * 0.0;  // so that none is unused
  return evaluate(inputs, gradients(loss, inputs),
                  {Array(row.x, {kSamples, kTime, 1}), Array(row.s, {kSamples, 1}),
                   Array(row.c, {kSamples, 1}), Array(Doubles{2}, {1, 1})});
}

std::vector<Array> expected(const TermRow& row, bool go_backwards) {
  Doubles x(row.x.size()), s(row.s.size()), c(row.c.size()), w(1);
  for (std::size_t n = 0; n < c.size(); ++n) {
    double position = row.s[n];
    for (std::size_t i = 0; i < std::size_t{kTime}; ++i) {
      const std::size_t t = n * kTime + (go_backwards ? kTime - 1 - i : i);
      if (row.mask[t] == 0) continue;
      const Doubles slopes = row.slopes(row.x[t], position, row.c[n], 2);
      x[t] += slopes[0];
      s[n] += slopes[1];
      c[n] += slopes[2];
      w[0] += slopes[3];
      position -= 10;
    }
  }
  return {Array(x, {kSamples, kTime, 1}), Array(s, {kSamples, 1}), Array(c, {kSamples, 1}),
          Array(w, {1, 1})};
}

bool is_finite(const std::vector<Array>& arrays) {
  return std::all_of(arrays.begin(), arrays.end(), [](const Array& array) {
    const auto elements = array.as<double>();
    return std::all_of(elements.begin(), elements.end(), [](double x) { return std::isfinite(x); });
  });
}

}  // namespace

TEST_CASE("rnn: a masked step computes operands that belong together") {
  const char* const names[] = {"inputs", "states", "constants", "weights"};
  for (const TermRow& row : kTerms) {
    for (const LoopForm& how : {LoopForm{},
                                {true},
                                {false, true},
                                {true, true},
                                {false, false, true},
                                {true, true, true},
                                {false, false, false, false},
                                {true, true, false, false}}) {
      const std::vector<Array> wanted = expected(row, how.go_backwards);
      if (!is_finite(wanted)) continue;  // in one order of iteration
      const std::vector<Array> results = found(row, how);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        INFO(row.name << ", captured " << how.is_captured << ", backwards " << how.go_backwards
                      << ", unroll " << how.unroll << ", known " << how.known << ": gradient of "
                      << names[i]);
        CHECK(difference(results[i], wanted[i], 1e-12) == "");
      }
    }
  }
}

TEST_CASE("rnn: a weight with as many rows as there are samples is no row per sample") {
  const Tensors inputs{placeholder({.shape = {2, 2, 2}}), placeholder({.shape = {2, 2}})};
  const auto step = [](const Tensor& x, const Tensors& states) {
    return StepResult{dot(x, states[0]), {}};
  };
  RnnOptions options{};
  options.mask = constant(i32({2, 2}, {1, 0, 0, 0}), {.dtype = "int32"});
  options.constants = {inputs[1]};
  const RnnResult run = rnn(step, inputs[0], {}, options);
  const std::vector<Array> results =
      evaluate(inputs, {run.last_output, gradients(sum(run.last_output), {inputs[1]})[0]},
               {f32({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), f32({2, 2}, {1, 2, 3, 4})});
  CHECK(difference(results[0], f32({2, 2}, {7, 10, 0, 0}), 0) == "");
  CHECK(difference(results[1], f32({2, 2}, {1, 1, 2, 2}), 0) == "");
}

TEST_CASE("rnn: masked indices may be out of range") {
  const Tensor ids = placeholder({.shape = {None, None, 1}, .dtype = "int32"});
  const Tensor mask = placeholder({.shape = {None, None}});
  const Tensor table = placeholder({.shape = {3, 1}});
  for (const bool unroll : {false, true}) {
    const auto step = [&](const Tensor& x, const Tensors& states) {
      const Tensor next = gather(table, flatten(x)) + states[0];
      return StepResult{next, {next}};
    };
    RnnOptions options{.mask = mask, .unroll = unroll};
    if (unroll) options.input_length = 2;
    const RnnResult run = rnn(step, ids, {zeros({2, 1})}, options);
    const Tensors outputs{run.last_output, gradients(sum(run.last_output), {table})[0]};
    const Array entries = f32({3, 1}, {1, 2, 4});
    const std::vector<Array> some =
        evaluate({ids, mask, table}, outputs,
                 {i32({2, 2, 1}, {2, -1, -1, -1}), f32({2, 2}, {1, 0, 0, 0}), entries});
    CHECK(difference(some[0], f32({2, 1}, {4, 0}), 0) == "");
    CHECK(difference(some[1], f32({3, 1}, {0, 0, 1}), 0) == "");
    const std::vector<Array> none =
        evaluate({ids, mask, table}, outputs,
                 {i32({2, 2, 1}, {-1, -1, -1, -1}), Array::zeros({2, 2}), entries});
    CHECK(difference(none[0], Array::zeros({2, 1}), 0) == "");
    CHECK(difference(none[1], Array::zeros({3, 1}), 0) == "");
  }
}

}  // namespace kiln::test
