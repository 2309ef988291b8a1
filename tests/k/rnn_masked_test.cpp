// Compares gradients of masked loops with those of loops without a mask over the other steps, one
// sample at a time. Masked inputs are poison: values where the step has an infinite slope, or
// infinities and NaN themselves.
#include "tests/support/catch.h"
#include "tests/k/row.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace kiln::test {
namespace {

constexpr std::int64_t kMaskedSamples = 3, kMaskedTime = 4, kFeatures = 2;
using Dims = std::vector<std::int64_t>;
using Doubles = std::vector<double>;

struct StepRow {
  const char* name;
  /// The next state, from the input, the state and the weights.
  Tensor (*next)(const Tensor& in, const Tensor& state, const Tensor& w);
};

const StepRow kSteps[] = {
    {"sqrt",
     [](const Tensor& in, const Tensor& s, const Tensor& w) { return s * 0.5 + dot(sqrt(in), w); }},
    {"sqrt of a product", [](const Tensor& in, const Tensor& s,
                             const Tensor& w) { return s * 0.5 + sqrt(dot(in, square(w))); }},
    {"log", [](const Tensor& in, const Tensor& s, const Tensor& w) { return s + dot(log(in), w); }},
    {"power",
     [](const Tensor& in, const Tensor& s, const Tensor& w) { return dot(s, w) + pow(in, 0.25); }},
    {"quotient", [](const Tensor& in, const Tensor& s,
                    const Tensor& w) { return (1.0 + s) / dot(in, square(w)); }},
    {"sqrt of the state", [](const Tensor& in, const Tensor& s,
                             const Tensor& w) { return sqrt(dot(s, square(w))) + in; }},
    {"norm",
     [](const Tensor& in, const Tensor& s, const Tensor& w) {
       return dot(s, w) + in / sqrt(sum(square(in), {.axis = {-1}, .keepdims = true}));
     }},
};

// (samples, time): samples with and without steps, the first and the last step masked or not.
const std::vector<std::int32_t> kRnnMaskedMasks[] = {
    {0, 1, 1, 0, /**/ 1, 0, 1, 1, /**/ 0, 0, 0, 0},
    {0, 0, 0, 0, /**/ 0, 0, 0, 0, /**/ 0, 0, 0, 1},
    {0, 0, 0, 0, /**/ 0, 0, 0, 0, /**/ 0, 0, 0, 0},
};

Doubles numbers(std::int64_t count, double from) {
  Doubles list;
  for (std::int64_t i = 0; i < count; ++i) {
    list.push_back(from + 0.5 + 0.4 * std::sin(double(i) * 1.7));
  }
  return list;
}

Tensor wide(const Shape& shape) { return placeholder({.shape = shape, .dtype = "float64"}); }

/// Gradients with respect to inputs, states and weights, then the last output.
Tensors results(const StepRow& row, const Tensors& x, const RnnOptions& options) {
  const auto step = [&](const Tensor& in, const Tensors& states) {
    const Tensor next = row.next(in, states[0], x[2]);
    return StepResult{next * 3, {next}};
  };
  const RnnResult run = rnn(step, x[0], {x[1]}, options);
  const Tensor loss = sum(square(run.last_output)) + sum(run.new_states[0]);
  Tensors all = gradients(loss, x);
  all.push_back(run.last_output);
  return all;
}

/// The rows of `whole` that begin at `first`, of `count` elements.
Doubles part(const Doubles& whole, std::int64_t first, std::int64_t count) {
  return {whole.begin() + first, whole.begin() + first + count};
}

/// The same results from one loop per sample over the steps that are not masked.
std::vector<Array> expected(const StepRow& row, const std::vector<std::int32_t>& mask,
                            const Doubles& x, const Doubles& states, const Array& w) {
  const Tensors inputs{wide({1, None, kFeatures}), wide({1, kFeatures}),
                       wide({kFeatures, kFeatures})};
  const Function one = function(inputs, results(row, inputs, {}), {.backend = "reference"});
  std::vector<Array> all{Array::zeros({kMaskedSamples, kMaskedTime, kFeatures}, DType::Float64),
                         Array::zeros({kMaskedSamples, kFeatures}, DType::Float64),
                         Array::zeros({kFeatures, kFeatures}, DType::Float64),
                         Array::zeros({kMaskedSamples, kFeatures}, DType::Float64)};
  for (std::int64_t n = 0; n < kMaskedSamples; ++n) {
    std::vector<std::int64_t> steps;
    Doubles taken;
    for (std::int64_t t = 0; t < kMaskedTime; ++t) {
      if (mask[static_cast<std::size_t>(n * kMaskedTime + t)] == 0) continue;
      steps.push_back((n * kMaskedTime + t) * kFeatures);
      for (const double element : part(x, steps.back(), kFeatures)) taken.push_back(element);
    }
    const Dims dims{1, static_cast<std::int64_t>(steps.size()), kFeatures};
    const auto found =
        one({Array(taken, dims), Array(part(states, n * kFeatures, kFeatures), {1, kFeatures}), w});
    const auto copy = [&](std::size_t i, std::int64_t from, std::int64_t to) {
      for (std::int64_t f = 0; f < kFeatures; ++f) {
        all[i].as<double>()[static_cast<std::size_t>(to + f)] =
            found[i].as<double>()[static_cast<std::size_t>(from + f)];
      }
    };
    std::int64_t from = 0;
    for (const std::int64_t to : steps) copy(0, std::exchange(from, from + kFeatures), to);
    copy(1, 0, n * kFeatures);
    copy(3, 0, n * kFeatures);
    for (std::size_t i = 0; i < all[2].as<double>().size(); ++i) {
      all[2].as<double>()[i] += found[2].as<double>()[i];
    }
  }
  return all;
}

void check(const StepRow& row, const std::vector<std::int32_t>& mask, double poison, bool unroll,
           bool known) {
  Doubles x = numbers(kMaskedSamples * kMaskedTime * kFeatures, 0.5),
          states = numbers(kMaskedSamples * kFeatures, 1);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (mask[i / kFeatures] == 0) x[i] = poison;
  }
  for (std::int64_t n = 0; n < kMaskedSamples; ++n) {
    const auto first = mask.begin() + n * kMaskedTime;
    if (std::count(first, first + kMaskedTime, 1) != 0) continue;
    for (std::int64_t f = 0; f < kFeatures; ++f) {
      states[static_cast<std::size_t>(n * kFeatures + f)] = 0;
    }
  }
  const Array w(numbers(kFeatures * kFeatures, 0), {kFeatures, kFeatures});
  const Tensors inputs =
      known ? Tensors{wide({kMaskedSamples, kMaskedTime, kFeatures}),
                      wide({kMaskedSamples, kFeatures}), wide({kFeatures, kFeatures})}
            : Tensors{wide({None, None, kFeatures}), wide({None, kFeatures}),
                      wide({kFeatures, kFeatures})};
  RnnOptions options{};
  options.mask = constant(Array(mask, {kMaskedSamples, kMaskedTime}), {.dtype = "int32"});
  options.unroll = unroll;
  if (unroll) options.input_length = kMaskedTime;
  const std::vector<Array> found = evaluate(inputs, results(row, inputs, options),
                                            {Array(x, {kMaskedSamples, kMaskedTime, kFeatures}),
                                             Array(states, {kMaskedSamples, kFeatures}), w});
  const std::vector<Array> want = expected(row, mask, x, states, w);
  const char* const names[] = {"inputs", "states", "weights", "output"};
  for (std::size_t i = 0; i < want.size(); ++i) {
    INFO(names[i]);
    CHECK(difference(found[i], want[i], 1e-9) == "");
  }
}

}  // namespace

TEST_CASE("rnn: masked steps contribute nothing to gradients, whatever their slope") {
  for (const StepRow& row : kSteps) {
    for (const std::vector<std::int32_t>& mask : kRnnMaskedMasks) {
      for (const double poison : {0.0, double(kInf), double(kNaN)}) {
        for (const bool unroll : {false, true}) {
          const bool known = unroll || poison == 0;
          INFO(row.name << ", mask " << (&mask - kRnnMaskedMasks) << ", masked inputs " << poison
                        << ", unroll " << unroll);
          check(row, mask, poison, unroll, known);
        }
      }
    }
  }
}

}  // namespace kiln::test
