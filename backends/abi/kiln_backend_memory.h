// Large pages and cache colours for large tensors, on both sides of the boundary.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>

namespace kiln::abi {

/// Asks the system for pages of 2 MiB where the memory spans some: fewer page faults at the first
/// write, and fewer TLB misses (5 % of an Adam step of 16 Mi weights on one thread). Ignores
/// failure. Does nothing for less than 4 MiB. Any thread.
inline void ask_for_large_pages(void* memory, std::size_t bytes) {
  constexpr std::size_t kPage = std::size_t{2} << 20;
  if (memory == nullptr || bytes < 2 * kPage) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = (begin + kPage - 1) / kPage * kPage;
  const std::uintptr_t last = (begin + bytes) / kPage * kPage;
  ::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

inline constexpr std::size_t kColoredPage = 4096;

/// Returns the offset in its page at which the next large tensor begins: a multiple of 512 below
/// kColoredPage. Cache colouring (Bonwick, The Slab Allocator, USENIX 1994): a loop over tensors
/// with equal offsets uses one set of the L1 cache, and on AMD often one entry of its way
/// predictor, for all of them at a time; an Adam step of 16 Mi weights took 1.6 times as long. Any
/// thread.
inline std::size_t next_color() {
  static std::atomic<std::size_t> count{0};
  // In bit-reversed order: the offsets of a few consecutive tensors are far apart.
  constexpr std::size_t kColors[] = {0, 2048, 1024, 3072, 512, 2560, 1536, 3584};
  return kColors[count.fetch_add(1, std::memory_order_relaxed) % std::size(kColors)];
}

/// Whether a tensor is large enough for a color: its pages are then its own.
constexpr bool has_color(std::size_t bytes) { return bytes >= std::size_t{64} << 10; }

/// Allocates memory for a tensor, aligned to 64 bytes; null without memory.
inline void* allocate_tensor(std::size_t bytes) {
  const std::size_t color = has_color(bytes) ? next_color() : 0;
  void* memory = nullptr;
  const std::size_t alignment = has_color(bytes) ? kColoredPage : 64;
  if (::posix_memalign(&memory, alignment, color + bytes) != 0) return nullptr;
  return static_cast<std::byte*>(memory) + color;
}
/// Frees memory, unless it is null. REQUIRES: allocate_tensor(bytes) returned it.
inline void free_tensor(void* memory, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::size_t color = has_color(bytes) ? address % kColoredPage : 0;
  std::free(static_cast<std::byte*>(memory) - color);
}

}  // namespace kiln::abi
