// Compares rnn with plain loops written here: dims of 0 and 1, masks of every kind, states and
// outputs of other ranks than the inputs, every dtype. Also tests its errors.
#include "tests/support/catch.h"
#include "tests/k/row.h"
#include "tests/support/misuse.h"

#include <cmath>

namespace kiln::test {
namespace {

using testing::throws;
using testing::throws_at;
using Dims = std::vector<std::int64_t>;

struct Size {
  std::int64_t samples, steps, features;
};
constexpr Size kSizes[] = {{2, 3, 2}, {1, 1, 1}, {3, 4, 1}, {1, 3, 2}, {0, 2, 3}, {2, 2, 0}};

/// No mask, or a mask of that dtype, with or without a last axis of 1.
struct MaskKind {
  const char* dtype = nullptr;
  bool column = false;
};
constexpr MaskKind kRnnPlainMasks[] = {{}, {"bool"}, {"float32", true}, {"uint8"}};

struct How {
  bool backwards = false, unroll = false, known = true;
};
constexpr How kHows[] = {
    {true}, {false, false, false}, {true, false, false}, {false, true}, {true, true}};

/// Whether the mask has that step of that sample; the first step of sample 0 is masked.
bool is_on(std::int64_t sample, std::int64_t step) { return (sample + 2 * step) % 3 != 0; }

double element(std::int64_t sample, std::int64_t step, std::int64_t feature) {
  return static_cast<double>(sample * 100 + step * 10 + feature + 1) / 8;
}

double& at(Array& array, std::initializer_list<std::int64_t> index) {
  std::int64_t offset = 0;
  auto size = array.dims().begin();
  for (const std::int64_t i : index) offset = offset * *size++ + i;
  return array.as<double>()[static_cast<std::size_t>(offset)];
}

Array inputs_of(const Size& size) {
  Array x = Array::zeros({size.samples, size.steps, size.features}, DType::Float64);
  for (std::int64_t n = 0; n < size.samples; ++n) {
    for (std::int64_t t = 0; t < size.steps; ++t) {
      for (std::int64_t f = 0; f < size.features; ++f) at(x, {n, t, f}) = element(n, t, f);
    }
  }
  return x;
}

Array mask_of(const Size& size, const MaskKind& kind) {
  std::vector<std::int32_t> on;
  for (std::int64_t n = 0; n < size.samples; ++n) {
    for (std::int64_t t = 0; t < size.steps; ++t) on.push_back(is_on(n, t) ? 1 : 0);
  }
  Dims dims{size.samples, size.steps};
  if (kind.column) dims.push_back(1);
  return Array(on, dims).astype(*dtype_of_name(kind.dtype));
}

/// The states are a sum (samples, features), from 0.5, and a count (samples), from 7; the output
/// (samples, features, 2) is the sum and the sum times the count.
StepResult counting_step(const Tensor& x, const Tensors& states) {
  const Tensor total = states[0] + x, count = states[1] + 1;
  const Tensor scaled = total * expand_dims(count);
  return {stack({total, scaled}, {.axis = -1}), {total, count}};
}

struct PlainResult {
  Array last, outputs, total, count;
};

PlainResult expected_of(const Size& size, bool masked, bool backwards) {
  const auto [samples, steps, features] = size;
  PlainResult all{Array::zeros({samples, features, 2}, DType::Float64),
                  Array::zeros({samples, steps, features, 2}, DType::Float64),
                  Array::full({samples, features}, 0.5, DType::Float64),
                  Array::full({samples}, 7, DType::Float64)};
  for (std::int64_t n = 0; n < samples; ++n) {
    for (std::int64_t i = 0; i < steps; ++i) {
      const std::int64_t t = backwards ? steps - 1 - i : i;
      const bool on = !masked || is_on(n, t);
      if (on) at(all.count, {n}) += 1;
      for (std::int64_t f = 0; f < features; ++f) {
        if (on) {
          at(all.total, {n, f}) += element(n, t, f);
          at(all.last, {n, f, 0}) = at(all.total, {n, f});
          at(all.last, {n, f, 1}) = at(all.total, {n, f}) * at(all.count, {n});
        }
        for (int k = 0; k < 2; ++k) {
          at(all.outputs, {n, i, f, k}) = at(all.last, {n, f, k});
        }
      }
    }
  }
  return all;
}

/// The inputs of a loop, and its results.
struct Feeds {
  std::vector<Array> arrays;
  Feeds(const Size& size, const MaskKind& kind)
      : arrays{inputs_of(size), Array::full({size.samples, size.features}, 0.5, DType::Float64),
               Array::full({size.samples}, 7, DType::Float64)} {
    if (kind.dtype) arrays.push_back(mask_of(size, kind));
  }
};

Function loop_of(const std::vector<Array>& feeds, const How& how) {
  Tensors inputs;
  for (const Array& feed : feeds) {
    std::vector<ShapeEntry> shape;
    for (const std::int64_t size : feed.dims()) {
      shape.push_back(how.known ? ShapeEntry(size) : ShapeEntry(None));
    }
    const bool column = feeds.size() > 3 && &feed == &feeds[3] && feed.rank() == 3;
    if (column) shape.back() = 1;
    inputs.push_back(placeholder({.shape = shape, .dtype = feed.dtype()}));
  }
  RnnOptions options{};
  options.go_backwards = how.backwards;
  options.unroll = how.unroll;
  if (inputs.size() > 3) options.mask = inputs[3];
  const RnnResult run = rnn(counting_step, inputs[0], {inputs[1], inputs[2]}, options);
  return function(inputs, {run.last_output, run.outputs, run.new_states[0], run.new_states[1]},
                  {.backend = tested_backend()});
}

void check_loop(const Function& f, const Size& size, const MaskKind& kind, const How& how) {
  INFO(size.samples << " samples, " << size.steps << " steps, " << size.features
                    << " features, mask " << (kind.dtype ? kind.dtype : "none") << ", backwards "
                    << how.backwards << ", unroll " << how.unroll << ", known " << how.known);
  const std::vector<Array> found = f(Feeds(size, kind).arrays);
  const PlainResult expected = expected_of(size, kind.dtype != nullptr, how.backwards);
  CHECK(difference(found[0], expected.last, 1e-12) == "");
  CHECK(difference(found[1], expected.outputs, 1e-12) == "");
  CHECK(difference(found[2], expected.total, 1e-12) == "");
  CHECK(difference(found[3], expected.count, 1e-12) == "");
}

}  // namespace

TEST_CASE("rnn: agrees with a plain loop", "[k]") {
  for (const MaskKind& kind : kRnnPlainMasks) {
    for (const How& how : kHows) {
      Function any_size;
      for (const Size& size : kSizes) {
        if (how.known || !any_size) any_size = loop_of(Feeds(size, kind).arrays, how);
        check_loop(any_size, size, kind, how);
      }
    }
  }
}

TEST_CASE("rnn: without states, masked or not", "[k]") {
  const auto doubled = [](const Tensor& x, const Tensors& states) {
    REQUIRE(states.empty());
    return StepResult{x * 2, {}};
  };
  const Array feed(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3, 1});
  const Array mask(std::vector<std::int32_t>{0, 1, 0, 1, 0, 1}, {2, 3});
  for (const bool unroll : {false, true}) {
    INFO("unroll " << unroll);
    const Tensor x = placeholder({.shape = {2, 3, 1}}), m = placeholder({.shape = {2, 3}});
    RnnOptions options{};
    options.unroll = unroll;
    const RnnResult plain = rnn(doubled, x, {}, options);
    options.mask = m;
    const RnnResult masked = rnn(doubled, x, {}, options);
    CHECK(masked.new_states.empty());
    const std::vector<Array> found = evaluate(
        {x, m},
        {plain.outputs, masked.outputs, masked.last_output, gradients(sum(masked.outputs), {x})[0]},
        {feed, mask});
    CHECK(found[0] == f32({2, 3, 1}, {2, 4, 6, 8, 10, 12}));
    CHECK(found[1] == f32({2, 3, 1}, {0, 4, 4, 8, 8, 12}));
    CHECK(found[2] == f32({2, 1}, {4, 12}));
    CHECK(found[3] == f32({2, 3, 1}, {0, 4, 0, 4, 0, 2}));
  }
}

