// Recycles the memory of large Arrays: a released block stays idle until an Array of its size class
// acquires it, so that repeated calls have no page faults for their results.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace kiln::runtime {

/// Whether the process runs AddressSanitizer, from Kiln's build or the program's.
bool has_address_sanitizer() noexcept;

/// A pool of blocks by size class. Frees an idle block after kMaxIdle, at the next recycle or
/// release_old; the oldest ones while the idle bytes exceed the limit; and all if memory runs out.
/// Thread-safe. Constant-initialised and without a destructor, so that static Arrays can use it
/// until the process exits.
class BlockPool {
 public:
  /// A monotonic clock in nanoseconds.
  using Clock = std::int64_t (*)() noexcept;
  /// The smallest pooled size: smaller memory is cheap to allocate and to touch.
  static constexpr std::size_t kMinBytes = std::size_t{1} << 16;
  /// Bytes before the requested ones, for the owner while the block is in use.
  static constexpr std::size_t kHeader = 64;
  /// 10 s, as jemalloc keeps unused pages by default.
  static constexpr std::int64_t kMaxIdle = 10'000'000'000;

  struct Counts {
    std::size_t used = 0, idle = 0;  // bytes now
    std::int64_t fresh = 0, reused = 0;  // blocks acquired so far
  };

  /// `limit`: on the idle bytes.
  constexpr BlockPool(Clock clock, std::size_t limit) : clock_(clock), limit_(limit) {}
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// Returns a block of kHeader and at least `bytes` more bytes of unspecified content, aligned to
  /// kHeader; null if there is no memory even after all idle blocks were freed. `is_zeroed`, unless
  /// null: set to whether all bytes are 0, as fresh pages are.
  void* acquire(std::size_t bytes, bool* is_zeroed = nullptr) noexcept;
  /// Makes the block idle. REQUIRES: it was acquired with `bytes`.
  void recycle(void* block, std::size_t bytes) noexcept;
  /// Frees blocks idle for kMaxIdle. Costs one load while no block is idle.
  void release_old() noexcept {
    if (oldest_.load(std::memory_order_relaxed) != kNever) release_older();
  }
  /// Frees all idle blocks and returns how many bytes.
  std::size_t release_idle() noexcept;
  void set_limit(std::size_t bytes) noexcept;
  Counts counts() const noexcept;

  /// For pthread_atfork(): the lock must be free in a child.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  struct IdleBlock;
  /// The idle blocks of one size class, a doubly linked list by age.
  struct FreeList {
    IdleBlock* youngest = nullptr;
    IdleBlock* oldest = nullptr;
  };
  /// Size classes per doubling: a block is at most an eighth larger than requested.
  static constexpr std::size_t kSizes = 8;
  static constexpr std::size_t kFreeLists = kSizes * 48;

  /// Rounds up to a size class; 0 on overflow.
  static std::size_t rounded(std::size_t bytes) noexcept;
  static std::size_t list_of(std::size_t size) noexcept;
  static void free_chain(IdleBlock* chain) noexcept;

  // REQUIRES for the next five: the lock.
  void push(void* block, std::size_t size, std::int64_t now) noexcept;
  IdleBlock* pop_youngest(FreeList& list) noexcept;
  IdleBlock* pop_oldest(FreeList& list) noexcept;
  /// Returns the list with the oldest block; null if no block is idle.
  FreeList* oldest_list() noexcept;
  /// Unlinks the blocks beyond the limit and those idle since before `since`, chained by `older`.
  IdleBlock* pop_excess(std::int64_t since) noexcept;

  void release_older() noexcept;

  static constexpr std::int64_t kNever = INT64_MAX;
  const Clock clock_;
  std::size_t limit_;
  mutable std::mutex mutex_;
  std::array<FreeList, kFreeLists> free_lists_{};
  Counts counts_;
  /// A lower bound of when the oldest idle block was recycled; kNever if no block is idle. Written
  /// under the lock.
  std::atomic<std::int64_t> oldest_{kNever};
};

/// Returns the pool of all Arrays. Its limit is an eighth of the machine's memory or, if that is
/// less, of the limit of the process's control group; 0 with AddressSanitizer, which then sees each
/// use after free.
BlockPool& block_pool() noexcept;
/// Calls block_pool().release_old(); each call of a function does so first.
void release_old_blocks() noexcept;

}  // namespace kiln::runtime
