// An LRU cache of objects that are bound to one tuple of input sizes each.
#pragma once

#include "backends/codegen/bind/call_sizes.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>

namespace kiln::codegen {

/// The sizes of all axes of all inputs, one after the other.
std::vector<std::int64_t> flattened(const InputSizes& sizes);
/// Whether `flat` is flattened(sizes). REQUIRES: equal ranks. Allocates nothing.
bool is_flattened(const std::vector<std::int64_t>& flat, const InputSizes& sizes);

/// Thread-safe: a mutex protects the entries.
template <class Sized>
class SizedCache {
 public:
  /// The cached object for `sizes`, else `make()`. Other callers wait while `make` runs; when it
  /// throws, nothing is cached. REQUIRES: the ranks of `sizes` are the same in all calls; `make`
  /// does not call this cache.
  std::shared_ptr<Sized> of(const InputSizes& sizes,
                            const std::function<std::shared_ptr<Sized>()>& make) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
      return is_flattened(entry.sizes, sizes);
    });
    if (found != entries_.end()) {
      std::rotate(entries_.begin(), found, found + 1);
      return entries_.front().sized;
    }
    entries_.insert(entries_.begin(), Entry{flattened(sizes), make()});
    if (entries_.size() > kMaxEntries) entries_.pop_back();
    return entries_.front().sized;
  }

  /// The cached objects, the most recently used first.
  std::vector<std::shared_ptr<Sized>> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Sized>> all;
    for (const Entry& entry : entries_) all.push_back(entry.sized);
    return all;
  }

  static constexpr std::size_t kMaxEntries = 8;

 private:
  struct Entry {
    std::vector<std::int64_t> sizes;  // flattened
    std::shared_ptr<Sized> sized;
  };

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // the most recently used first
};

}  // namespace kiln::codegen