TEST_CASE("rnn: inputs of more axes", "[k]") {
  const Array feed(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 2, 2});
  const auto adding = [](const Tensor& x, const Tensors& states) {
    const Tensor next = states[0] + sum(x, {.axis = -1});
    return StepResult{next, {next}};
  };
  for (const bool unroll : {false, true}) {
    const Tensor x = placeholder({.shape = {None, 2, 2, 2}});
    RnnOptions options{};
    options.unroll = unroll;
    const RnnResult run = rnn(adding, x, {zeros_like(sum(x, {.axis = {1, -1}}))}, options);
    const std::vector<Array> found = evaluate({x}, {run.outputs, run.last_output}, {feed});
    CHECK(found[0] == f32({1, 2, 2}, {3, 7, 14, 22}));
    CHECK(found[1] == f32({1, 2}, {14, 22}));
  }
}

TEST_CASE("rnn: every dtype", "[k]") {
  const auto adding = [](const Tensor& x, const Tensors& states) {
    const Tensor next = states[0] + x;
    return StepResult{next, {next}};
  };
  for (const DType dtype :
       {DType::Int8, DType::Int16, DType::Int32, DType::Int64, DType::UInt8, DType::UInt64,
        DType::Float16, DType::BFloat16, DType::Float32, DType::Float64}) {
    INFO(dtype);
    const Tensor x = placeholder({.shape = {1, None, 1}, .dtype = dtype});
    RnnOptions options{};
    options.mask = constant({{1, 0, 1}}, {.dtype = "bool"});
    const RnnResult run = rnn(adding, x, {constant({{5}}, {.dtype = dtype})}, options);
    const std::vector<Array> found = evaluate({x}, {run.outputs, run.new_states[0]},
                                              {Array({1, 2, 3}).reshape({1, 3, 1}).astype(dtype)});
    CHECK(found[0] == Array({6, 6, 9}).reshape({1, 3, 1}).astype(dtype));
    CHECK(found[1] == Array{{9}}.astype(dtype));
  }
  const auto toggled = [](const Tensor& x, const Tensors& states) {
    const Tensor next = not_equal(states[0], x);
    return StepResult{next, {next}};
  };
  const Tensor x = placeholder({.shape = {1, 3, 1}, .dtype = "bool"});
  const Tensor outputs = rnn(toggled, x, {constant({{false}}, {.dtype = "bool"})}).outputs;
  CHECK(evaluate({x}, {outputs}, {bools({1, 3, 1}, {true, false, true})})[0] ==
        bools({1, 3, 1}, {true, true, false}));
}

