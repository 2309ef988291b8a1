// Tests the limit on the launches of a call, that equal kernels are compiled once, and that the
// picture of a plan needs no device.
#include "tests/support/catch.h"
#include "tests/backends/cuda/fake_device.h"
#include "tests/core/ops/evaluate.h"
#include "tests/support/error_text.h"
#include "tests/support/has.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "test_folders.h"

#include <kiln/k.h>

#include <optional>

using namespace kiln;
using cuda_test::control;
using kiln::testing::contents_of;
using kiln::testing::has;
using kiln::testing::Scratch;

TEST_CASE("launches: more than a call can number are an error before the first one") {
  control().reset();
  const Tensor x = placeholder({.shape = {None}, .name = "x"});
  const auto inner = [](const Tensor& sum, const Tensor& one) { return tanh(sum + one); };
  const auto outer = [&](const Tensor& sum, const Tensor& one) {
    return foldl(inner, x, {.initializer = sum * one});
  };
  const Function f = function({x}, {foldl(outer, x, {.initializer = zeros({})})},
                              {.name = "f", .backend = "cuda"});
  CHECK_THAT(testing::error_of<OutOfMemory>([&] { f({Array::zeros({60'000})}); }),
             Catch::Matchers::StartsWith("f: a call with these sizes launches more than "
                                         "2147483647 kernels, the maximum of the cuda backend"));
  CHECK(f({Array::zeros({3})})[0] == Array(0.f));
}

TEST_CASE("launches: kernels that differ in names alone are one function") {
  control().reset();
  const Scratch scratch;
  const Tensor x = placeholder({.shape = {2, 3}}), w = placeholder({.shape = {3, 3}});
  const auto layer = [&](const Tensor& y) { return dot(tanh(y), w); };
  const std::vector<Tensor> outputs{layer(layer(layer(x)))};
  const Function f = function({x, w}, outputs, {.backend = "cuda"});
  f.dump(scratch.path("f"));
  const std::string text = contents_of(scratch.path("f/55-cuda_c.cu"));
  const std::string schedules = contents_of(scratch.path("f/54-schedule.txt"));
  INFO(schedules << text);
  const auto count = [](const std::string& in, const std::string& part) {
    int found = 0;
    for (std::size_t at = in.find(part); at != in.npos; at = in.find(part, at + 1)) ++found;
    return found;
  };
  CHECK(count(text, "extern \"C\" __global__") == 1);
  CHECK(count(schedules, "; the function k0_tanh_line") == 2);
  const Array fed = Array::full({2, 3}, 0.25).astype(DType::Float32);
  const Array weights = Array::full({3, 3}, 0.5).astype(DType::Float32);
  CHECK(test::difference(f({fed, weights})[0],
                         function({x, w}, outputs, {.backend = "reference"})({fed, weights})[0],
                         1e-5, 1e-6) == "");
}

TEST_CASE("kiln graph: draws kernels and plan of the cuda backend without a device") {
  control().reset();
  const Scratch scratch;
  const Tensor x = placeholder({.shape = {None, 3}, .name = "x"});
  const Variable w = variable(Array::full({3, 2}, 0.5), {.name = "w"});
  function({x}, {tanh(dot(x, w))}, {.backend = "reference"}).dump(scratch.path("f"), Stage::Module);
  for (const char* what : {"kernels", "plan"}) {
    const std::string picture = scratch.path(std::string(what) + ".dot");
    const testing::Outcome outcome = testing::run_shell(
        "KILN_CUDA_ARCH=sm_90 KILN_CUDA_LIBRARIES='" + fake_cuda::library_folder(KILN_BINARY_DIR) +
        "' '" KILN_BINARY_DIR "/bin/kiln' graph '" + scratch.path("f/40-module.kir") +
        "' --backend cuda --what " + what + " -o " + picture);
    INFO(outcome.text);
    REQUIRE(outcome.status == 0);
    const std::string text = contents_of(picture);
    INFO(text);
    CHECK(has(text, "w float32[3,2]"));
    CHECK(has(text, "k0_tanh_line"));
  }
}

namespace {

enum class Sizes { Equal, Different };

/// A gather that may fail, and a kernel for each variable that updates it.
struct Updates {
  Updates(std::size_t count, const std::string& backend, Sizes sizes = Sizes::Equal) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto size = sizes == Sizes::Equal ? 5 : static_cast<std::int64_t>(5 + 37 * i % 401);
      const Array start = Array::full({size}, 0.5 * static_cast<double>(i));
      const Variable w = variable(start), mean = variable(zeros_of(size)),
                     square_mean = variable(zeros_of(size));
      const Tensor slope = tanh(w) + 0.25;
      const Tensor m = 0.9 * mean + 0.1 * slope, s = 0.999 * square_mean + 0.001 * square(slope);
      updates.insert(updates.end(), {update(mean, m), update(square_mean, s),
                                     update(w, w - 0.01 * m / (sqrt(s) + 1e-7))});
      variables.insert(variables.end(), {w, mean, square_mean});
    }
    step = function({rows}, {gather(table, rows)}, {.updates = updates, .backend = backend});
  }
  static Array zeros_of(std::int64_t size) { return Array::full({size}, 0); }
  std::vector<Array> values() const { return batch_get_value(variables); }
  void run(std::int32_t row) const { (*step)({Array{row}}); }
  /// Kernels that a call launches.
  int launches() const {
    const int before = control().calls("cuLaunchKernel");
    run(0);
    return control().calls("cuLaunchKernel") - before;
  }

  Tensor rows = placeholder({.shape = {1}, .dtype = "int32"});
  Tensor table = constant(Array{{1.f, 2.f}, {3.f, 4.f}});
  std::vector<Tensor> variables;
  std::vector<UpdateOp> updates;
  std::optional<Function> step;
};

/// Kernels that the first call launches; four calls must give the values of `reference`.
int launches_of_updates(std::size_t count, Sizes sizes = Sizes::Equal) {
  const Updates found(count, "cuda", sizes), wanted(count, "reference", sizes);
  const int launches = found.launches();
  wanted.run(0);
  for (int call = 0; call < 3; ++call) {
    found.run(1);
    wanted.run(1);
  }
  const std::vector<Array> f = found.values(), w = wanted.values();
  for (std::size_t i = 0; i < w.size(); ++i) CHECK(test::difference(f[i], w[i], 1e-5, 1e-6) == "");
  return launches;
}

}  // namespace

TEST_CASE("launches: updates of equal shapes are one launch") {
  control().reset();
  CHECK(launches_of_updates(2) == 2);  // the gather, and one kernel
  CHECK(launches_of_updates(60) == 2);
  CHECK(launches_of_updates(130) == 4);  // a table has 63 rows of 8 words
}

TEST_CASE("launches: updates of different sizes are one launch") {
  control().reset();
  CHECK(launches_of_updates(2, Sizes::Different) == 2);
  CHECK(launches_of_updates(56, Sizes::Different) == 2);
  CHECK(launches_of_updates(57, Sizes::Different) == 3);  // a table has 56 rows of 9 words
}

TEST_CASE("launches: tensors of known and of unknown size share a launch") {
  control().reset();
  const Tensor x = placeholder({.shape = {None}}), w = variable(Array::full({37}, 3));
  const std::vector<Tensor> outputs{cast(x, "int32") * 2, cast(w, "int32") * 2};
  const Function f = function({x}, outputs, {.backend = "cuda"});
  const Function wanted = function({x}, outputs, {.backend = "reference"});
  for (const std::int64_t size : {1, 37, 500, 0}) {
    INFO(size);
    const Array fed = Array::full({size}, 1.5).astype(DType::Float32);
    const int before = control().calls("cuLaunchKernel");
    CHECK(f({fed}) == wanted({fed}));
    CHECK(control().calls("cuLaunchKernel") == before + 1);
  }
}

TEST_CASE("launches: casts of weights to halves are one launch") {
  control().reset();
  const Scratch scratch;
  const auto value_after = [&](const std::string& backend) {
    const Tensor x = placeholder({.shape = {None, 8}});
    Tensor y = cast(x, "bfloat16");
    std::vector<Tensor> weights;
    std::int64_t inputs = 8;
    for (const int units : {16, 8, 24, 8, 2}) {
      weights.push_back(variable(Array::full({inputs, units}, 0.125)));
      y = dot(y, cast(weights.back(), "bfloat16"));
      inputs = units;
    }
    const Tensor loss = mean(square(cast(y, "float32")));
    const std::vector<Tensor> slopes = gradients(loss, weights);
    std::vector<UpdateOp> updates;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      updates.push_back(update(weights[i], weights[i] - 0.0625 * slopes[i]));
    }
    const Function step = function({x}, {loss}, {.updates = updates, .backend = backend});
    for (int call = 0; call < 3; ++call) step({Array::full({4, 8}, 0.25).astype(DType::Float32)});
    step.dump(scratch.path(backend));
    return batch_get_value(weights);
  };
  const std::vector<Array> found = value_after("cuda"), wanted = value_after("reference");
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(test::difference(found[i], wanted[i], 1e-2, 1e-3) == "");
  }
  const std::string plan = contents_of(scratch.path("cuda/52-plan.txt"));
  INFO(plan);
  CHECK(has(plan, "at the beginning: 5 steps of equal kernels"));
  CHECK(has(contents_of(scratch.path("cuda/54-schedule.txt")), "; any extent"));
}

TEST_CASE("launches: after an index out of range no update of a batch is written") {
  control().reset();
  const Updates updates(20, "cuda");
  for (int call = 0; call < 4; ++call) {
    INFO(call);  // the third one replays a graph
    const std::vector<Array> before = updates.values();
    CHECK_THROWS_AS(updates.run(2), Error);
    CHECK(updates.values() == before);
    updates.run(1);
    CHECK(updates.values() != before);
  }
}

TEST_CASE("launches: timed calls launch updates one by one, with the same values") {
  control().reset();
  const testing::Scratch scratch;
  const Updates timed(20, "cuda"), plain(21, "cuda");
  timed.step->dump(scratch.path("f"), Stage::Timings);
  CHECK(timed.launches() == 21);
  CHECK(plain.launches() == 2);
  const std::vector<Array> values = timed.values(), all = plain.values();
  CHECK(std::equal(values.begin(), values.end(), all.begin()));
}
