// Recycles the memory of large Arrays: a released block is idle until an Array of its size class
// acquires it, so that repeated calls fault no pages in for their results.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace kiln::runtime {

/// Whether the process has AddressSanitizer, of Kiln's build or of the program's.
bool has_address_sanitizer() noexcept;

/// Idle blocks are freed when they have been idle for kMaxIdle at an acquire, a recycle or a
/// release_old; when their bytes exceed the limit, the oldest first; and when memory runs out.
/// Any thread may call any function. A pool is constant-initialised and has no destructor, so that
/// Arrays of static storage duration may use it until the process ends.
class BlockPool {
 public:
  /// Nanoseconds that never decrease.
  using Clock = std::int64_t (*)() noexcept;
  /// Allocating and writing less memory is cheap anyway.
  static constexpr std::size_t kMinBytes = std::size_t{1} << 16;
  /// Bytes in front of those asked for; the owner's while the block is in use.
  static constexpr std::size_t kHeader = 64;
  /// 10 s, as jemalloc keeps unused pages by default.
  static constexpr std::int64_t kMaxIdle = 10'000'000'000;

  struct Counts {
    std::size_t used = 0, idle = 0;     // bytes now
    std::int64_t fresh = 0, reused = 0;  // blocks acquired so far
  };

  /// `limit`: of the idle bytes.
  constexpr BlockPool(Clock clock, std::size_t limit) : clock_(clock), limit_(limit) {}
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// kHeader and at least `bytes` more bytes of unspecified content, aligned to kHeader. Null where
  /// there is no memory even after all idle blocks were freed.
  void* acquire(std::size_t bytes) noexcept;
  /// `bytes`: that the block was acquired with.
  void recycle(void* block, std::size_t bytes) noexcept;
  /// Costs one load while no block is idle.
  void release_old() noexcept {
    if (oldest_.load(std::memory_order_relaxed) != kNever) release_older();
  }
  /// Frees all idle blocks and returns how many bytes.
  std::size_t release_idle() noexcept;
  void set_limit(std::size_t bytes) noexcept;
  Counts counts() const noexcept;

  /// For fork(): a child must find the lock free.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  struct Idle;
  /// The idle blocks of one size. Each is younger than its `older`.
  struct Row {
    Idle* youngest = nullptr;
    Idle* oldest = nullptr;
  };
  /// Sizes per doubling, so that a block is at most an eighth larger than what it is for.
  static constexpr std::size_t kSizes = 8;
  static constexpr std::size_t kRows = kSizes * 48;

  /// Zero where that overflows.
  static std::size_t rounded(std::size_t bytes) noexcept;
  static std::size_t row_of(std::size_t size) noexcept;
  static void free_chain(Idle* chain) noexcept;

  // All REQUIRE the lock.
  void push(void* block, std::size_t size, std::int64_t now) noexcept;
  Idle* pop_youngest(Row& row) noexcept;
  Idle* pop_oldest(Row& row) noexcept;
  /// Null where no block is idle.
  Row* oldest_row() noexcept;
  /// Unlinks the blocks beyond the limit and those idle since before `since`, chained by `older`.
  Idle* pop_excess(std::int64_t since) noexcept;

  void release_older() noexcept;

  static constexpr std::int64_t kNever = INT64_MAX;
  const Clock clock_;
  std::size_t limit_;
  mutable std::mutex mutex_;
  std::array<Row, kRows> rows_{};
  Counts counts_;
  /// Not after the oldest idle block was recycled; kNever where none is. Written under the lock.
  std::atomic<std::int64_t> oldest_{kNever};
};

/// The pool of all Arrays. Its limit is an eighth of the machine's memory, and nothing where
/// AddressSanitizer is to see each use after free.
BlockPool& block_pool() noexcept;
/// block_pool().release_old(), for every call of a function.
void release_old_blocks() noexcept;

}  // namespace kiln::runtime
