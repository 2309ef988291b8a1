// Tests each math function, float format and ISA: special values exactly, samples within 2 units in
// the last place (pow in float64 within 4), as the C library has them; erf also as mpmath has it.
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
  constexpr double kEdges[] = {0x1p-80,      0x1p-30, 0.3465735902, 0.4142135623, 0.5,
                               0.7071067811, 1.0,     1.4142135623, 2.0,          2.4142135623,
                               3.0,          4.05,    5.95,         10.0,         20.0,
                               22.0,         40.0,    44.0,         60.0,         87.3365447,
                               88.7228390,   103.9,   708.3964185,  709.7827128,  745.2,
                               1e5,          1e9,     0x1p30,       0x1p60,       0x1p100};
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

/// erf x = high + low, to 2^-105 of it: mpmath 1.3 with 60 digits.
struct ErfValue {
  double x, high, low;
};
constexpr ErfValue kErfValues[] = {
    {0x1p-1022, 0x1.20dd750429b6dp-1022, 0},
    {0x1p-300, 0x1.20dd750429b6dp-300, 0x1.1ae3a914fed8p-356},
    {0x1p-80, 0x1.20dd750429b6dp-80, 0x1.1ae3a914fed8p-136},
    {0x1p-30, 0x1.20dd750429b6dp-30, 0x1.14df0bfa3df98p-86},
    {0x1p-9, 0x1.20dd5cf1b71ap-9, -0x1.ac72d1a2ab014p-64},
    {0x1p-3, 0x1.1f5e1a35c3b89p-3, 0x1.d0b6d6493e0f4p-57},
    {0x1p-1, 0x1.0a7ef5c18edd2p-1, 0x1.5e809f1a31a28p-56},
    {0x1.bp-1, 0x1.88d1cd474a2ep-1, 0x1.6f57a1a45df78p-55},
    {0x1.fffffep-1, 0x1.af76799f878f9p-1, -0x1.ccec57a3d256ap-56},
    {0x1p0, 0x1.af767a741088bp-1, -0x1.c97f778122797p-56},
    {0x1.000002p0, 0x1.af767c1d2275fp-1, 0x1.44e475a72682fp-57},
    {0x1.4p0, 0x1.d8865d98abe01p-1, -0x1.fcec4afb974d9p-55},
    {0x1.8p0, 0x1.eea5557137aep-1, -0x1.385e445f2c96dp-55},
    {0x1p1, 0x1.fd9ae142795e3p-1, 0x1.972801904b9a3p-56},
    {0x1.4p1, 0x1.ffcaa8f4c9beap-1, 0x1.b0cee160116f9p-55},
    {0x1.8p1, 0x1.fffd1ac4135f9p-1, 0x1.eeafa1ecd6cefp-55},
    {0x1.cp1, 0x1.ffffe710d565ep-1, 0x1.c9ea52d76dc04p-55},
    {0x1.f4p1, 0x1.fffffee3cc32cp-1, 0x1.e429188c25b27p-56},
    {0x1.033332p2, 0x1.ffffffa87bc25p-1, 0x1.a06bc6f8ab6d5p-59},
    {0x1.2p2, 0x1.fffffffe4fa3p-1, 0x1.d166bcb681c7bp-57},
    {0x1.6p2, 0x1.fffffffffffbep-1, -0x1.182b326b228dcp-55},
    {0x1.78p2, 0x1.fffffffffffffp-1, 0x1.0439397b5f70ap-56},
    {0x1.8p2, 0x1p0, -0x1.8cf81557d20b6p-56},
    {0x1p10, 0x1p0, 0},
};

double erf_distance(float got, const ErfValue& row) { return ulps(got, row.high); }
double erf_distance(double got, const ErfValue& row) {
  return ulps(got, static_cast<long double>(row.high) + row.low);
}

/// Checks erf of x and of -x.
template <class T>
void erf_agrees_with_mpmath() {
  for (const kiln::cpu::IsaTarget& target : targets_here()) {
    const CompiledMath compiled(Math::Erf, sizeof(T) == 8, target);
    for (const ErfValue& row : kErfValues) {
      const T at = static_cast<T>(row.x);
      if (at != row.x) continue;  // below the range of float
      std::vector<T> x(16, at), y(16);
      for (std::size_t i = 1; i < 16; i += 2) x[i] = -at;
      compiled.run(x.data(), x.data(), y.data(), 16);
      INFO(name_of(target.isa) << " at " << row.x << ": " << y[0] << " and " << y[1]);
      CHECK(erf_distance(y[0], row) <= 2);
      CHECK(y[1] == -y[0]);
    }
  }
}

}  // namespace

TEST_CASE("vector math: erf has the values of mpmath in float32") {
  erf_agrees_with_mpmath<float>();
}
TEST_CASE("vector math: erf has the values of mpmath in float64") {
  erf_agrees_with_mpmath<double>();
}
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
