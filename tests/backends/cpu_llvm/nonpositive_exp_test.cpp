// Tests exp of numbers that are never positive: in float32 against the C library's double, in
// float64 against exp, whose bits it has.
#include "tests/support/catch.h"
#include "tests/backends/cpu_llvm/exact.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

using namespace cpu_llvm_test;

namespace {

template <class T>
std::vector<T> results(Math function, const kiln::cpu::IsaTarget& target, const std::vector<T>& x) {
  std::vector<T> y(x.size());
  CompiledMath(function, sizeof(T) == 8, target).run(x.data(), x.data(), y.data(), x.size());
  return y;
}

/// The number of results that differ; all NaNs are equal.
template <class T>
std::size_t differences(const std::vector<T>& x, const std::vector<T>& y) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool equal = x[i] == y[i] && std::signbit(x[i]) == std::signbit(y[i]);
    if (!equal && !(std::isnan(x[i]) && std::isnan(y[i]))) ++count;
  }
  return count;
}

/// The largest error in units in the last place; infinity if a zero is negative.
double worst_error(const std::vector<float>& x, const std::vector<float>& y) {
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::signbit(y[i]) && !std::isnan(y[i])) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, ulps(y[i], exact_in_double(Math::Exp, flushed(x[i]), 1)));
  }
  return worst;
}

/// 0.25 of the polynomial, half a unit each of the table and the last operation.
constexpr double kLimit = 1.25;

std::vector<kiln::cpu::IsaTarget> fused_targets() {
  std::vector<kiln::cpu::IsaTarget> targets = targets_here();
  std::erase_if(targets, [](const kiln::cpu::IsaTarget& target) { return !target.has_fma; });
  return targets;
}

/// Zeros, NaN, infinity, neighbours of the points where results underflow or change their exponent,
/// and numbers of all magnitudes.
template <class T>
std::vector<T> nonpositive_numbers() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> x{T(0),
                   -T(0),
                   -Limits::denorm_min(),
                   -Limits::min(),
                   -Limits::max(),
                   -Limits::infinity(),
                   Limits::quiet_NaN(),
                   -Limits::quiet_NaN()};
  for (int n = 0; n < (sizeof(T) == 4 ? 160 : 1100); ++n) {
    for (const long double half : {0.0L, 0.5L}) {
      T near = static_cast<T>(-(n + half) * 0.693147180559945309417232121458176568L);
      for (int step = 0; step < 40; ++step) near = std::nextafter(near, T(0));
      for (int step = 0; step < 80; ++step) {
        x.push_back(-std::fabs(near));
        near = std::nextafter(near, -Limits::infinity());
      }
    }
  }
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> exponents(-40, 40), everyday(0, 800);
  for (int i = 0; i < 200000; ++i) {
    x.push_back(static_cast<T>(-std::exp2(exponents(random))));
    x.push_back(static_cast<T>(-everyday(random)));
  }
  while (x.size() % 16 != 0) x.push_back(T(-1));
  return x;
}

}  // namespace

TEST_CASE("exp of x <= 0 in float32 is accurate, with the same bits on all ISAs that have FMA") {
  const std::vector<float> x = nonpositive_numbers<float>();
  std::vector<float> first;
  for (const kiln::cpu::IsaTarget& target : fused_targets()) {
    INFO(kiln::cpu::name_of(target.isa));
    const std::vector<float> y = results(Math::ExpOfNonpositive, target, x);
    CHECK(worst_error(x, y) <= kLimit);
    if (first.empty()) first = y;
    CHECK(differences(first, y) == 0);
  }
}

TEST_CASE("exp of x <= 0 has the bits of exp in float64") {
  const std::vector<double> x = nonpositive_numbers<double>();
  for (const kiln::cpu::IsaTarget& target : fused_targets()) {
    INFO(kiln::cpu::name_of(target.isa));
    CHECK(differences(results(Math::ExpOfNonpositive, target, x), results(Math::Exp, target, x)) ==
          0);
  }
}

TEST_CASE("exp of every float32 that is not positive is accurate", "[matrix]") {
  constexpr std::uint32_t kBlock = 1u << 20, kSign = 1u << 31;
  std::vector<float> x(kBlock), y(kBlock);
  for (const kiln::cpu::IsaTarget& target : fused_targets()) {
    INFO(kiln::cpu::name_of(target.isa));
    const CompiledMath function(Math::ExpOfNonpositive, false, target);
    double worst = 0;
    for (std::uint32_t first = 0; first < kSign; first += kBlock) {
      for (std::uint32_t i = 0; i < kBlock; ++i) x[i] = std::bit_cast<float>(kSign | (first + i));
      function.run(x.data(), x.data(), y.data(), kBlock);
      worst = std::max(worst, worst_error(x, y));
    }
    CHECK(worst <= kLimit);
  }
}
