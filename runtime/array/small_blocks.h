// Caches the memory of small Arrays for each thread: repeated calls allocate nothing for their
// small results. The blocks are those of malloc, of size classes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace kiln::runtime {

/// The idle small blocks of one thread, a free list per size class. Only its thread takes and adds
/// blocks; a block may come from another thread. Freed when the thread exits; a block that the
/// thread releases later is not cached. Constant-initialised and without a destructor, so that
/// Arrays can be destroyed until the thread has ended.
class SmallBlocks {
 public:
  static constexpr std::size_t kStep = 64;  // size classes are multiples of it
  static constexpr std::size_t kMaxBytes = 512;
  /// The maximal number of idle blocks of one class.
  static constexpr std::uint32_t kMaxIdle = 8;

  constexpr SmallBlocks() = default;
  SmallBlocks(const SmallBlocks&) = delete;
  SmallBlocks& operator=(const SmallBlocks&) = delete;

  /// Rounds up to a size class. REQUIRES: bytes <= kMaxBytes.
  static constexpr std::size_t rounded(std::size_t bytes) {
    return (bytes + kStep - 1) / kStep * kStep;
  }
  /// Returns an idle block of rounded(bytes); null if there is none. REQUIRES: as for rounded().
  void* take(std::size_t bytes) noexcept {
    FreeList& list = lists_[rounded(bytes) / kStep];
    IdleBlock* idle = list.first;
    if (idle == nullptr) return nullptr;
    list.first = idle->next;
    list.set_count(list.count() - 1);
    return idle;
  }
  /// Makes a block of rounded(bytes), from malloc, idle; returns false if it must be freed.
  bool add(void* block, std::size_t bytes) noexcept {
    if (settings_ != shared_settings.load(std::memory_order_relaxed)) renew();
    FreeList& list = lists_[rounded(bytes) / kStep];
    if (list.count() >= limit_) return false;
    list.first = ::new (block) IdleBlock{list.first};
    list.set_count(list.count() + 1);
    return true;
  }

  /// Frees the idle blocks of this thread now, those of another one when it next destroys a small
  /// Array. `caches`: whether later blocks are cached. Thread-safe.
  static void release_all(bool caches) noexcept;

 private:
  struct IdleBlock {
    IdleBlock* next;
  };
  struct FreeList {
    std::uint32_t count() const { return size.load(std::memory_order_relaxed); }
    void set_count(std::uint32_t count) { size.store(count, std::memory_order_relaxed); }

    IdleBlock* first = nullptr;
    std::atomic<std::uint32_t> size{0};  // written by the thread, read by any
  };
  struct ExitGuard;

  /// Frees all idle blocks and adopts the shared settings.
  void renew() noexcept;
  void free_all() noexcept;

  /// Incremented by each release_all(); the lowest bit: whether threads cache blocks.
  static constinit std::atomic<std::uint32_t> shared_settings;

  FreeList lists_[kMaxBytes / kStep + 1];
  std::uint32_t settings_ = 0;  // of the last renew()
  std::uint32_t limit_ = 0;     // on the blocks of one list
  bool has_ended_ = false;
};

/// The blocks of this thread.
inline thread_local constinit SmallBlocks t_small_blocks;

}  // namespace kiln::runtime
