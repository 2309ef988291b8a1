// Tests loops that are one kernel: launches, bits equal to those of a launch per step, faults.
#include "tests/support/catch.h"
#include "tests/backends/cuda/fake_device.h"
#include "tests/core/ops/special_values.h"
#include "tests/support/environment.h"
#include "tests/support/error_text.h"
#include "tests/support/has.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <functional>

using namespace kiln;
using cuda_test::control;
using kiln::testing::contents_of;
using kiln::testing::EnvironmentVariable;
using kiln::testing::error_of;
using kiln::testing::has;
using kiln::testing::Scratch;

namespace {

/// Inputs of a program, and its outputs, built anew for each function.
struct LoopProgram {
  std::vector<Tensor> inputs, outputs;
};
using MakeProgram = std::function<LoopProgram()>;

struct Compiled {
  Function function;
  std::string plan;  // the dump
  int launches_of(const std::vector<Array>& feeds) const {
    const int before = control().calls("cuLaunchKernel");
    const std::vector<Array> unused = function(feeds);
    return control().calls("cuLaunchKernel") - before;
  }
};

Compiled compiled(const MakeProgram& make, const char* disabled = "",
                  const std::string& backend = "cuda") {
  const EnvironmentVariable disable("KILN_DISABLE", std::string(disabled));
  const LoopProgram program = make();
  const Scratch scratch;
  Function f = function(program.inputs, program.outputs, {.backend = backend});
  f.dump(scratch.path("f"));
  const std::string plan =
      contents_of(scratch.path("f/52-plan.txt")) + contents_of(scratch.path("f/54-schedule.txt"));
  return {f, plan};
}

/// Numbers between -1 and 1 without a pattern along any axis.
Array drawn(const std::vector<std::int64_t>& dims, DType dtype = DType::Float32) {
  Array array = Array::full(dims, 0, DType::Float64);
  std::uint64_t state = 1;
  for (double& x : array.as<double>()) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x = static_cast<double>(state >> 40) / (1 << 23) - 1;
  }
  return array.astype(dtype);
}

Tensor input(Shape shape, const char* dtype = "float32") {
  return placeholder({.shape = std::move(shape), .dtype = dtype});
}

using Cell = std::function<std::vector<Tensor>(const Tensor&, const std::vector<Tensor>&)>;

/// All outputs (`stacks_before`: the first state before each step), the last one and the states of
/// `states` states after steps over (None, None, 5), and their gradients.
MakeProgram recurrence(std::size_t states, const Cell& cell, const RnnOptions& options = {},
                       bool is_masked = false, bool stacks_before = false) {
  return [=] {
    const Tensor x = input({None, None, 5}), mask = input({None, None});
    const StepFunction step = [&](const Tensor& now, const std::vector<Tensor>& before) {
      const std::vector<Tensor> next = cell(now, before);
      return StepResult{stacks_before ? before[0] : next[0], next};
    };
    std::vector<Tensor> first;
    for (std::size_t i = 0; i < states; ++i) {
      first.push_back(sum(x, {.axis = {1}}) * (0.25 + 0.5 * static_cast<double>(i)));
    }
    RnnOptions all = options;
    if (is_masked) all.mask = mask;
    const RnnResult result = rnn(step, x, first, all);
    LoopProgram program{{x}, {result.outputs, result.last_output}};
    if (is_masked) program.inputs.push_back(mask);
    for (const Tensor& state : result.new_states) program.outputs.push_back(state);
    const Tensor loss = sum(square(result.outputs)) + sum(result.new_states.back());
    program.outputs.push_back(gradients(loss, {x})[0]);
    return program;
  };
}

