// Blocks are freed only by the thread that cached them.
#include "runtime/array/small_blocks.h"

#include "runtime/array/block_pool.h"

#include <cstdlib>

namespace kiln::runtime {

constinit std::atomic<std::uint32_t> SmallBlocks::shared_settings{0};

/// Frees the blocks of its thread when the thread exits.
struct SmallBlocks::ExitGuard {
  ~ExitGuard() {
    t_small_blocks.has_ended_ = true;
    t_small_blocks.limit_ = 0;
    t_small_blocks.free_all();
  }
};

void SmallBlocks::free_all() noexcept {
  for (FreeList& list : lists_) {
    while (IdleBlock* idle = list.first) {
      list.first = idle->next;
      std::free(idle);
    }
    list.set_count(0);
  }
}

void SmallBlocks::renew() noexcept {
  free_all();
  settings_ = shared_settings.load(std::memory_order_relaxed);
  const bool caches = (settings_ & 1) != 0 && !has_ended_;
  limit_ = caches ? kMaxIdle : 0;
  if (caches) static thread_local ExitGuard guard;
}

void SmallBlocks::release_all(bool caches) noexcept {
  // AddressSanitizer sees each use after free of memory that is freed.
  const std::uint32_t lowest = caches && !has_address_sanitizer() ? 1 : 0;
  std::uint32_t old = shared_settings.load(std::memory_order_relaxed);
  while (!shared_settings.compare_exchange_weak(old, ((old | 1) + 1) | lowest,
                                                std::memory_order_relaxed)) {
  }
  t_small_blocks.renew();
}

}  // namespace kiln::runtime
