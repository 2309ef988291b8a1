// Finds forms by the hash of their keys.
#include "backends/codegen/host/bind/weight_form.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

std::uint64_t hash_of(std::span<const std::int64_t> key) {
  std::uint64_t hash = 0;
  for (const std::int64_t word : key) {
    hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

std::shared_ptr<const WeightForm> WeightForms::of(std::span<const std::int64_t> key,
                                                  std::int64_t bytes,
                                                  const std::shared_ptr<const Packer>& packer) {
  const std::uint64_t hash = hash_of(key);
  {
    const std::lock_guard lock(mutex_);
    if (auto known = find(hash, key, packer.get())) return known;
  }
  auto form = std::make_unique<WeightForm>();
  form->key.assign(key.begin(), key.end());
  form->packer = packer;
  form->bytes = bytes;
  WeightForm& made = *form;
  std::shared_ptr<const WeightForm> owned(
      form.release(), [this, hash](const WeightForm* last) { remove(last, hash); });
  const std::lock_guard lock(mutex_);
  if (auto known = find(hash, key, packer.get())) return known;
  free_.reserve(count_ + 1);  // so that removal does not allocate
  by_hash_.emplace(hash, Entry{owned.get(), owned});
  made.identity = ++created_;
  if (free_.empty()) free_.push_back(count_++);
  made.number = free_.back();
  free_.pop_back();
  return owned;
}

std::shared_ptr<const WeightForm> WeightForms::find(std::uint64_t hash,
                                                    std::span<const std::int64_t> key,
                                                    const Packer* packer) const {
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto one = first; one != last; ++one) {
    if (!one->second.form->is_of(key, packer)) continue;
    if (auto alive = one->second.owned.lock()) return alive;
  }
  return nullptr;
}

void WeightForms::remove(const WeightForm* form, std::uint64_t hash) {
  const std::unique_ptr<const WeightForm> last(form);
  if (form->identity == 0) return;  // not in the table
  forget(*form);
  const std::lock_guard lock(mutex_);
  const auto [first, end] = by_hash_.equal_range(hash);
  const auto is_last = [form](const auto& one) { return one.second.form == form; };
  by_hash_.erase(std::find_if(first, end, is_last));
  free_.push_back(form->number);
}

}  // namespace kiln::codegen
