// Large pages and cache colours for large tensors, on both sides of the boundary.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>

// Defined if the process runs AddressSanitizer. In parentheses: a header of LLVM defines a macro of
// that name with parameters.
extern "C" void(__asan_poison_memory_region)(const volatile void* memory,  // NOLINT
                                             std::size_t bytes) __attribute__((weak));

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

/// Whether the process runs AddressSanitizer, from this object's build or the program's.
inline bool has_address_sanitizer() noexcept { return __asan_poison_memory_region != nullptr; }

inline constexpr std::size_t kColouredPage = 4096;

/// Returns the offset in its page at which the next large tensor begins: a multiple of 512 below
/// kColouredPage; 0 under AddressSanitizer, which then sees each access before the tensor. Cache
/// colouring (Bonwick, The Slab Allocator, USENIX 1994): a loop over tensors with equal offsets
/// uses one set of the L1 cache, and on AMD often one entry of its way predictor, for all of them
/// at a time. On a Zen 4, an Adam step of 16 Mi weights took 1.5 times as long with AVX2, 1.2 times
/// with AVX-512. Any thread.
inline std::size_t next_colour() {
  static std::atomic<std::size_t> count{0};
  // In bit-reversed order: the offsets of a few consecutive tensors are far apart.
  constexpr std::size_t kColours[] = {0, 2048, 1024, 3072, 512, 2560, 1536, 3584};
  if (has_address_sanitizer()) return 0;
  return kColours[count.fetch_add(1, std::memory_order_relaxed) % std::size(kColours)];
}

/// Whether a tensor has a colour: it is so large that up to two more pages cost little.
constexpr bool has_colour(std::size_t bytes) { return bytes >= std::size_t{64} << 10; }

/// Allocates memory for a tensor, aligned to 64 bytes; null without memory.
inline void* allocate_tensor(std::size_t bytes) {
  const std::size_t colour = has_colour(bytes) ? next_colour() : 0;
  void* memory = nullptr;
  const std::size_t alignment = has_colour(bytes) ? kColouredPage : 64;
  if (::posix_memalign(&memory, alignment, colour + bytes) != 0) return nullptr;
  return static_cast<std::byte*>(memory) + colour;
}
/// Frees memory, unless it is null. REQUIRES: allocate_tensor(bytes) returned it.
inline void free_tensor(void* memory, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::size_t colour = has_colour(bytes) ? address % kColouredPage : 0;
  std::free(static_cast<std::byte*>(memory) - colour);
}

}  // namespace kiln::abi
