// Factors out powers of two.
#include "runtime/distributed/levels.h"

#include <algorithm>
#include <bit>

namespace kiln::runtime::distributed {
namespace {

constexpr std::size_t kMaxLevel = 16;

std::size_t power_of_two_divisor(std::size_t n) { return n & (~n + 1); }

}  // namespace

std::vector<std::size_t> level_sizes(std::size_t ranks, std::size_t host_ranks) {
  std::vector<std::size_t> sizes;
  std::size_t rest = ranks;
  if (host_ranks > 1 && host_ranks < ranks && std::has_single_bit(host_ranks) &&
      ranks % host_ranks == 0) {
    sizes.push_back(host_ranks);
    rest /= host_ranks;
  }
  while (rest > kMaxLevel) {
    const std::size_t size = std::min(kMaxLevel, power_of_two_divisor(rest));
    if (size == 1 || size == rest) break;
    sizes.push_back(size);
    rest /= size;
  }
  if (rest > 1 || sizes.empty()) sizes.push_back(rest);
  return sizes;
}

}  // namespace kiln::runtime::distributed
