// A cache of objects that are bound to one tuple of input sizes each, bounded by bytes (LRU).
#pragma once

#include "backends/codegen/bind/call_sizes.h"

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace kiln::codegen {

/// The sizes of all axes of all inputs, one after the other.
std::vector<std::int64_t> flattened(const InputSizes& sizes);
/// Whether `flat` is flattened(sizes). REQUIRES: equal ranks. Allocates nothing.
bool is_flattened(const std::vector<std::int64_t>& flat, const InputSizes& sizes);
/// A hash of flattened(sizes). Allocates nothing.
std::uint64_t hash_of(const InputSizes& sizes);

/// `Sized` has `std::int64_t bytes() const`, its memory, which may grow. A look-up leaves objects
/// of at most kMaxBytes together, as counted when each was looked up last, or one. Objects that are
/// in use survive their removal. A look-up takes constant time and allocates nothing. Thread-safe:
/// a mutex protects the entries.
template <class Sized>
class SizedCache {
 public:
  /// The cached object for `sizes`, else `make()`. Other callers wait while `make` runs; when it
  /// throws, nothing is cached. REQUIRES: the ranks of `sizes` are the same in all calls; `make`
  /// does not call this cache.
  std::shared_ptr<Sized> of(const InputSizes& sizes,
                            const std::function<std::shared_ptr<Sized>()>& make) {
    const std::uint64_t hash = hash_of(sizes);
    const std::lock_guard lock(mutex_);
    const auto [first, last] = by_hash_.equal_range(hash);
    for (auto one = first; one != last; ++one) {
      if (!is_flattened(one->second->sizes, sizes)) continue;
      entries_.splice(entries_.begin(), entries_, one->second);
      count_front();
      return entries_.front().sized;
    }
    std::shared_ptr<Sized> sized = make();
    entries_.push_front({flattened(sizes), hash, sized});
    try {
      by_hash_.emplace(hash, entries_.begin());
    } catch (...) {
      entries_.pop_front();
      throw;
    }
    count_front();
    return sized;
  }

  /// The cached objects, the most recently used first.
  std::vector<std::shared_ptr<Sized>> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Sized>> all;
    for (const Entry& entry : entries_) all.push_back(entry.sized);
    return all;
  }

  static constexpr std::int64_t kMaxBytes = std::int64_t{64} << 20;

 private:
  struct Entry {
    std::vector<std::int64_t> sizes;  // flattened
    std::uint64_t hash = 0;
    std::shared_ptr<Sized> sized;
    std::int64_t bytes = 0;  // that bytes_ includes
  };
  using Entries = std::list<Entry>;

  /// Counts the bytes of the first entry anew; drops the last entries if all are over kMaxBytes.
  void count_front() {
    Entry& entry = entries_.front();
    const std::int64_t bytes = entry.sized->bytes();
    bytes_ += bytes - entry.bytes;
    entry.bytes = bytes;
    while (bytes_ > kMaxBytes && entries_.size() > 1) drop_last();
  }

  void drop_last() {
    const auto last = std::prev(entries_.end());
    auto same = by_hash_.find(last->hash);
    while (same->second != last) ++same;
    by_hash_.erase(same);
    bytes_ -= last->bytes;
    entries_.erase(last);
  }

  mutable std::mutex mutex_;
  Entries entries_;  // the most recently used first
  std::unordered_multimap<std::uint64_t, typename Entries::iterator> by_hash_;
  std::int64_t bytes_ = 0;
};

}  // namespace kiln::codegen
