// Tests programs of eval, which take their sizes, seeds and constants as arguments.
#include "tests/support/catch.h"
#include "tests/support/environment.h"
#include "tests/support/error_text.h"
#include "tests/support/scratch.h"

#include "core/types/text.h"
#include "runtime/function/compile/executable_cache.h"

#include <kiln/k.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <thread>

using namespace kiln;

namespace {

using kiln::testing::EnvironmentVariable;

/// Counts modules that backends compile from its construction on.
class CompileCount {
 public:
  std::int64_t operator()() const { return now() - start_; }

 private:
  static std::int64_t now() { return runtime::executable_cache_counts().compiled; }
  const std::int64_t start_ = now();
};

using Make = std::function<Tensor()>;

/// Evaluates make() in the state that a seed sets.
Array value_of(const Make& make) {
  set_random_seed(11);
  return eval(make());
}

Array compiled_value_of(const Make& make) {
  const EnvironmentVariable disable("KILN_DISABLE", "executable_cache");
  return value_of(make);
}

/// Checks that the value of make() has the bits of a program that is compiled as written, and that
/// nothing is compiled from the second time on.
void check_lifted(const std::string& name, const Make& make) {
  INFO(name);
  const Array expected = compiled_value_of(make);
  CHECK(value_of(make) == expected);
  const CompileCount compiled;
  CHECK(value_of(make) == expected);
  CHECK(compiled() == 0);
}

double limit_of(double fan) { return std::sqrt(6 / fan); }

struct Named {
  std::string name;
  Make make;
};

/// The random initialisers of Keras, for a shape and a dtype.
std::vector<Named> initialisers(const Shape& shape, const std::string& dtype, double fan_in,
                                double fan_out) {
  const auto uniform = [=](double limit) {
    return
        [=] { return random_uniform(shape, {.minval = -limit, .maxval = limit, .dtype = dtype}); };
  };
  const auto normal = [=](double scale) {
    return [=] { return truncated_normal(shape, {.stddev = std::sqrt(scale), .dtype = dtype}); };
  };
  return {
      {"glorot_uniform", uniform(limit_of(fan_in + fan_out))},
      {"he_uniform", uniform(limit_of(fan_in))},
      {"lecun_uniform", uniform(std::sqrt(3 / fan_in))},
      {"glorot_normal", normal(2 / (fan_in + fan_out))},
      {"he_normal", normal(2 / fan_in)},
      {"lecun_normal", normal(1 / fan_in)},
      {"RandomNormal", [=] { return random_normal(shape, {.stddev = 0.05, .dtype = dtype}); }},
      {"RandomUniform", uniform(0.05)},
      {"TruncatedNormal", normal(0.0025)},
      {"Orthogonal's draw", [=] { return random_normal(shape, {.dtype = dtype}); }},
      {"Zeros", [=] { return constant(0.f, {.dtype = dtype, .shape = shape}); }},
      {"Ones", [=] { return constant(1.f, {.dtype = dtype, .shape = shape}); }},
      {"Constant", [=] { return constant(0.3, {.dtype = dtype, .shape = shape}); }},
  };
}

}  // namespace

TEST_CASE("eval: 400 draws of different shapes compile at most 3 programs") {
  const EnvironmentVariable enable("KILN_DISABLE", std::nullopt);
  std::vector<std::vector<std::int64_t>> shapes;
  for (std::int64_t i = 0; i < 100; ++i) {
    shapes.push_back({i});
    shapes.push_back({i, 7});
    shapes.push_back({3, i, 5});
    shapes.push_back({1, i + 1, 2, 3});
  }
  const Make longest = [] { return random_normal({2000}, {.seed = 5}); };
  const Array expected = compiled_value_of(longest);
  const CompileCount compiled;
  int wrong = 0;
  for (const auto& dims : shapes) {
    std::vector<ShapeEntry> entries(dims.begin(), dims.end());
    const Array value = value_of([&] { return random_normal(Shape(entries), {.seed = 5}); });
    REQUIRE(value.dims() == dims);
    // A draw depends on the linear index of its element, not on the shape.
    const auto elements = value.as<float>(), all = expected.as<float>();
    wrong += std::equal(elements.begin(), elements.end(), all.begin()) ? 0 : 1;
  }
  CHECK(wrong == 0);
  CHECK(compiled() <= 3);
  for (std::int64_t n = 1; n <= 30; ++n) {
    variable(random_normal({n, 2}, {.mean = 1. / static_cast<double>(n), .stddev = 3}));
  }
  CHECK(compiled() <= 3);
}

