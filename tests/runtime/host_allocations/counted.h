// Counts the process's allocations, of all its threads and libraries: this program has its own
// malloc, which counts and calls the C library's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace allocations_test {

std::int64_t allocations_so_far();

/// Returns the bytes of the largest request since the last call, and sets the threshold that later
/// requests must exceed to be noted.
std::size_t exchange_largest_request(std::size_t bytes = 0);

/// Returns the number of requests above the threshold since the last call, and sets the threshold.
std::int64_t exchange_large_requests(std::size_t threshold);

/// Lets the next `requests` allocations succeed and all later ones fail; -1: all succeed.
void grant(std::int64_t requests);

/// Makes allocations of more than `bytes` bytes fail; 0: none fails for its size.
void reject_larger(std::size_t bytes);

/// The number of allocations while `action` ran.
template <class Action>
std::int64_t allocations_of(const Action& action) {
  const std::int64_t before = allocations_so_far();
  action();
  return allocations_so_far() - before;
}

}  // namespace allocations_test
