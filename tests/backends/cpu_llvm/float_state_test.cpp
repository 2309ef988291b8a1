// Tests the caller's floating-point state: results do not depend on it, and calls restore it.
#include "tests/support/catch.h"

#include <kiln/k.h>

#include <fenv.h>
#include <xmmintrin.h>

#include <cstring>
#include <numeric>

namespace K = kiln;

namespace {

/// Sets the control register for a scope.
class ControlRegister {
 public:
  explicit ControlRegister(unsigned value) : saved_(_mm_getcsr()) { _mm_setcsr(value); }
  ~ControlRegister() { _mm_setcsr(saved_); }
  ControlRegister(const ControlRegister&) = delete;
  ControlRegister& operator=(const ControlRegister&) = delete;

 private:
  unsigned saved_;
};

constexpr unsigned kUpward = 0x4000, kDownward = 0x2000, kMasked = 0x1f80, kInexact = 0x20;

std::vector<float> values(const K::Array& array) {
  std::vector<float> result(static_cast<std::size_t>(array.size()));
  std::memcpy(result.data(), array.data(), 4 * result.size());
  return result;
}

}  // namespace

TEST_CASE("floating-point state: the caller's rounding, traps and flags do not matter or change") {
  const K::Tensor x = K::placeholder({.shape = {64, 33}});
  const K::Tensor weights = K::variable(K::Array(std::vector<float>(33 * 17, 0.1f), {33, 17}));
  const auto f = K::function(
      {x}, {K::exp(x) / 3.0f + K::sin(x), K::dot(K::tanh(x), weights), K::log(x), K::sum(x)});
  std::vector<float> numbers(64 * 33);
  std::iota(numbers.begin(), numbers.end(), -40.0f);  // log gives NaN and -infinity, exp infinity
  const K::Array input(numbers, {64, 33});
  const auto expected = f({input});
  // Rounding upward and downward, with a pending flag; every exception but inexact traps.
  const unsigned inexact_masked = 0x1000;
  for (const unsigned state :
       {kMasked | kUpward, kMasked | kDownward | kInexact, inexact_masked | kInexact}) {
    std::vector<K::Array> results;
    unsigned after = 0;
    {
      const ControlRegister during(state);
      results = f({input});
      after = _mm_getcsr();
    }
    CHECK(after == state);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto a = values(expected[i]), b = values(results[i]);
      CHECK(std::memcmp(a.data(), b.data(), 4 * a.size()) == 0);
    }
  }
}
