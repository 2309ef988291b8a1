// Uses malloc for small memory: posix_memalign is several times slower, as it bypasses the caches.
#include "runtime/array/element_memory.h"

#include "runtime/array/block_pool.h"

#include <cstdint>
#include <cstdlib>

namespace kiln::runtime {
namespace {

constexpr std::size_t kAlignment = 64;
/// The maximal offset of the elements in memory with malloc's alignment.
constexpr std::size_t kMaxOffset = kHeaderBytes + kAlignment - alignof(std::max_align_t);

static_assert(BlockPool::kHeader == kAlignment);

}  // namespace

void* acquire_memory(std::size_t bytes, bool* is_zeroed) noexcept {
  if (bytes >= BlockPool::kMinBytes) return block_pool().acquire(bytes, is_zeroed);
  if (is_zeroed != nullptr) *is_zeroed = false;
  if (!has_address_sanitizer()) return std::malloc(kMaxOffset + bytes);
  // The elements end at the end of the memory, so that AddressSanitizer sees an access beyond them.
  void* memory = nullptr;
  return ::posix_memalign(&memory, kAlignment, kAlignment + bytes) == 0 ? memory : nullptr;
}

void release_memory(void* memory, std::size_t bytes) noexcept {
  if (bytes >= BlockPool::kMinBytes) return block_pool().recycle(memory, bytes);
  std::free(memory);
}

void* elements_in(void* memory) noexcept {
  auto* from = static_cast<std::byte*>(memory) + kHeaderBytes;
  return from + -reinterpret_cast<std::uintptr_t>(from) % kAlignment;
}

}  // namespace kiln::runtime
