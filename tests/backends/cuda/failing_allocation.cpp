// Replaces operator new and operator delete of the whole test program, plugins and fakes included.
// All forms without alignment are replaced: AddressSanitizer's own ones do not call the plain one.
#include "tests/backends/cuda/failing_allocation.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

thread_local std::int64_t t_left = 0;  // allocations up to the one that fails; 0: none fails
thread_local bool t_has_failed = false;

void* allocate_or_null(std::size_t size) noexcept {
  if (t_left != 0 && --t_left == 0) {
    t_has_failed = true;
    return nullptr;
  }
  return std::malloc(size == 0 ? 1 : size);
}

void* allocate(std::size_t size) {
  void* memory = allocate_or_null(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

namespace cuda_test {

void fail_allocation(std::int64_t nth) {
  t_left = nth;
  t_has_failed = false;
}

bool has_failed_allocation() { return t_has_failed; }

}  // namespace cuda_test

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate_or_null(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocate_or_null(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
