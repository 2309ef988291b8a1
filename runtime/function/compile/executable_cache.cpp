// A table of weak references by key, and a short LRU list of strong ones.
#include "runtime/function/compile/executable_cache.h"

#include "core/types/fork.h"
#include "core/types/no_destructor.h"
#include "core/types/text.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace kiln::runtime {
namespace {

constinit ForkMutex cache_mutex;

/// Guarded by cache_mutex.
class ExecutableCache {
 public:
  /// Returns the live executable with that key, or null.
  ExecutablePtr find(const std::string& key) {
    const std::lock_guard lock(cache_mutex);
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : found->second.lock();
  }

  /// Returns the live executable with that key, else adds and returns `compiled`.
  ExecutablePtr add(const std::string& key, const ExecutablePtr& compiled) {
    const std::lock_guard lock(cache_mutex);
    if (compiled_.size() == kMaxCompiled) compiled_.clear();
    compiled_.insert(std::hash<std::string>()(key));
    std::erase_if(entries_, [](const auto& entry) { return entry.second.expired(); });
    const auto [entry, is_new] = entries_.emplace(key, compiled);
    if (is_new) return compiled;
    ExecutablePtr first = entry->second.lock();
    if (first) return first;
    entry->second = compiled;
    return compiled;
  }

  /// Whether an executable with that key was compiled before.
  bool was_compiled(const std::string& key) const {
    const std::lock_guard lock(cache_mutex);
    return compiled_.contains(std::hash<std::string>()(key));
  }

  void keep(ExecutablePtr executable) {
    const std::lock_guard lock(cache_mutex);
    kept_.reserve(kMaxKept + 1);
    const auto found = std::find(kept_.begin(), kept_.end(), executable);
    if (found != kept_.end()) {
      std::rotate(kept_.begin(), found, found + 1);
      return;
    }
    kept_.insert(kept_.begin(), executable);
    if (kept_.size() <= kMaxKept) return;
    executable = std::move(kept_.back());  // destroyed by the caller, after the lock
    kept_.pop_back();
  }

  std::atomic<std::int64_t> misses{0}, hits{0};

 private:
  static constexpr std::size_t kMaxCompiled = 4096;

  std::unordered_map<std::string, std::weak_ptr<const Executable>> entries_;
  std::unordered_set<std::size_t> compiled_;  // hashes of keys, also of executables that were freed
  std::vector<ExecutablePtr> kept_;  // most recently used first
};

KILN_AT_LOAD NoDestructor<ExecutableCache> process_cache;
[[maybe_unused]] const bool is_cache_held = hold_at_fork<cache_mutex>();

ExecutableCache& cache() { return *process_cache; }

void append(std::string& key, std::string_view part) {
  key += text(part.size(), ":");
  key += part;
}

std::string key_of(const Instance& instance, const CompileRequest& request) {
  std::string key = text(static_cast<const void*>(&instance), ";");
  append(key, request.label);
  append(key, request.function);
  for (const auto& [name, value] : request.options) {
    append(key, name);
    append(key, value);
  }
  const auto* module = reinterpret_cast<const char*>(request.module.data());
  append(key, {module, request.module.size()});
  return key;
}

}  // namespace

SharedExecutable shared_executable(const Instance& instance, const CompileRequest& request,
                                   const std::function<Executable()>& compile) {
  ExecutableCache& shared = cache();
  const auto compile_new = [&] {
    auto executable = std::make_shared<const Executable>(compile());
    shared.misses.fetch_add(1, std::memory_order_relaxed);
    return executable;
  };
  if (!request.constants.empty()) {
    return {compile_new(), false, "new code, as it has large constants beside its module"};
  }
  const std::string key = key_of(instance, request);
  if (ExecutablePtr found = shared.find(key)) {
    shared.hits.fetch_add(1, std::memory_order_relaxed);
    return {std::move(found), true, "the code of an equal, earlier function"};
  }
  const std::string_view reason =
      shared.was_compiled(key)
          ? "new code, as that of an equal, earlier function was freed with the function"
          : "new code, as no earlier function is equal";
  return {shared.add(key, compile_new()), false, reason};
}

void keep_recent(const ExecutablePtr& executable) {
  if (executable->info().planned_bytes > kMaxKeptBytes) return;
  cache().keep(executable);
}

ExecutableCacheCounts executable_cache_counts() {
  return {cache().misses.load(std::memory_order_relaxed),
          cache().hits.load(std::memory_order_relaxed)};
}

}  // namespace kiln::runtime
