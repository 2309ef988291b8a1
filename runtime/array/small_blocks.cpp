// A registry of the threads that cache blocks serves statistics: each thread frees its own blocks.
#include "runtime/array/small_blocks.h"

#include "backends/abi/kiln_backend_memory.h"

#include <pthread.h>

#include <cstdlib>
#include <iterator>
#include <mutex>
#include <new>

namespace kiln::runtime {
namespace {

/// Has a destructor that each thread with a value calls at its exit, after those of its
/// thread_local objects.
constinit pthread_key_t exit_key = 0;
constinit bool has_exit_key = false;

/// Whether end_thread() was called.
constinit thread_local bool thread_has_ended = false;

}  // namespace

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

SmallBlocks* SmallBlocks::create() noexcept {
  if (thread_has_ended || !is_caching.load(std::memory_order_relaxed)) return nullptr;
  void* memory = std::malloc(sizeof(SmallBlocks));
  if (memory == nullptr) return nullptr;
  auto* blocks = ::new (memory) SmallBlocks;
  blocks->renew();
  if (::pthread_setspecific(exit_key, blocks) != 0) {
    std::free(blocks);
    return nullptr;
  }
  Registry::add(*blocks);
  return t_small_blocks = blocks;
}

void SmallBlocks::end_thread(void* blocks) noexcept {
  auto* self = static_cast<SmallBlocks*>(blocks);
  Registry::remove(*self);
  self->free_all();
  std::free(self);
  t_small_blocks = nullptr;
  thread_has_ended = true;
}

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
  limit_ = is_caching.load(std::memory_order_relaxed) ? kMaxIdle : 0;
}

void SmallBlocks::release_all() noexcept {
  current_generation.fetch_add(1, std::memory_order_relaxed);
  if (t_small_blocks != nullptr) t_small_blocks->renew();
}

void SmallBlocks::start() noexcept {
  has_exit_key = ::pthread_key_create(&exit_key, end_thread) == 0;
  set_caching(true);
}

void SmallBlocks::set_caching(bool caches) noexcept {
  const bool may_cache = has_exit_key && !abi::has_address_sanitizer();
  is_caching.store(caches && may_cache, std::memory_order_relaxed);
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
  if (t_small_blocks != nullptr) t_small_blocks->next_ = nullptr;
  Registry::first = t_small_blocks;
  Registry::mutex.unlock();
}

}  // namespace kiln::runtime