TEST_CASE("eval: initialisers have the bits of programs that are compiled for their shapes") {
  const EnvironmentVariable enable("KILN_DISABLE", std::nullopt);
  for (const std::string dtype : {"float32", "float64", "float16", "bfloat16"}) {
    for (const auto& [name, make] : initialisers({3, 3, 5, 7}, dtype, 45, 63)) {
      check_lifted(dtype + " " + name, make);
    }
  }
  for (const auto& [name, make] : initialisers({130, 257}, "float32", 130, 257)) {
    check_lifted("large " + name, make);
  }
  for (const auto& [name, make] : initialisers({4, 0}, "float32", 4, 1)) {
    check_lifted("empty " + name, make);
  }
}

TEST_CASE("eval: other pointwise programs have the bits of programs as written") {
  const EnvironmentVariable enable("KILN_DISABLE", std::nullopt);
  const auto draw = [](std::int64_t seed) { return random_uniform({5, 9}, {.seed = seed}); };
  const std::vector<Named> programs{
      {"interval", [&] { return random_uniform({5, 9}, {.minval = 2, .maxval = 7, .seed = 1}); }},
      {"empty interval",
       [&] { return random_uniform({5, 9}, {.minval = 7, .maxval = 7, .seed = 1}); }},
      {"binomial", [&] { return random_binomial({5, 9}, {.p = 0.3, .seed = 1}); }},
      {"dropout", [&] { return dropout(constant(2.f, {.shape = {5, 9}}), 0.3, {.seed = 4}); }},
      {"two seeds", [&] { return draw(3) * 2 + draw(9) / 3; }},
      {"functions", [&] { return exp(draw(3)) - sqrt(draw(3) + 1.5) * tanh(draw(4) * -2.5); }},
      {"powers", [&] { return pow(draw(3), 3) + pow(draw(3) + 1, -0.5) + square(draw(3)); }},
      {"chosen", [&] { return switch_(greater(draw(3), 0.4), draw(5) * 3, draw(3) - 8); }},
      {"clipped", [&] { return clip(draw(3), 0.2, 0.6) / 0.7; }},
      {"integers", [&] { return cast(draw(3) * 100, "int32"); }},
      {"bools", [&] { return less(draw(3), 0.25); }},
      {"relu", [&] { return relu(draw(3) - 0.5) * 0; }},
      {"small array", [&] { return constant(Array{{1.f, 2.f}, {3.f, 4.f}}) * 3 + 0.5; }},
      {"small integers", [&] { return constant(Array{1, 2, 3}, {.dtype = "int32"}) + 5; }},
      {"scalar plus draws", [&] { return sqrt(constant(0.5f)) * draw(3); }},
  };
  for (const auto& [name, make] : programs) check_lifted(name, make);
  std::vector<float> many(3000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i) / 7;
  check_lifted("large array", [&] { return constant(Array(many, {30, 100})) * 3 + 0.5; });
  check_lifted("empty array", [&] { return constant(Array::zeros({0, 3})) * 3 + 0.5; });
}

TEST_CASE("eval: constants that are not normal numbers keep their bits") {
  const EnvironmentVariable enable("KILN_DISABLE", std::nullopt);
  const float special[] = {0.f,
                           -0.f,
                           1e-40f,
                           -1e-40f,
                           std::numeric_limits<float>::min(),
                           std::numeric_limits<float>::max(),
                           std::numeric_limits<float>::infinity(),
                           -std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::quiet_NaN()};
  const Tensor draw = random_uniform({33}, {.seed = 2});
  for (const float x : special) {
    const Tensor scalar = constant(Array(x));
    check_lifted(text("filled with ", x), [&] { return constant(x, {.shape = {33}}); });
    check_lifted(text("plus ", x), [&] { return draw + scalar; });
    check_lifted(text("times ", x), [&] { return draw * scalar; });
    check_lifted(text("over ", x), [&] { return draw / scalar; });
    check_lifted(text("divided by ", x), [&] { return scalar / draw; });
    check_lifted(text("at least ", x), [&] { return maximum(draw - 0.5, scalar); });
    check_lifted(text("below ", x), [&] { return less(draw, scalar); });
  }
}

