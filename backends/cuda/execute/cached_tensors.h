// Results of cached steps (codegen/bind/cached_steps.h) in device memory: one copy for all calls
// with the same sizes and the same versions of the variables.
//
// A call that finds no copy computes one in memory of its own, and shares it once the call has
// succeeded. So no call waits for another one, and concurrent calls may compute the same copy.
#pragma once

#include "backends/cuda/device/memory_pool.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace kiln::cuda {

/// The memory of a group of cached steps for known sizes.
struct CachedLayout {
  /// All that the bytes depend on besides the variables: the number of the group, and sizes.
  std::vector<std::int64_t> key;
  std::vector<std::int64_t> offsets;  // of CachedGroup::slots
  std::int64_t bytes = 0;
  std::size_t variables = 0;  // the number of CachedGroup::arguments
};

/// The results of one group. Immutable once its call has computed it.
struct CachedCopy {
  std::vector<std::int64_t> key;        // CachedLayout::key
  std::vector<std::uint64_t> versions;  // of the variables; one that is 0 is unknown
  DeviceMemory memory;
  std::uint64_t last_call = 0;  // guarded by the lock of the CachedTensors
};

/// A copy that a call uses.
struct HeldCopy {
  std::shared_ptr<CachedCopy> copy;
  bool is_new = false;  // the call has to compute it
};

/// The copies that a caller used last, one for each group; may be empty.
using LastCopies = std::vector<std::weak_ptr<CachedCopy>>;

/// The copies of a program. Thread-safe.
class CachedTensors {
 public:
  /// Returns a copy for each layout. `versions`: of the variables of each layout, in order. A new
  /// copy takes over the memory of the last one, if that has the same layout and no call uses it:
  /// the caller's variables have changed since. Throws sdk::Failure. REQUIRES: a ScopedContext of
  /// the thread.
  std::vector<HeldCopy> hold(MemoryPool& memory, const std::vector<CachedLayout>& layouts,
                             std::span<const std::uint64_t> versions, LastCopies& last);
  /// Shares a new copy whose work is done, unless a version is unknown.
  void share(const std::shared_ptr<CachedCopy>& copy) noexcept;

 private:
  /// Drops copies that no call has used for this many calls: their function is gone.
  static constexpr std::uint64_t kMaxIdleCalls = 256;

  using Copies = std::vector<std::shared_ptr<CachedCopy>>;
  using Versions = std::span<const std::uint64_t>;

  Copies::iterator find(const std::vector<std::int64_t>& key, Versions versions);
  HeldCopy hold(const CachedLayout& layout, Versions versions,
                const std::weak_ptr<CachedCopy>& last);
  /// A new copy with the memory of the last one; null if that is in use or was never shared.
  std::shared_ptr<CachedCopy> take_over(const std::shared_ptr<CachedCopy>& last);
  void drop_idle();

  std::mutex mutex_;
  Copies copies_;
  std::uint64_t calls_ = 0;
};

}  // namespace kiln::cuda