TEST_CASE("rnn: gradients with states of other ranks, masked and unrolled", "[k]") {
  const auto build = [](const Tensors& x, bool unroll, bool backwards) {
    RnnOptions options{};
    options.unroll = unroll;
    options.go_backwards = backwards;
    if (unroll) options.input_length = 3;
    options.mask =
        constant(Array(std::vector<std::int32_t>{0, 1, 1, 1, 0, 1}, {2, 3}), {.dtype = "int32"});
    const RnnResult run = rnn(counting_step, x[0], {x[1], x[2]}, options);
    return sum(square(run.outputs), {.axis = {1, 2, 3}}) + sum(run.new_states[0], {.axis = 1}) +
           run.new_states[1] * sum(run.last_output, {.axis = {1, 2}});
  };
  static const auto built = build;
  const std::vector<Dims> dims{{2, 3, 2}, {2, 2}, {2}};
  const SmoothRow rows[] = {
      {"rnn of other ranks", dims, [](const Tensors& x) { return built(x, false, false); }, -1, 1},
      {"rnn of other ranks backwards", dims, [](const Tensors& x) { return built(x, false, true); },
       -1, 1},
      {"rnn of other ranks unrolled", dims, [](const Tensors& x) { return built(x, true, true); },
       -1, 1},
      {"rnn of one step",
       {{2, 1, 2}, {2, 2}, {2}},
       [](const Tensors& x) { return rnn(counting_step, x[0], {x[1], x[2]}).outputs; },
       -1,
       1},
  };
  for (const SmoothRow& row : rows) run(row);
}

