// Tests that exp of numbers that are never positive has the same bits, with fewer instructions.
#include "tests/support/catch.h"
#include "tests/backends/cpu_llvm/compiled_math.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

using namespace cpu_llvm_test;

namespace {

/// Both functions for one ISA.
class Pair {
 public:
  Pair(bool is_double, const kiln::cpu::IsaTarget& target)
      : exp_(Math::Exp, is_double, target),
        nonpositive_(Math::ExpOfNonpositive, is_double, target) {}

  /// The number of results that differ; all NaNs are equal. REQUIRES: x.size() is a multiple of 16.
  template <class T>
  std::size_t differences(const std::vector<T>& x) const {
    std::vector<T> expected(x.size()), found(x.size());
    exp_.run(x.data(), x.data(), expected.data(), x.size());
    nonpositive_.run(x.data(), x.data(), found.data(), x.size());
    std::size_t count = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const bool equal = found[i] == expected[i] &&
                         std::signbit(found[i]) == std::signbit(expected[i]);
      if (!equal && !(std::isnan(found[i]) && std::isnan(expected[i]))) ++count;
    }
    return count;
  }

 private:
  CompiledMath exp_, nonpositive_;
};

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
  std::vector<T> x{T(0), -T(0), -Limits::denorm_min(), -Limits::min(), -Limits::max(),
                   -Limits::infinity(), Limits::quiet_NaN(), -Limits::quiet_NaN()};
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

template <class T>
void has_the_bits_of_exp() {
  for (const kiln::cpu::IsaTarget& target : fused_targets()) {
    INFO(kiln::cpu::name_of(target.isa));
    CHECK(Pair(sizeof(T) == 8, target).differences(nonpositive_numbers<T>()) == 0);
  }
}

}  // namespace

TEST_CASE("exp of x <= 0 has the bits of exp in float32") { has_the_bits_of_exp<float>(); }
TEST_CASE("exp of x <= 0 has the bits of exp in float64") { has_the_bits_of_exp<double>(); }

TEST_CASE("exp of every float32 that is not positive has the bits of exp", "[slow]") {
  constexpr std::uint32_t kBlock = 1u << 20, kSign = 1u << 31;
  std::vector<float> x(kBlock);
  for (const kiln::cpu::IsaTarget& target : fused_targets()) {
    INFO(kiln::cpu::name_of(target.isa));
    const Pair pair(false, target);
    std::size_t differences = 0;
    for (std::uint32_t first = 0; first < kSign; first += kBlock) {
      for (std::uint32_t i = 0; i < kBlock; ++i) x[i] = std::bit_cast<float>(kSign | (first + i));
      differences += pair.differences(x);
    }
    CHECK(differences == 0);
  }
}