std::vector<Tensor> elementwise(const Tensor& x, const std::vector<Tensor>& h) {
  return {tanh(x + h[0] * 0.5)};
}
std::vector<Tensor> normalised(const Tensor& x, const std::vector<Tensor>& h) {
  return {softmax(x + h[0]) * 2.0};
}
std::vector<Tensor> neighbours(const Tensor& x, const std::vector<Tensor>& h) {
  const Tensor before = concatenate({h[0] * 0.25, h[0]}, {.axis = 1});
  return {x + slice(before, {0, 2}, {-1, 5})};
}
/// The second state is the first one of the step before.
std::vector<Tensor> fibonacci(const Tensor& x, const std::vector<Tensor>& h) {
  return {h[0] * 0.5 + h[1] * 0.25 + x, h[0]};
}
std::vector<Tensor> swapped(const Tensor& x, const std::vector<Tensor>& h) {
  return {h[1] + x, h[0]};
}
std::vector<Tensor> several(const Tensor& x, const std::vector<Tensor>& h) {
  const Tensor gate = sigmoid(h[0] + x);
  return {gate * h[1], gate + h[2] * 0.5, sum(h[0], {.axis = {1}, .keepdims = true}) * x};
}
/// Every index is 1 or 2; the table does not depend on rows.
std::vector<Tensor> gathering(const Tensor& x, const std::vector<Tensor>& h) {
  const Tensor table = constant(
      Array{{1.f, 2.f, 3.f, 4.f, 5.f}, {5.f, 4.f, 3.f, 2.f, 1.f}, {1.f, 1.f, 2.f, 2.f, 3.f}});
  const Tensor which = cast(greater(sum(x, {.axis = {1}}), 0.0), "int32") + 1;
  return {tanh(gather(table, which) + h[0] * 0.5)};
}

const struct Row {
  const char* name;
  MakeProgram make;
  bool is_masked = false;
} kRows[] = {
    {"elementwise", recurrence(1, elementwise)},
    {"backwards", recurrence(1, elementwise, {.go_backwards = true})},
    {"masked", recurrence(1, elementwise, {}, true), true},
    {"stacks the state before each step", recurrence(1, elementwise, {}, false, true)},
    {"backwards, the state before",
     recurrence(1, elementwise, {.go_backwards = true}, false, true)},
    {"reductions of rows", recurrence(1, normalised)},
    {"neighbours in the row", recurrence(1, neighbours)},
    {"a carry that is the other one", recurrence(2, fibonacci)},
    {"carries that alternate", recurrence(2, swapped)},
    {"several carries", recurrence(3, several)},
    {"masked, several carries", recurrence(3, several, {}, true), true},
    {"gathers", recurrence(1, gathering)},
};

void check_same_bits(const std::vector<Array>& found, const std::vector<Array>& wanted) {
  REQUIRE(found.size() == wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO("output " << i);
    CHECK(test::bit_difference(found[i], wanted[i]) == "");
  }
}

int count(const std::string& in, const std::string& part) {
  int found = 0;
  for (std::size_t at = in.find(part); at != in.npos; at = in.find(part, at + 1)) ++found;
  return found;
}

constexpr std::int64_t kSizes[][2] = {{1, 1}, {3, 2}, {2, 7}, {1000, 3}, {1, 20}, {0, 3}};

}  // namespace

TEST_CASE("row loops: the bits are those of a launch per step, for rows and steps of any number") {
  control().reset();
  for (const Row& row : kRows) {
    INFO(row.name);
    const Compiled one = compiled(row.make), many = compiled(row.make, "fuse_loops");
    INFO(one.plan);
    CHECK(count(one.plan, ", one kernel; ") == 2);
    CHECK(count(one.plan, "loop loop") == 2);
    CHECK_FALSE(has(many.plan, ", one kernel; "));
    CHECK_FALSE(has(many.plan, "loop loop"));
    for (const auto& [rows, steps] : kSizes) {
      INFO(rows << " rows, " << steps << " steps");
      std::vector<Array> feeds{drawn({rows, steps, 5})};
      if (row.is_masked) {
        Array mask = drawn({rows, steps});
        for (float& x : mask.as<float>()) x = x > 0 ? 1.f : 0.f;
        feeds.push_back(mask);
      }
      const std::vector<Array> wanted = many.function(feeds);
      for (int call = 0; call < 3; ++call) check_same_bits(one.function(feeds), wanted);
    }
  }
}

