// The order of the rows of an epoch: Fisher-Yates with draws of SplitMix64. std::shuffle's order
// would depend on the standard library.
#include "runtime/train/row_order.h"

#include <cstddef>
#include <numeric>
#include <utility>

namespace kiln {
namespace {

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t state) : state_(state) {}
  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

/// Returns an integer below `bound`, each with the same probability.
std::uint64_t below(std::uint64_t bound, SplitMix64& random) {
  const std::uint64_t rejected = (0 - bound) % bound;  // 2^64 % bound
  std::uint64_t draw = random.next();
  while (draw < rejected) draw = random.next();
  return draw % bound;
}

}  // namespace

std::vector<std::int64_t> shuffled_rows(std::int64_t rows, std::uint64_t seed,
                                        std::uint64_t epoch) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  SplitMix64 random(SplitMix64(seed).next() + epoch);
  for (std::size_t i = order.size(); i-- > 1;) {
    std::swap(order[i], order[below(i + 1, random)]);
  }
  return order;
}

}  // namespace kiln
