// The first matmul generates ten kernels, each in a buffer of 2 MiB: about 25 MiB. The check maps
// more than that and unmaps it at once, untouched.
#include "backends/cpu/process_exit/jit_memory_check.h"

#include <sys/mman.h>

#include <cstddef>
#include <new>

namespace kiln::cpu {
namespace {

std::mutex mutex;

bool can_map() noexcept {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  void* memory =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  ::munmap(memory, kBytes);
  return true;
}

}  // namespace

JitMemoryCheck::JitMemoryCheck() : lock_(mutex), has_memory_(can_map()) {}

void JitMemoryCheck::require() const {
  if (!has_memory_) throw std::bad_alloc();
}

}  // namespace kiln::cpu