TEST_CASE("rnn: the learning phase inside a step", "[k]") {
  const Tensor x = placeholder({.shape = {1, None, 1}});
  const auto step = [](const Tensor& in, const Tensors& states) {
    const Tensor next = in_train_phase([&] { return states[0] + in; }, [&] { return in; });
    return StepResult{next, {next}};
  };
  const Tensor outputs = rnn(step, x, {zeros({1, 1})}).outputs;
  const Function f = function({x, learning_phase()}, {outputs}, {.backend = tested_backend()});
  const Array feed = f32({1, 3, 1}, {1, 2, 3});
  CHECK(f({feed, Array(1)})[0] == f32({1, 3, 1}, {1, 3, 6}));
  CHECK(f({feed, Array(0)})[0] == feed);
  CHECK(evaluate({x}, {outputs}, {feed})[0] == feed);
}

TEST_CASE("rnn: misuse", "[k]") {
  const auto of = [](const Shape& shape, const char* dtype = "float32") {
    return placeholder({.shape = shape, .dtype = dtype, .name = "p"});
  };
  const auto adding = [](const Tensor& x, const Tensors& states) {
    const Tensor next = states[0] + x;
    return StepResult{next, {next}};
  };
  const auto keeping = [](const Tensor& x, const Tensors& states) { return StepResult{x, states}; };
  const auto giving_more = [&](const Tensor&, const Tensors& states) {
    return StepResult{of({5, 2}), states};
  };
  const auto fewer = [](const Tensor& x, const Tensors&) { return StepResult{x, {}}; };
  const auto narrower = [](const Tensor& x, const Tensors&) {
    return StepResult{x, {cast(x, "float16")}};
  };
  const auto scalar = [](const Tensor& x, const Tensors& states) {
    return StepResult{sum(x), states};
  };
  const auto nothing = [](const Tensor&, const Tensors& states) {
    return StepResult{Tensor(), states};
  };
  int calls = 0;
  const auto growing = [&](const Tensor& x, const Tensors& states) {
    return StepResult{++calls % 2 == 0 ? concatenate({x, x}) : x, states};
  };
  const auto other_size = [&](const Tensor& x, const Tensors& states) {
    return StepResult{x + of({9}), states};
  };
  const unsigned inside = __LINE__ - 2;
  const Tensor x = of({2, 3, 1}), h = of({2, 1}), unknown = of({2, None, 1});
  RnnOptions mask{}, wrong_mask{}, flat_mask{}, deep_mask{}, unrolled{}, below{}, empty{};
  mask.mask = of({2, 3}, "bool");
  wrong_mask.mask = of({2, 4});
  flat_mask.mask = of({2});
  deep_mask.mask = of({2, 3, 2});
  unrolled.unroll = true;
  below.input_length = -1;
  empty.constants = {h, Tensor()};
  testing::run({
      {throws<ValueError>(), [&] { rnn(adding, of({2, 3}), {h}); },
       "rnn: inputs has rank 2 but at least 3 is needed (inputs float32[2,3])"},
      {throws<ValueError>(), [&] { rnn(adding, Tensor(), {h}); }, "rnn: inputs is an empty tensor"},
      {throws<ValueError>(), [&] { rnn(adding, x, {h, Tensor()}); },
       "rnn: initial_states[1] is an empty tensor"},
      {throws<ValueError>(), [&] { rnn(adding, x, {h}, empty); },
       "rnn: constants[1] is an empty tensor"},
      {throws<ValueError>(), [&] { rnn(StepFunction(), x, {h}); },
       "rnn: step_function is an empty function"},
      {throws<ValueError>(), [&] { rnn(fewer, x, {h}); },
       "rnn: the step returns 0 states but got 1 initial states"},
      {throws<ValueError>(), [&] { rnn(narrower, x, {h}); },
       "rnn: the step returns state 0 as float16[2,1] but got it as float32[2,1]"},
      {throws<ValueError>(), [&] { rnn(adding, x, {of({1, 1})}); },
       "rnn: the step returns state 0 as float32[2,1] but got it as float32[1,1]"},
      {throws<ValueError>(), [&] { rnn(scalar, x, {h}); },
       "rnn: the step's output is a scalar; its axis 0 is samples"},
      {throws<ValueError>(), [&] { rnn(nothing, x, {h}); },
       "rnn: step_function is an empty tensor"},
      {throws<ValueError>(), [&] { rnn(growing, x, {h}, unrolled); },
       "rnn: the step returns output float32[2,2] but gave float32[2,1] the step before"},
      {throws_at<ValueError>(inside), [&] { rnn(other_size, of({2, 3, 4}), {h}); },
       "operator+: shapes do not broadcast: sizes 4 and 9 of axis -1 (x float32[2,4], y "
       "float32[9])"},
      {throws<ValueError>(), [&] { rnn(adding, x, {h}, wrong_mask); },
       "rnn: mask does not fit inputs (mask float32[2,4], inputs float32[2,3,1])"},
      {throws<ValueError>(), [&] { rnn(adding, x, {h}, flat_mask); },
       "rnn: mask must be (samples, time) (mask float32[2])"},
      {throws<ValueError>(), [&] { rnn(adding, x, {h}, deep_mask); },
       "rnn: mask must be (samples, time) (mask float32[2,3,2])"},
      {throws<ValueError>(), [&] { rnn(keeping, x, {of({})}, mask); },
       "rnn: state 0 has no axis 0 of 2 samples for the mask (state 0 float32[], mask bool[2,3])"},
      {throws<ValueError>(), [&] { rnn(keeping, x, {h, of({5, 2})}, mask); },
       "rnn: state 1 has no axis 0 of 2 samples for the mask (state 1 float32[5,2], mask "
       "bool[2,3])"},
      {throws<ValueError>(), [&] { rnn(giving_more, x, {h}, mask); },
       "rnn: the step's output has no axis 0 of 2 samples for the mask (the step's output "
       "float32[5,2], mask bool[2,3])"},
      {throws<ValueError>(), [&] { rnn(adding, x, {h}, below); }, "rnn: input_length is -1"},
      {throws<ValueError>(), [&] { rnn(adding, unknown, {h}, unrolled); },
       "rnn: unrolling needs a known number of steps; give input_length (inputs has p.1 steps)"},
  });
}

TEST_CASE("loops: errors of sizes found at the call", "[k]") {
  const Tensor x = placeholder({.shape = {2, None, 1}, .name = "x"});
  const Tensor m = placeholder({.shape = {2, None}, .dtype = "bool", .name = "m"});
  RnnOptions options{};
  options.mask = m;
  const auto keeping = [](const Tensor& in, const Tensors&) { return StepResult{in, {}}; };
  const unsigned line = __LINE__ + 1;
  const RnnResult run = rnn(keeping, x, {}, options);
  const Function f = function({x, m}, {run.outputs}, {.backend = tested_backend()});
  const Array three = Array::zeros({2, 3, 1}), four = Array::full({2, 4}, 1, DType::Bool);
  testing::run({{throws_at<ValueError>(line), [&] { f({three, four}); },
                 "rnn: size m.1 of axis 1 is not x.1 (bool[2,m.1]); in this call m.1 is 4 and x.1 "
                 "is 3"}});
}

}  // namespace kiln::test
