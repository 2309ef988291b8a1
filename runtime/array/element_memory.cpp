// Uses malloc for small memory: posix_memalign is several times slower, as it bypasses the caches.
#include "runtime/array/element_memory.h"

#include "runtime/array/block_pool.h"

#include <cstdint>
#include <cstdlib>

namespace kiln::runtime {
namespace {

/// The maximal offset of the elements in memory with malloc's alignment.
constexpr std::size_t kMaxOffset = kHeaderBytes + kElementAlignment - alignof(std::max_align_t);

static_assert(BlockPool::kHeader == kElementAlignment && SmallBlocks::kHeader == kMaxOffset);

}  // namespace

void* acquire_fresh_memory(std::size_t bytes, bool* is_zeroed) noexcept {
  if (bytes >= BlockPool::kMinBytes) return block_pool().acquire(bytes, is_zeroed);
  if (is_zeroed != nullptr) *is_zeroed = false;
  if (!has_address_sanitizer()) {
    const bool is_small = bytes <= SmallBlocks::kMaxBytes;
    return std::malloc(kMaxOffset + (is_small ? SmallBlocks::rounded(bytes) : bytes));
  }
  // The elements end at the end of the memory, so that AddressSanitizer sees an access beyond them.
  void* memory = nullptr;
  const std::size_t all = kElementAlignment + bytes;
  return ::posix_memalign(&memory, kElementAlignment, all) == 0 ? memory : nullptr;
}

void release_fresh_memory(void* memory, std::size_t bytes) noexcept {
  if (bytes >= BlockPool::kMinBytes) return block_pool().recycle(memory, bytes);
  std::free(memory);
}

}  // namespace kiln::runtime
