// Finds copies by versions; replaces those of older versions.
#include "backends/codegen/host/shared_weights.h"

#include "core/types/at.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

/// Writes the versions that the weight depends on to `to`; returns whether all are known.
bool list_versions(const BoundPlan& plan, const BoundWeight& weight, const SlotVersions& versions,
                   std::vector<std::uint64_t>& to) {
  to.clear();
  if (weight.group < 0) {
    to.push_back(versions[weight.slot]);
  } else {
    for (const SlotId slot : plan.facts->cached.groups[at(weight.group)].arguments) {
      to.push_back(versions[slot]);
    }
  }
  return std::find(to.begin(), to.end(), std::uint64_t{0}) == to.end();
}

/// Whether `a` has a version that was numbered after all of `b`: numbers ascend.
bool is_newer(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  const auto newest = [](const auto& versions) {
    return *std::max_element(versions.begin(), versions.end());
  };
  return !a.empty() && newest(a) > newest(b);
}

/// Calls visit(version) for each argument of the program that no call changes.
template <class Visit>
void for_each_variable(const BoundPlan& plan, const SlotVersions& versions, const Visit& visit) {
  const std::vector<SlotId>& arguments = plan.plan->arguments;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] && plan.facts->unchanged[i]) visit(versions[arguments[i]]);
  }
}

bool has_variables(const WeightSet& set, const BoundPlan& plan, const SlotVersions& versions) {
  std::size_t next = 0;
  bool same = true;
  for_each_variable(plan, versions, [&](std::uint64_t version) {
    same = same && set.variables[next++] == version;
  });
  return same;
}

/// REQUIRES: SharedWeights::mutex_.
void let_go(std::span<std::shared_ptr<WeightCopy>> copies) noexcept {
  for (auto& copy : copies) {
    --copy->users;
    if (!copy->stays_with_call) copy.reset();
  }
}

std::shared_ptr<WeightCopy> new_copy(const BoundWeight& weight) {
  auto copy = std::make_shared<WeightCopy>();
  copy->form = weight.form->identity;
  return copy;
}

}  // namespace

void SharedWeights::hold(const BoundPlan& plan, const SlotVersions& versions, HeldWeights& held) {
  held.copies.resize(plan.weights.size());
  const std::lock_guard lock(mutex_);
  ++calls_;
  if (!held.set || held.set->is_dropped) choose_set(plan, versions, held);
  held.set->last_call = calls_;
  if (sets_.size() > 1) drop_idle_sets();
  std::size_t count = 0;
  try {
    for (; count < plan.weights.size(); ++count) {
      const BoundWeight& weight = plan.weights[count];
      std::shared_ptr<WeightCopy>& copy = held.copies[count];
      const bool known = list_versions(plan, weight, versions, held.versions);
      copy = known ? copy_of(weight, held) : recycled_copy(weight, std::move(copy));
      ++copy->users;
    }
  } catch (...) {
    let_go(std::span(held.copies).first(count));
    throw;
  }
}

void SharedWeights::release(HeldWeights& held) noexcept {
  const std::lock_guard lock(mutex_);
  let_go(held.copies);
}

/// Chooses the set that was created for the same variables, or creates one.
void SharedWeights::choose_set(const BoundPlan& plan, const SlotVersions& versions,
                               HeldWeights& held) {
  const auto found = std::find_if(sets_.begin(), sets_.end(), [&](const auto& set) {
    return has_variables(*set, plan, versions);
  });
  if (found != sets_.end()) {
    held.set = *found;
    return;
  }
  auto set = std::make_shared<WeightSet>();
  for_each_variable(plan, versions,
                    [&](std::uint64_t version) { set->variables.push_back(version); });
  sets_.push_back(set);
  held.set = std::move(set);
}

void SharedWeights::drop_idle_sets() {
  std::erase_if(sets_, [this](const std::shared_ptr<WeightSet>& set) {
    if (calls_ - set->last_call <= kMaxIdleCalls) return false;
    set->is_dropped = true;
    set->copies.clear();
    return true;
  });
}

std::shared_ptr<WeightCopy> SharedWeights::copy_of(const BoundWeight& weight,
                                                   const HeldWeights& held) {
  const std::size_t number = weight.form->number;
  std::vector<std::shared_ptr<WeightCopy>>& copies = held.set->copies;
  if (copies.size() <= number) copies.resize(number + 1);
  std::shared_ptr<WeightCopy>& copy = copies[number];
  if (copy && copy->versions == held.versions) return copy;
  for (const auto& other : sets_) {
    if (other->copies.size() <= number) continue;
    const auto& same = other->copies[number];
    if (same && same->versions == held.versions) return copy = same;
  }
  if (copy && is_newer(copy->versions, held.versions)) {
    auto own = new_copy(weight);  // of a call that began before the variables changed
    own->versions = held.versions;
    return own;
  }
  const bool is_free = copy && copy->users == 0 && copy.use_count() == 1;
  if (!is_free) {
    copy.reset();
    copy = new_copy(weight);
  }
  copy->is_made = false;
  copy->versions = held.versions;
  return copy;
}

/// A copy for this call alone, in the memory of the last call's if that was of the same weight.
std::shared_ptr<WeightCopy> SharedWeights::recycled_copy(const BoundWeight& weight,
                                                         std::shared_ptr<WeightCopy> last) {
  if (!last || last->form != weight.form->identity) last = new_copy(weight);
  last->stays_with_call = true;
  last->is_made = false;
  return last;
}

void SharedWeights::forget(const WeightForm& form) {
  const std::lock_guard lock(mutex_);
  for (const auto& set : sets_) {
    if (form.number < set->copies.size()) set->copies[form.number].reset();
  }
}

}  // namespace kiln::codegen
