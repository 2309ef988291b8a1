// How often the process asks for memory, all its threads and libraries together: this program has
// its own malloc, which counts and hands on to the C library's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace allocations_test {

std::int64_t allocations_so_far();

/// The bytes of the largest request since the last call of this, which sets what later ones must
/// exceed.
std::size_t exchange_largest_request(std::size_t bytes = 0);

/// From now on so many requests are granted and all later ones fail; -1: none fails.
void grant(std::int64_t requests);

/// From now on requests of more than so many bytes fail; 0: none fails for its size.
void reject_larger(std::size_t bytes);

/// How often memory was asked for while `action` ran.
template <class Action>
std::int64_t allocations_of(const Action& action) {
  const std::int64_t before = allocations_so_far();
  action();
  return allocations_so_far() - before;
}

}  // namespace allocations_test