TEST_CASE("eval: programs that differ only in size, seed and constants share an executable") {
  const EnvironmentVariable enable("KILN_DISABLE", std::nullopt);
  const auto drawn = [](std::int64_t n, double low, double high, std::int64_t seed) {
    set_random_seed(1);
    return eval(random_uniform({n}, {.minval = low, .maxval = high, .seed = seed}));
  };
  const Array first = drawn(8, 0.5, 2, 1);
  const CompileCount compiled;
  const Array other_seed = drawn(8, 0.5, 2, 2), other_interval = drawn(8, -3, -1, 1);
  const Array longer = drawn(9, 0.5, 2, 1);
  CHECK(compiled() == 0);
  CHECK_FALSE(other_seed == first);
  for (int i = 0; i < 8; ++i) {
    CHECK(first.at<float>(i) == longer.at<float>(i));
    const float same_draw = (first.at<float>(i) - 0.5f) / 1.5f * 2 - 3;
    CHECK(other_interval.at<float>(i) == Approx(same_draw).margin(1e-5));
  }
  set_random_seed(1);
  CHECK(eval(random_uniform({8}, {.minval = 0.5, .maxval = 2, .seed = 1})) == first);
  CHECK(compiled() == 0);
}

TEST_CASE("eval: draws differ from call to call and repeat after the seed is set") {
  const auto draw = [] { return eval(random_uniform({4}, {.seed = 7})); };
  set_random_seed(3);
  const Array first = draw(), second = draw();
  CHECK_FALSE(first == second);
  set_random_seed(3);
  const Function f = function({}, {random_uniform({4}, {.seed = 7})});
  CHECK(f()[0] == first);
  CHECK(draw() == second);
}

TEST_CASE("eval: lack of memory names line and shape, before and after a cache hit") {
  const EnvironmentVariable enable("KILN_DISABLE", std::nullopt);
  const Tensor small = random_uniform({4}), large = random_uniform({1 << 20, 1 << 30});
  std::vector<std::string> errors;
  for (const char* disabled : {"executable_cache", ""}) {
    const EnvironmentVariable disable("KILN_DISABLE", disabled);
    try {
      eval(small);
      eval(large);
    } catch (const OutOfMemory& error) {
      CHECK(error.where().line == __LINE__ - 2);
      errors.push_back(error.message());
    }
  }
  REQUIRE(errors.size() == 2);
  CHECK(errors[0] == errors[1]);
}

TEST_CASE("eval: KILN_DUMP shows the program as written, whatever ran before") {
  const EnvironmentVariable enable("KILN_DISABLE", std::nullopt);
  const testing::Scratch scratch;
  const Tensor x = random_uniform({4, 3}, {.minval = 1, .maxval = 3});
  eval(x);
  const EnvironmentVariable dump("KILN_DUMP", scratch.folder() + ":module");
  eval(x);
  eval(x);
  int folders = 0;
  for (const auto& entry : std::filesystem::directory_iterator(scratch.folder())) {
    ++folders;
    CHECK(std::filesystem::exists(entry.path() / "40-module.kir"));
  }
  CHECK(folders == 2);
}

TEST_CASE("eval: threads that evaluate the same programs get their own values", "[concurrency]") {
  const EnvironmentVariable enable("KILN_DISABLE", std::nullopt);
  constexpr int kThreads = 4, kSizes = 6;
  std::atomic<int> wrong{0};
  const CompileCount compiled;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 3 * kSizes; ++i) {
        const float value = static_cast<float>(t * 100 + i);
        const Tensor x = constant(value, {.shape = {i % kSizes, 5}}) * 2 - 1;
        wrong += eval(x) == Array::full({i % kSizes, 5}, 2 * value - 1) ? 0 : 1;
        const Array draw = eval(random_uniform({5}, {.minval = t + 1., .maxval = t + 2.}));
        for (const float element : draw.as<float>()) wrong += std::floor(element) == t + 1 ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(compiled() <= 3 * kThreads);
}