TEST_CASE("row loops: launches do not depend on the number of steps") {
  control().reset();
  const Compiled f = compiled(recurrence(1, elementwise));
  const int launches = f.launches_of({drawn({4, 2, 5})});
  CHECK(f.launches_of({drawn({4, 50, 5})}) == launches);
  const Compiled many = compiled(recurrence(1, elementwise), "fuse_loops");
  CHECK(many.launches_of({drawn({4, 50, 5})}) >= launches + 98);
}

namespace {

LoopProgram ctc_program() {
  const Tensor logits = input({None, None, 6}), y = input({None, 4}, "int32");
  const Tensor steps = input({None, 1}, "int32"), counts = input({None, 1}, "int32");
  const Tensor loss = sum(ctc_batch_cost(y, softmax(logits), steps, counts));
  return {{logits, y, steps, counts}, {loss, gradients(loss, {logits})[0]}};
}

std::vector<Array> ctc_feeds(std::int64_t rows, std::int64_t steps) {
  Array y = Array::full({rows, 4}, 0, DType::Int32);
  std::int32_t next = 0;
  for (std::int32_t& label : y.as<std::int32_t>()) label = next++ % 5;
  return {drawn({rows, steps, 6}), y,
          Array::full({rows, 1}, static_cast<double>(steps), DType::Int32),
          Array::full({rows, 1}, 4, DType::Int32)};
}

}  // namespace

TEST_CASE("row loops: the forward and the backward recursion of CTC are a launch each") {
  control().reset();
  const Compiled one = compiled(ctc_program), many = compiled(ctc_program, "fuse_loops");
  INFO(one.plan);
  CHECK(count(one.plan, ", one kernel; ") == 2);
  CHECK(count(one.plan, "loop loop") == 2);
  CHECK(one.launches_of(ctc_feeds(3, 12)) == one.launches_of(ctc_feeds(3, 30)));
  for (const auto& [rows, steps] : {std::pair{1, 9}, {3, 30}, {40, 12}}) {
    const std::vector<Array> feeds = ctc_feeds(rows, steps);
    check_same_bits(one.function(feeds), many.function(feeds));
  }
}

TEST_CASE("row loops: scans of scalars are one block; nested loops are one launch in each step") {
  control().reset();
  const auto fold = [](const Tensor& sum, const Tensor& x) { return tanh(sum + x); };
  const MakeProgram scalars = [&] {
    const Tensor x = input({None});
    return LoopProgram{{x}, {foldl(fold, x, {.initializer = zeros({})})}};
  };
  const MakeProgram nested = [&] {
    const Tensor x = input({None});
    const auto outer = [&](const Tensor& sum, const Tensor& y) {
      return foldl(fold, x, {.initializer = sum * y});
    };
    return LoopProgram{{x}, {foldl(outer, x, {.initializer = zeros({}) + 0.5})}};
  };
  for (const MakeProgram& make : {scalars, nested}) {
    const Compiled one = compiled(make), many = compiled(make, "fuse_loops");
    INFO(one.plan);
    CHECK(count(one.plan, ", one kernel; ") == 1);
    for (const std::int64_t steps : {0, 1, 2, 9}) {
      INFO(steps);
      const std::vector<Array> wanted = many.function({drawn({steps})});
      for (int call = 0; call < 3; ++call) check_same_bits(one.function({drawn({steps})}), wanted);
    }
  }
  CHECK(compiled(scalars).launches_of({drawn({9})}) <= 2);
  const Compiled inner = compiled(nested);
  CHECK(has(inner.plan, "a kernel for each step: step 0 is no kernel") |
        has(inner.plan, "a kernel for each step: step 1 is no kernel"));
  CHECK(inner.launches_of({drawn({9})}) <= 9 * 2 + 2);
}

