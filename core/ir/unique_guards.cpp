// Hashes what Guard's operator== compares.
#include "core/ir/unique_guards.h"

#include <algorithm>

namespace kiln::ir {
namespace {

std::size_t hash_of(const Guard& guard) {
  std::size_t hash = std::hash<std::string>()(guard.message);
  for (const std::size_t part :
       {guard.left.hash(), guard.right.hash(), static_cast<std::size_t>(guard.kind)}) {
    hash = hash * 1000003 + part;
  }
  return hash;
}

}  // namespace

UniqueGuards::UniqueGuards(std::vector<Guard> guards) : guards_(std::move(guards)) {
  for (std::size_t i = 0; i < guards_.size(); ++i) positions_.emplace(hash_of(guards_[i]), i);
}

void UniqueGuards::add(const Guard& guard) {
  const std::size_t hash = hash_of(guard);
  const auto [first, last] = positions_.equal_range(hash);
  const auto is_equal = [&](const auto& entry) { return guards_[entry.second] == guard; };
  if (std::any_of(first, last, is_equal)) return;
  positions_.emplace(hash, guards_.size());
  guards_.push_back(guard);
}

void add_guards(std::vector<Guard>& guards, const std::vector<Guard>& more) {
  if (more.empty()) return;
  UniqueGuards all(std::move(guards));
  for (const Guard& guard : more) all.add(guard);
  guards = std::move(all).take();
}

}  // namespace kiln::ir
