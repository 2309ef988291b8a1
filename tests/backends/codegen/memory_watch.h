// Checks the memory accesses of an emulated launch: bounds, and data races between threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace kiln::test {

/// A thread of a grid, and how many barriers it has passed.
struct ThreadProgress {
  std::int64_t block = -1;  // none
  std::int64_t thread = 0;  // of the block
  std::int64_t warp = 0;
  std::int64_t block_barriers = 0, warp_barriers = 0;
};

/// Whether a launch may access these bytes.
using IsInBounds = std::function<bool(const std::byte* address, std::size_t bytes)>;

/// Accesses have to be aligned to their size, a power of two. Two accesses to a byte race when one
/// of them is a store, different threads make them, and nothing orders them. Within a block, a
/// barrier of both threads between the accesses orders them. Accesses of two blocks are ordered by
/// two atomic operations at one address: the earlier block's one comes after its access, the later
/// block's one before its access, each in the same thread or with a barrier between.
class MemoryWatch {
 public:
  /// Without `finds_races`, checks alignment and bounds alone.
  explicit MemoryWatch(IsInBounds is_in_bounds, bool finds_races = true)
      : is_in_bounds_(std::move(is_in_bounds)), finds_races_(finds_races) {}

  enum class Access : std::uint8_t { Load, Store };
  /// False, and an error, for an access that is misaligned or out of bounds: it must be skipped.
  bool check_global(const std::byte* address, std::size_t bytes, Access access,
                    const ThreadProgress& progress);
  /// Pointers to this range are to shared memory.
  void set_shared(const std::byte* begin, std::size_t bytes) {
    shared_begin_ = begin;
    shared_end_ = begin + bytes;
  }
  void check_shared(const std::byte* address, std::size_t bytes, Access access,
                    const ThreadProgress& progress);
  void note_atomic(const void* address, const ThreadProgress& progress);
  /// Another block gets the shared memory.
  void begin_block() { shared_.clear(); }

  /// The first error; empty: none.
  const std::string& error() const { return error_; }

 private:
  /// The last accesses to a byte. Of the loads since the last store, `loads` has the last one, the
  /// last one of another thread, and the last one of another warp.
  struct Byte {
    ThreadProgress store;
    std::array<ThreadProgress, 3> loads;
  };
  using Bytes = std::unordered_map<const std::byte*, Byte>;

  /// Whether no race is possible. REQUIRES: `earlier` was noted before `later`.
  bool are_ordered(const ThreadProgress& earlier, const ThreadProgress& later) const;
  void note(Bytes& all, const std::byte* address, std::size_t bytes, Access access,
            const ThreadProgress& progress);
  void report(const std::string& error);

  IsInBounds is_in_bounds_;
  bool finds_races_;
  const std::byte *shared_begin_ = nullptr, *shared_end_ = nullptr;
  Bytes global_, shared_;
  std::unordered_map<const void*, std::vector<ThreadProgress>> atomics_;  // by their address
  std::string error_;
};

}  // namespace kiln::test
