// A function whose variables do not change finds its last copies without a search.
#include "backends/cuda/execute/cached_tensors.h"

#include <algorithm>
#include <new>
#include <utility>

namespace kiln::cuda {

std::vector<HeldCopy> CachedTensors::hold(MemoryPool& memory,
                                          const std::vector<CachedLayout>& layouts,
                                          Versions versions, LastCopies& last) {
  std::vector<HeldCopy> held;
  held.reserve(layouts.size());
  last.resize(layouts.size());
  Versions rest = versions;
  {
    const std::lock_guard lock(mutex_);
    ++calls_;
    for (std::size_t i = 0; i < layouts.size(); ++i) {
      held.push_back(hold(layouts[i], rest.first(layouts[i].variables), last[i]));
      rest = rest.subspan(layouts[i].variables);
    }
    drop_idle();
  }
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const Versions own = versions.first(layouts[i].variables);
    versions = versions.subspan(layouts[i].variables);
    std::shared_ptr<CachedCopy>& copy = held[i].copy;
    if (!copy) {
      copy = std::make_shared<CachedCopy>();
      copy->key = layouts[i].key;
      copy->memory = memory.allocate(layouts[i].bytes, "tensors that depend on variables alone");
    }
    if (held[i].is_new) copy->versions.assign(own.begin(), own.end());
    last[i] = copy;
  }
  return held;
}

/// Without a copy, the result is new.
HeldCopy CachedTensors::hold(const CachedLayout& layout, Versions versions,
                             const std::weak_ptr<CachedCopy>& last) {
  std::shared_ptr<CachedCopy> copy = last.lock();
  if (copy && copy->key != layout.key) copy = nullptr;
  if (!copy || !std::ranges::equal(copy->versions, versions)) {
    const auto found = find(layout.key, versions);
    if (found == copies_.end()) return {take_over(copy), true};
    copy = *found;
  }
  copy->last_call = calls_;
  return {std::move(copy), false};
}

CachedTensors::Copies::iterator CachedTensors::find(const std::vector<std::int64_t>& key,
                                                    Versions versions) {
  return std::ranges::find_if(copies_, [&](const std::shared_ptr<CachedCopy>& one) {
    return std::ranges::equal(one->versions, versions) && one->key == key;
  });
}

std::shared_ptr<CachedCopy> CachedTensors::take_over(const std::shared_ptr<CachedCopy>& last) {
  constexpr long kOwners = 2;  // `copies_`, and `last` here
  const auto found = std::ranges::find(copies_, last);
  if (!last || found == copies_.end() || last.use_count() != kOwners) return nullptr;
  auto copy = std::make_shared<CachedCopy>();
  copies_.erase(found);
  copy->key = std::move(last->key);
  copy->memory = std::move(last->memory);
  return copy;
}

void CachedTensors::drop_idle() {
  std::erase_if(copies_, [this](const std::shared_ptr<CachedCopy>& one) {
    return one.use_count() == 1 && calls_ - one->last_call > kMaxIdleCalls;
  });
}

void CachedTensors::share(const std::shared_ptr<CachedCopy>& copy) noexcept {
  const auto& versions = copy->versions;
  if (std::ranges::find(versions, std::uint64_t{0}) != versions.end()) return;
  const std::lock_guard lock(mutex_);
  if (find(copy->key, versions) != copies_.end()) return;
  copy->last_call = calls_;
  try {
    copies_.push_back(copy);
  } catch (const std::bad_alloc&) {
    return;  // the next call computes it again
  }
}

}  // namespace kiln::cuda
