// Tests matmuls of float32 by variables of float16 and bfloat16: results have the bits of the same
// program that stores float32 copies of the weights, and plans show that no copy is stored.
#include "tests/support/catch.h"
#include "tests/support/environment.h"
#include "tests/support/has.h"
#include "tests/support/scratch.h"

#include <kiln/k.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace kiln;
using kiln::testing::EnvironmentVariable;
using kiln::testing::has;

namespace {

using Dims = std::vector<std::int64_t>;

Array drawn(const Dims& dims, unsigned seed) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  std::minstd_rand generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = uniform(generator);
  return Array(values, dims);
}

/// The function with and without its float32 copies of weights.
struct Both {
  Function narrow, copying;
};

Both functions_of(const std::vector<Tensor>& inputs, const Tensor& output) {
  const auto make = [&](const std::optional<std::string>& disabled) {
    const EnvironmentVariable disable("KILN_DISABLE", disabled);
    return function(inputs, {output}, {.backend = "cpu"});
  };
  return {make(std::nullopt), make("read_narrow_weights")};
}

void have_same_bits(const Both& both, const std::vector<Array>& feeds) {
  const Array found = both.narrow(feeds)[0], want = both.copying(feeds)[0];
  REQUIRE(found.dims() == want.dims());
  for (std::size_t i = 0; i < static_cast<std::size_t>(want.size()); ++i) {
    const float x = found.as<float>()[i], y = want.as<float>()[i];
    const bool same = std::isnan(y) ? std::isnan(x) : std::memcmp(&x, &y, sizeof(x)) == 0;
    if (!same) FAIL("element " << i << ": " << x << ", not " << y);
  }
}

std::string dumped(const Function& f, Stage stage, const std::string& file) {
  const kiln::testing::Scratch scratch;
  f.dump(scratch.path("f"), stage);
  return kiln::testing::contents_of(scratch.path("f/" + file));
}

float value_at(const Tensor& variable, std::size_t i) {
  return get_value(variable).astype(DType::Float32).as<float>()[i];
}

std::string plan_of(const Function& f) { return dumped(f, Stage::Plan, "52-plan.txt"); }

}  // namespace

TEST_CASE("narrow weights: matmuls read them, with the bits of float32 copies") {
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    for (const bool transposed : {false, true}) {
      for (const auto& [k, n] : std::vector<std::pair<std::int64_t, std::int64_t>>{
               {2, 1}, {5, 3}, {33, 70}, {300, 129}, {40, 1000}}) {
        INFO(dtype_name(dtype) << " " << k << "x" << n << (transposed ? ", transposed" : ""));
        const Array start = drawn(transposed ? Dims{n, k} : Dims{k, n}, 1);
        const Tensor w = variable(start, {.dtype = dtype}), b = variable(drawn({n}, 2));
        const Tensor x = placeholder({.shape = {None, k}}), wide = cast(w, "float32");
        const Both both = functions_of({x}, relu(dot(x, transposed ? transpose(wide) : wide) + b));
        CHECK(has(plan_of(both.narrow), "float32(%"));
        CHECK_FALSE(has(plan_of(both.narrow), "_cast"));
        CHECK_FALSE(has(plan_of(both.copying), "float32(%"));
        for (const std::int64_t m : {0, 1, 2, 7, 64, 300}) {
          have_same_bits(both, {drawn({m, k}, static_cast<unsigned>(m) + 3)});
        }
      }
    }
  }
}

TEST_CASE("narrow weights: calls read the current values") {
  const Tensor w = variable(drawn({20, 30}, 1), {.dtype = DType::BFloat16});
  const Tensor x = placeholder({.shape = {None, 20}});
  const Both both = functions_of({x}, dot(x, cast(w, "float32")));
  for (int call = 0; call < 6; ++call) {
    have_same_bits(both, {drawn({call % 2 == 0 ? 2 : 50, 20}, 5)});
    set_value(w, drawn({20, 30}, static_cast<unsigned>(call) + 7).astype(DType::BFloat16));
  }
  CHECK(has(dumped(both.narrow, Stage::Claims, "50-claims.txt"), "with weights of bfloat16"));
}

TEST_CASE("narrow weights: NaN, infinities, zeros and subnormals") {
  const float huge = std::numeric_limits<float>::infinity();
  const std::vector<float> special{NAN, huge, -huge, 0.0f, -0.0f, 1e-40f, -1e-40f, 6e-8f, 1, 65504};
  const auto count = static_cast<std::int64_t>(special.size());
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    INFO(dtype_name(dtype));
    std::vector<float> rows = special;
    rows.insert(rows.end(), special.size(), 1);
    const Tensor w = variable(Array(rows, {2, count}), {.dtype = dtype});
    const Tensor x = placeholder({.shape = {None, 2}});
    have_same_bits(functions_of({x}, relu(dot(x, cast(w, "float32")))), {Array(rows, {count, 2})});
    const Tensor column = variable(Array(special, {count, 1}), {.dtype = dtype});
    const Tensor y = placeholder({.shape = {None, count}});
    have_same_bits(functions_of({y}, dot(y, cast(column, "float32"))), {drawn({3, count}, 1)});
  }
}

TEST_CASE("narrow weights: a copy that something else reads stays") {
  const Tensor w = variable(drawn({20, 20}, 1), {.dtype = DType::Float16});
  const Tensor x = placeholder({.shape = {None, 20}}), wide = cast(w, "float32");
  const Both both = functions_of({x}, dot(dot(x, wide), transpose(wide)) + sum(tanh(wide) * wide));
  CHECK(has(plan_of(both.narrow), "float32(%"));
  have_same_bits(both, {drawn({3, 20}, 2)});
  // A result is stored even if matmuls read the weight itself.
  const Function result = function({x}, {dot(x, wide), wide}, {.backend = "cpu"});
  CHECK(has(plan_of(result), "float32(%"));
  CHECK(result({drawn({3, 20}, 2)})[1].as<float>()[7] == value_at(w, 7));
  // A weight whose copy is changed in part is no copy.
  const Tensor changed = concatenate({wide.slice(0, 10), wide.slice(10, 20) * 2.0}, {.axis = 0});
  const Both parts = functions_of({x}, dot(x, changed));
  CHECK_FALSE(has(plan_of(parts.narrow), "float32(%"));
  have_same_bits(parts, {drawn({3, 20}, 2)});
  // As lhs, the weight must be float32.
  const Tensor y = placeholder({.shape = {20, None}});
  const Both left = functions_of({y}, dot(wide, y));
  CHECK_FALSE(has(plan_of(left.narrow), "float32(%"));
  have_same_bits(left, {drawn({20, 300}, 2)});
}

TEST_CASE("narrow weights: a program that updates the weight copies it") {
  const Tensor w = variable(drawn({6, 5}, 1), {.dtype = DType::BFloat16});
  const Tensor x = placeholder({.shape = {None, 6}});
  const Tensor y = dot(x, cast(w, "float32"));
  const Function step = function({x}, {y}, {.updates = {update(w, w * 0.5)}, .backend = "cpu"});
  step({drawn({3, 6}, 2)});
  CHECK_FALSE(has(plan_of(step), "float32(%"));
}
