// Replaces operator new for the program and all libraries linked into it.
#include "tests/backends/compile_work/counted_work.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

thread_local compile_work_test::Work t_work;

}  // namespace

namespace compile_work_test {

Work work_so_far() { return t_work; }

}  // namespace compile_work_test

void* operator new(std::size_t bytes) {
  ++t_work.allocations;
  t_work.bytes += static_cast<std::int64_t>(bytes);
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
