// No deadlocks: a caller first compiles all keys that it has claimed and only then waits for keys
// that others have claimed.
#include "backends/cpu/llvm/code/code_cache.h"
#include "core/types/no_destructor.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

namespace kiln::cpu {
namespace {

/// A thousand kernels, about.
constexpr std::size_t kMaxBytes = std::size_t{16} << 20;

}  // namespace

class CodeCache::State {
 public:
  explicit State(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// Fills in code that is cached, and claims keys that no caller compiles. Returns the claimed
  /// indices.
  std::vector<std::size_t> take(const std::vector<std::string>& keys,
                                std::vector<KernelCodePtr>& codes) {
    std::vector<std::size_t> claimed;
    claimed.reserve(keys.size());
    const std::lock_guard lock(mutex_);
    try {
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if (codes[i]) continue;
        const auto [found, is_new] = entries_.try_emplace(keys[i]);
        if (is_new) claimed.push_back(i);
        if (!found->second.code) continue;
        found->second.last_use = ++uses_;
        codes[i] = found->second.code;
        ++shared_;
      }
    } catch (...) {
      for (const std::size_t i : claimed) entries_.erase(keys[i]);
      changed_.notify_all();
      throw;
    }
    return claimed;
  }

  void give(const std::vector<std::string>& keys, const std::vector<std::size_t>& claimed,
            const std::vector<KernelCodePtr>& compiled) {
    std::vector<KernelCodePtr> evicted;  // unloaded without the lock, since that takes another
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < claimed.size(); ++i) {
      Entry& entry = entries_.at(keys[claimed[i]]);
      entry.code = compiled[i];
      entry.last_use = ++uses_;
      bytes_ += keys[claimed[i]].size() + compiled[i]->bytes;
      ++compiled_;
    }
    changed_.notify_all();
    try {
      trim(evicted);
    } catch (const std::bad_alloc&) {  // the next caller tries again
    }
  }

  void give_up(const std::vector<std::string>& keys, const std::vector<std::size_t>& claimed) {
    const std::lock_guard lock(mutex_);
    for (const std::size_t i : claimed) entries_.erase(keys[i]);
    changed_.notify_all();
  }

  /// Returns when one of the keys has its code or is not claimed.
  void wait(const std::vector<std::string>& keys, const std::vector<KernelCodePtr>& codes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if (codes[i]) continue;
        const auto found = entries_.find(keys[i]);
        if (found == entries_.end() || found->second.code) return true;
      }
      return false;
    });
  }

  CodeCacheStats stats() const {
    const std::lock_guard lock(mutex_);
    return {compiled_, shared_, entries_.size(), bytes_};
  }

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }
  /// Drops claims in a child of fork(): the threads that compile or wait exist only in the parent.
  void forget_other_threads() {
    std::erase_if(entries_, [](const auto& one) { return !one.second.code; });
    new (&changed_) std::condition_variable;
    mutex_.unlock();
  }

 private:
  struct Entry {
    KernelCodePtr code;  // null: a caller is compiling it
    std::uint64_t last_use = 0;
  };
  using Entries = std::unordered_map<std::string, Entry>;

  /// Moves code that no program uses to `evicted`, the least recently used first.
  void trim(std::vector<KernelCodePtr>& evicted) {
    if (bytes_ <= max_bytes_) return;
    std::vector<std::pair<std::uint64_t, Entries::iterator>> unused;
    for (auto one = entries_.begin(); one != entries_.end(); ++one) {
      const Entry& entry = one->second;
      if (entry.code && entry.code.use_count() == 1) unused.emplace_back(entry.last_use, one);
    }
    std::sort(unused.begin(), unused.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    evicted.reserve(unused.size());
    for (const auto& [last_use, one] : unused) {
      if (bytes_ <= max_bytes_) return;
      bytes_ -= one->first.size() + one->second.code->bytes;
      evicted.push_back(std::move(one->second.code));
      entries_.erase(one);
    }
  }

  const std::size_t max_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Entries entries_;
  std::size_t bytes_ = 0;
  std::uint64_t uses_ = 0, compiled_ = 0, shared_ = 0;
};

CodeCache& CodeCache::instance() {
  static NoDestructor<CodeCache> cache(kMaxBytes);
  // Hold the mutex across fork(), so that it is unlocked in the child.
  static const bool registered [[maybe_unused]] = [] {
    const int error =
        ::pthread_atfork([] { cache->state_->lock(); }, [] { cache->state_->unlock(); },
                         [] { cache->state_->forget_other_threads(); });
    if (error != 0) throw std::bad_alloc();  // tried again later
    return true;
  }();
  return *cache;
}

CodeCache::CodeCache(std::size_t max_bytes) : state_(std::make_unique<State>(max_bytes)) {}
CodeCache::~CodeCache() = default;

std::vector<KernelCodePtr> CodeCache::get(const std::vector<std::string>& keys,
                                          const Compile& compile) {
  std::vector<KernelCodePtr> codes(keys.size());
  while (true) {
    const std::vector<std::size_t> claimed = state_->take(keys, codes);
    if (claimed.empty()) {
      const bool all = std::all_of(codes.begin(), codes.end(),
                                   [](const KernelCodePtr& code) { return code != nullptr; });
      if (all) return codes;
      state_->wait(keys, codes);
      continue;
    }
    try {
      const std::vector<KernelCodePtr> compiled = compile(claimed);
      state_->give(keys, claimed, compiled);
      for (std::size_t i = 0; i < claimed.size(); ++i) codes[claimed[i]] = compiled[i];
    } catch (...) {
      state_->give_up(keys, claimed);
      throw;
    }
  }
}

CodeCacheStats CodeCache::stats() const { return state_->stats(); }

}  // namespace kiln::cpu
