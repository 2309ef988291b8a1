// malloc gives small memory several times faster than posix_memalign, which passes its caches by.
#include "runtime/array/element_memory.h"

#include "runtime/array/block_pool.h"

#include <cstdint>
#include <cstdlib>

namespace kiln::runtime {
namespace {

constexpr std::size_t kAlignment = 64;
/// The most that lies in front of the elements in memory of malloc's alignment.
constexpr std::size_t kMostBefore = kHeaderBytes + kAlignment - alignof(std::max_align_t);

static_assert(BlockPool::kHeader == kAlignment);

}  // namespace

void* acquire_memory(std::size_t bytes) noexcept {
  if (bytes >= BlockPool::kMinBytes) return block_pool().acquire(bytes);
  if (!has_address_sanitizer()) return std::malloc(kMostBefore + bytes);
  // The elements end where the memory ends, so that an access beyond them is seen.
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
