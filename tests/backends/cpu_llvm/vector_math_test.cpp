// Tests each math function, float format and ISA: special values exactly, samples within 2 units in
// the last place (pow in float64 within 4).
#include "tests/support/catch.h"
#include "tests/backends/cpu_llvm/exact.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace cpu_llvm_test;

namespace {

template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();
template <class T>
constexpr T kNan = std::numeric_limits<T>::quiet_NaN();

long double exact_for(double, Math f, double x, double y) { return exact_in_long_double(f, x, y); }
double exact_for(float, Math f, float x, float y) { return exact_in_double(f, x, y); }

template <class T>
struct Sample {
  std::vector<T> x, y;
  void add(T a, T b = T(1)) {
    x.push_back(a);
    y.push_back(b);
  }
};

/// Values at which a function or its formula changes: zeros, limits, thresholds, their neighbours.
template <class T>
std::vector<T> special_values() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {0,      Limits::min(), Limits::denorm_min(), Limits::max(), kInfinity<T>,
                           kNan<T>};
  constexpr double kEdges[] = {
      0x1p-80, 0x1p-30, 0.3465735902, 0.5,        0.7071067811, 1.0,         1.4142135623,
      2.0,     3.0,     4.05,         10.0,       20.0,         22.0,        40.0,
      44.0,    60.0,    87.3365447,   88.7228390, 103.9,        708.3964185, 709.7827128,
      745.2,   1e5,     1e9,          0x1p30,     0x1p60,       0x1p100};
  for (const double edge : kEdges) {
    const T at = static_cast<T>(edge);
    for (const T x : {at, std::nextafter(at, T(0)), std::nextafter(at, kInfinity<T>)}) {
      values.push_back(x);
    }
  }
  for (int n = 1; n < 200; n += 7) values.push_back(static_cast<T>(n * 1.5707963267948966L));
  const std::size_t half = values.size();
  for (std::size_t i = 0; i < half; ++i) values.push_back(-values[i]);
  return values;
}

/// Random bits, and numbers of ordinary magnitude.
template <class T>
Sample<T> random_sample(std::size_t count) {
  Sample<T> sample;
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> unit(-1, 1);
  while (sample.x.size() < count) {
    std::uint64_t bits = random();
    if (sizeof(T) == 4) bits >>= 32;
    T any;
    std::memcpy(&any, &bits, sizeof(T));
    sample.add(any, static_cast<T>(3 * unit(random)));
    for (const double scale : {0.01, 1.0, 8.0, 100.0, 750.0}) {
      sample.add(static_cast<T>(scale * unit(random)), static_cast<T>(scale * unit(random)));
    }
    sample.add(static_cast<T>(1 + unit(random) * 1e-3), static_cast<T>(1e4 * unit(random)));
  }
  return sample;
}

template <class T>
void agrees(Math function, Sample<T> sample, double limit) {
  while (sample.x.size() % 16 != 0) sample.add(T(1));
  std::vector<T> result(sample.x.size());
  for (const kiln::cpu::IsaTarget& target : targets_here()) {
    CompiledMath compiled(function, sizeof(T) == 8, target);
    compiled.run(sample.x.data(), sample.y.data(), result.data(), result.size());
    double worst = 0;
    std::size_t worst_at = 0;
    for (std::size_t i = 0; i < result.size(); ++i) {
      const auto exact = exact_for(T(), function, flushed(sample.x[i]), flushed(sample.y[i]));
      const double distance = ulps(result[i], exact);
      if (distance > worst) worst = distance, worst_at = i;
    }
    INFO(name_of(function) << " of " << 8 * sizeof(T) << " bits, " << name_of(target.isa) << ", at "
                           << sample.x[worst_at] << " and " << sample.y[worst_at] << ": "
                           << result[worst_at]);
    CHECK(worst <= limit);
  }
}

template <class T>
Sample<T> pairs_of_special_values() {
  Sample<T> sample;
  const std::vector<T> values = special_values<T>();
  for (const T x : values) {
    for (const T y : {T(0), T(1), T(2), T(3), T(0.5), T(-1), T(-2), T(-3), T(-0.5), T(16777217),
                      T(8388607), T(8388607.5), -T(0), kInfinity<T>, -kInfinity<T>, kNan<T>,
                      std::numeric_limits<T>::max(), std::numeric_limits<T>::min()}) {
      sample.add(x, y);
    }
  }
  return sample;
}

template <class T>
void agrees_at_special_values() {
  Sample<T> sample;
  for (const T x : special_values<T>()) sample.add(x);
  for (const Math function : kOneOperand) agrees(function, sample, 2);
}

}  // namespace

TEST_CASE("vector math: special values in float32") { agrees_at_special_values<float>(); }
TEST_CASE("vector math: special values in float64") { agrees_at_special_values<double>(); }
TEST_CASE("vector math: special values of pow in float32") {
  agrees(Math::Pow, pairs_of_special_values<float>(), 2);
}
TEST_CASE("vector math: special values of pow in float64") {
  agrees(Math::Pow, pairs_of_special_values<double>(), 4);
}

TEST_CASE("vector math: samples in float32") {
  for (const Math f : kOneOperand) agrees(f, random_sample<float>(20000), 2);
  agrees(Math::Pow, random_sample<float>(20000), 2);
}
TEST_CASE("vector math: samples in float64") {
  for (const Math f : kOneOperand) agrees(f, random_sample<double>(20000), 2);
  agrees(Math::Pow, random_sample<double>(20000), 4);
}

TEST_CASE("vector math: a value gives the same bits in every lane, whatever its neighbours are") {
  for (const kiln::cpu::IsaTarget& target : targets_here()) {
    for (const Math function : kOneOperand) {
      CompiledMath compiled(function, false, target);
      std::vector<float> x(16, 0.75f), result(16), alone(16);
      compiled.run(x.data(), x.data(), alone.data(), 16);
      for (std::size_t i = 0; i < 16; i += 3) x[i] = i % 2 ? 1e30f : kNan<float>;
      compiled.run(x.data(), x.data(), result.data(), 16);
      for (std::size_t i = 0; i < 16; ++i) {
        if (i % 3) CHECK(result[i] == alone[0]);
      }
    }
  }
}
