// A registry of the threads that cache blocks serves statistics: each thread frees its own blocks.
#include "runtime/array/small_blocks.h"

#include "runtime/array/block_pool.h"

#include <cstdlib>
#include <iterator>
#include <mutex>

namespace kiln::runtime {

constinit std::atomic<std::uint32_t> SmallBlocks::current_generation{0};
constinit std::atomic<bool> SmallBlocks::is_caching{false};

/// A linked list of the caches of all threads that have one.
struct SmallBlocks::Registry {
  static constinit inline std::mutex mutex;
  static constinit inline SmallBlocks* first = nullptr;

  static void add(SmallBlocks& blocks) {
    const std::lock_guard lock(mutex);
    blocks.next_ = first;
    first = &blocks;
  }
  static void remove(SmallBlocks& blocks) {
    const std::lock_guard lock(mutex);
    SmallBlocks** link = &first;
    while (*link != &blocks) link = &(*link)->next_;
    *link = blocks.next_;
  }
};

/// Registers the cache of its thread, and frees the blocks when the thread exits.
struct SmallBlocks::ExitGuard {
  ExitGuard() { Registry::add(t_small_blocks); }
  ~ExitGuard() {
    SmallBlocks& blocks = t_small_blocks;
    Registry::remove(blocks);
    blocks.has_ended_ = true;
    blocks.renew();
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
  generation_ = current_generation.load(std::memory_order_acquire);
  const bool caches = is_caching.load(std::memory_order_relaxed) && !has_ended_;
  limit_ = caches ? kMaxIdle : 0;
  if (caches) [[maybe_unused]] static thread_local const ExitGuard guard;
}

void SmallBlocks::release_all() noexcept {
  current_generation.fetch_add(1, std::memory_order_relaxed);
  t_small_blocks.renew();
}

void SmallBlocks::set_caching(bool caches) noexcept {
  is_caching.store(caches && !has_address_sanitizer(), std::memory_order_relaxed);
  current_generation.fetch_add(1, std::memory_order_release);
}

std::size_t SmallBlocks::idle_bytes() noexcept {
  const std::lock_guard lock(Registry::mutex);
  std::size_t bytes = 0;
  for (const SmallBlocks* blocks = Registry::first; blocks != nullptr; blocks = blocks->next_) {
    for (std::size_t i = 0; i < std::size(blocks->lists_); ++i) {
      bytes += blocks->lists_[i].count() * (kHeader + i * kStep);
    }
  }
  return bytes;
}

void SmallBlocks::lock() noexcept { Registry::mutex.lock(); }
void SmallBlocks::unlock() noexcept { Registry::mutex.unlock(); }
void SmallBlocks::unlock_in_child() noexcept {
  SmallBlocks* own = Registry::first;
  while (own != nullptr && own != &t_small_blocks) own = own->next_;
  if (own != nullptr) own->next_ = nullptr;
  Registry::first = own;
  Registry::mutex.unlock();
}

}  // namespace kiln::runtime