TEST_CASE("row loops: dumps give the reason for a launch per step") {
  control().reset();
  const auto loop_over = [](std::int64_t units, std::size_t states, const Cell& cell) {
    return MakeProgram([=] {
      const Tensor x = input({None, None, units});
      const StepFunction step = [&](const Tensor& now, const std::vector<Tensor>& before) {
        const std::vector<Tensor> next = cell(now, before);
        return StepResult{next[0], next};
      };
      const std::vector<Tensor> first(states, sum(x, {.axis = {1}}));
      return LoopProgram{{x}, {rnn(step, x, first).last_output}};
    });
  };
  const Cell dense = [](const Tensor& x, const std::vector<Tensor>& h) {
    return std::vector<Tensor>{tanh(dot(h[0], ones({5, 5})) + x)};
  };
  CHECK(has(compiled(loop_over(5, 1, dense)).plan, "a kernel for each step: step 0 is no kernel"));
  CHECK(has(compiled(loop_over(2'049, 1, elementwise)).plan, "more than 2048 points per row"));
  CHECK(has(compiled(loop_over(2'048, 1, elementwise)).plan, ", one kernel"));
  const Cell four = [](const Tensor& x, const std::vector<Tensor>& h) {
    return std::vector<Tensor>{h[1] + x, h[2] - x, h[3] * 0.5, tanh(h[0])};
  };
  CHECK(has(compiled(loop_over(2'000, 4, four)).plan, "bytes of shared memory, more than 49152"));
  CHECK(has(compiled(loop_over(500, 4, four)).plan, ", one kernel"));
}

TEST_CASE("row loops: an index out of range names the first step and its lowest point") {
  control().reset();
  const MakeProgram make = [] {
    const Tensor i = input({None, None}, "int32");
    const Tensor table = constant(Array{{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}});
    const StepFunction step = [&](const Tensor& now, const std::vector<Tensor>& states) {
      const Tensor next = gather(table, reshape(now, {-1})) + states[0] * 0.5;
      return StepResult{next, {next}};
    };
    const Tensor start = sum(cast(i, "float32"), {.axis = {1}, .keepdims = true}) * zeros({1, 2});
    return LoopProgram{{i}, {rnn(step, expand_dims(i, {.axis = 2}), {start}).outputs}};
  };
  const Compiled one = compiled(make), many = compiled(make, "fuse_loops"),
                 wanted = compiled(make, "", "reference");
  INFO(one.plan);
  REQUIRE(has(one.plan, ", one kernel"));
  constexpr std::int64_t kRowCount = 100, kSteps = 6;
  const auto run = [&](const Compiled& f, const Array& array) {
    return error_of<ValueError>([&] { f.function({array}); });
  };
  // Places of indices out of range: row, step, index.
  using Bad = std::array<std::int64_t, 3>;
  for (const std::vector<Bad>& bad : {std::vector<Bad>{{0, 0, 7}},
                                      {{99, 0, -4}},
                                      {{99, 5, 3}},
                                      {{0, 5, 9}, {99, 4, 8}},
                                      {{70, 2, 3}, {3, 2, 4}, {50, 1, 5}},
                                      {{3, 2, 4}, {70, 2, 3}}}) {
    Array array = Array::full({kRowCount, kSteps}, 1, DType::Int32);
    for (const auto& [row, step, index] : bad) {
      array.as<std::int32_t>()[static_cast<std::size_t>(row * kSteps + step)] =
          static_cast<std::int32_t>(index);
    }
    const std::string expected = run(wanted, array);
    INFO(expected);
    // Launches run their blocks in ascending and descending order alternately.
    for (int call = 0; call < 4; ++call) {
      CHECK(run(one, array) == expected);
      CHECK(run(many, array) == expected);
    }
  }
}
