// Each function counts and calls the C library's function under its internal name.
#include "tests/runtime/host_allocations/counted.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

extern "C" {
void* __libc_malloc(std::size_t bytes);                             // NOLINT
void* __libc_calloc(std::size_t count, std::size_t bytes);          // NOLINT
void* __libc_realloc(void* memory, std::size_t bytes);              // NOLINT
void* __libc_memalign(std::size_t alignment, std::size_t bytes);    // NOLINT
}

namespace {

std::atomic<std::int64_t> asked{0};

std::atomic<std::size_t> largest{0};

std::atomic<std::size_t> large{SIZE_MAX};  // requests above it count as large

std::atomic<std::int64_t> large_requests{0};

std::atomic<std::int64_t> left{-1};  // requests that will still succeed; negative: all will

std::atomic<std::size_t> most{0};  // the largest size that succeeds; 0: any size

/// Counts a request; returns whether it succeeds.
bool count(std::size_t bytes) {
  asked.fetch_add(1, std::memory_order_relaxed);
  std::size_t known = largest.load(std::memory_order_relaxed);
  while (bytes > known && !largest.compare_exchange_weak(known, bytes)) {
  }
  if (bytes > large.load(std::memory_order_relaxed)) large_requests.fetch_add(1);
  const std::size_t limit = most.load(std::memory_order_relaxed);
  if (limit != 0 && bytes > limit) return false;
  if (left.load(std::memory_order_relaxed) < 0) return true;
  if (left.fetch_sub(1, std::memory_order_relaxed) > 0) return true;
  left.store(0, std::memory_order_relaxed);
  return false;
}

void* granted(void* memory) {
  if (memory == nullptr) errno = ENOMEM;
  return memory;
}

}  // namespace

namespace allocations_test {

std::int64_t allocations_so_far() { return asked.load(); }

std::size_t exchange_largest_request(std::size_t bytes) { return largest.exchange(bytes); }

std::int64_t exchange_large_requests(std::size_t threshold) {
  large = threshold;
  return large_requests.exchange(0);
}

void reject_larger(std::size_t bytes) { most = bytes; }

void grant(std::int64_t requests) { left = requests; }

}  // namespace allocations_test

extern "C" {

void* malloc(std::size_t bytes) { return granted(count(bytes) ? __libc_malloc(bytes) : nullptr); }

void* calloc(std::size_t count_of, std::size_t bytes) {
  return granted(count(count_of * bytes) ? __libc_calloc(count_of, bytes) : nullptr);
}

void* realloc(void* memory, std::size_t bytes) {
  return granted(count(bytes) ? __libc_realloc(memory, bytes) : nullptr);
}

void* memalign(std::size_t alignment, std::size_t bytes) {
  return granted(count(bytes) ? __libc_memalign(alignment, bytes) : nullptr);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return granted(count(bytes) ? __libc_memalign(alignment, bytes) : nullptr);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  *memory = count(bytes) ? __libc_memalign(alignment, bytes) : nullptr;
  return *memory == nullptr ? ENOMEM : 0;
}

}  // extern "C"
