// Draws values block by block as doubles, which are then rounded to the dtype.
#include "runtime/variable/random_values.h"

#include "core/ops/convert.h"
#include "core/types/fp_environment.h"
#include "runtime/array/array_memory.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace kiln::runtime {
namespace {

/// Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014. A counter and a
/// hash, a quarter of the time of std::mt19937_64.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}

  std::uint64_t operator()() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

/// Draws from U[0, 1) with 53 random bits. Signed integers are converted by one instruction.
double uniform(SplitMix64& generator) {
  return static_cast<double>(static_cast<std::int64_t>(generator() >> 11)) * 0x1p-53;
}

/// Draws from N(0, 1) by Box-Muller: one number of the pair, from u in (0, 1] and v in [0, 1).
double normal(SplitMix64& generator) {
  const double radius = std::sqrt(-2 * std::log(1 - uniform(generator)));
  return radius * std::cos(2 * std::numbers::pi * uniform(generator));
}

/// The number that an element of the dtype holds after `x` is stored to it.
double rounded(double x, DType dtype) {
  std::byte element[sizeof(double)];
  double result = 0;
  ir::store_floating(dtype, &x, element, 1);
  ir::load_floating(dtype, element, &result, 1);
  return result;
}

/// Returns the least number in [low, high] that rounds to `high` or above in the dtype; `high` if
/// none does. Bisects, since rounding is monotonic.
double least_rounding_to(double high, double low, DType dtype) {
  const auto rounds_up = [&](double x) { return rounded(x, dtype) >= high; };
  double below = low, above = high;
  if (rounds_up(below)) return below;
  for (;;) {
    const double middle = below + (above - below) / 2;
    if (middle <= below || middle >= above) return above;
    (rounds_up(middle) ? above : below) = middle;
  }
}

/// Fills `value` in order with offset + scale * draw, and `replacement` where that is `limit` or
/// above. REQUIRES: ScopedFpEnvironment.
template <double (*kDraw)(SplitMix64&)>
void fill(Array& value, std::uint64_t seed, double offset, double scale, double limit,
          double replacement) {
  constexpr std::int64_t kBlock = 512;
  double drawn[kBlock];
  SplitMix64 generator(seed);
  auto* to = static_cast<std::byte*>(fill_address(value));
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(value.dtype()));
  for (std::int64_t start = 0; start < value.size(); start += kBlock) {
    const std::int64_t count = std::min(kBlock, value.size() - start);
    for (std::int64_t i = 0; i < count; ++i) {
      const double x = offset + scale * kDraw(generator);
      drawn[i] = x >= limit ? replacement : x;
    }
    ir::store_floating(value.dtype(), drawn, to + start * bytes, count);
  }
}

}  // namespace

void fill_uniform(Array& value, std::uint64_t seed, double low, double high) {
  const ScopedFpEnvironment usual;
  // The interval is half open: what would round to its upper end becomes the lower one.
  const double limit = least_rounding_to(high, low, value.dtype());
  fill<uniform>(value, seed, low, high - low, limit, low);
}

void fill_normal(Array& value, std::uint64_t seed, double mean, double deviation) {
  const ScopedFpEnvironment usual;
  constexpr double kNone = std::numeric_limits<double>::infinity();
  fill<normal>(value, seed, mean, deviation, kNone, kNone);
}

}  // namespace kiln::runtime
