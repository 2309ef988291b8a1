// The C library's functions under their inner names are what each of these hands on to.
#include "tests/host_allocations/counted.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

extern "C" {
void* __libc_malloc(std::size_t bytes);                             // NOLINT
void* __libc_calloc(std::size_t count, std::size_t bytes);          // NOLINT
void* __libc_realloc(void* memory, std::size_t bytes);              // NOLINT
void* __libc_memalign(std::size_t alignment, std::size_t bytes);    // NOLINT
}

namespace {

std::atomic<std::int64_t> asked{0};

void count() { asked.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

namespace allocations_test {

std::int64_t allocations_so_far() { return asked.load(); }

}  // namespace allocations_test

extern "C" {

void* malloc(std::size_t bytes) {
  count();
  return __libc_malloc(bytes);
}

void* calloc(std::size_t count_of, std::size_t bytes) {
  count();
  return __libc_calloc(count_of, bytes);
}

void* realloc(void* memory, std::size_t bytes) {
  count();
  return __libc_realloc(memory, bytes);
}

void* memalign(std::size_t alignment, std::size_t bytes) {
  count();
  return __libc_memalign(alignment, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  count();
  return __libc_memalign(alignment, bytes);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  count();
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}

}  // extern "C"
