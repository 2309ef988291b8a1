// The memory of one Array: a header, then the elements at a multiple of 64. Large memory comes from
// block_pool.h, other memory from malloc, and of that the small blocks from small_blocks.h.
#pragma once

#include "runtime/array/small_blocks.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace kiln::runtime {

/// Bytes before the elements that the header may use.
constexpr std::size_t kHeaderBytes = 32;

constexpr std::size_t kElementAlignment = 64;

/// As acquire_memory, without small_blocks.h.
void* acquire_fresh_memory(std::size_t bytes, bool* is_zeroed) noexcept;
/// As release_memory, without small_blocks.h.
void release_fresh_memory(void* memory, std::size_t bytes) noexcept;

/// Allocates memory for a header and `bytes` of elements, of unspecified content; null on failure.
/// `is_zeroed`, unless null: set to whether the elements are known to be 0.
inline void* acquire_memory(std::size_t bytes, bool* is_zeroed = nullptr) noexcept {
  if (bytes <= SmallBlocks::kMaxBytes) {
    if (is_zeroed != nullptr) *is_zeroed = false;
    SmallBlocks* blocks = t_small_blocks != nullptr ? t_small_blocks : SmallBlocks::create();
    void* memory = blocks != nullptr ? blocks->take(bytes) : nullptr;
    if (memory != nullptr) return memory;
  }
  return acquire_fresh_memory(bytes, is_zeroed);
}
/// Releases memory. REQUIRES: it was acquired for `bytes`.
inline void release_memory(void* memory, std::size_t bytes) noexcept {
  if (bytes <= SmallBlocks::kMaxBytes) {
    if (t_small_blocks != nullptr && t_small_blocks->add(memory, bytes)) return;
  }
  release_fresh_memory(memory, bytes);
}
/// Returns the address of the elements.
inline void* elements_in(void* memory) noexcept {
  auto* from = static_cast<std::byte*>(memory) + kHeaderBytes;
  return from + -reinterpret_cast<std::uintptr_t>(from) % kElementAlignment;
}

}  // namespace kiln::runtime
