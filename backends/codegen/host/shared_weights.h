// Packed operands and results of cached steps: one copy for all sizes and all concurrent calls.
//
// A copy belongs to the versions of the variables that it was made from. The first call that sees
// new versions makes the copy while others wait for it; a call that began with old versions keeps
// its own. Functions of equal programs share an executable, so it may serve several sets of
// variables: each has a WeightSet, in which new versions replace old ones.
#pragma once

#include "backends/codegen/host/aligned_memory.h"
#include "backends/codegen/host/bind/bound_plan.h"

#include <atomic>

namespace kiln::codegen {

/// A tensor in memory that runs share. `making` is locked while it is written.
struct WeightCopy {
  std::uint64_t form = 0;               // WeightForm::identity
  std::vector<std::uint64_t> versions;  // of the variables that it depends on
  bool stays_with_call = false;         // of unknown versions: its memory is for the next call
  int users = 0;                        // calls that hold it; guarded by SharedWeights::mutex_
  std::mutex making;
  std::atomic<bool> is_made{false};
  AlignedMemory memory;
};

/// The copies for the variables of one function. Guarded by SharedWeights::mutex_.
struct WeightSet {
  std::vector<std::uint64_t> variables;            // versions of all unchanged arguments, once
  std::vector<std::shared_ptr<WeightCopy>> copies;  // by WeightForm::number
  std::uint64_t last_call = 0;
  bool is_dropped = false;  // no longer in SharedWeights::sets_
};

/// The copies that a call holds, one for each weight of its plan.
struct HeldWeights {
  std::shared_ptr<WeightSet> set;  // of the previous call
  std::vector<std::shared_ptr<WeightCopy>> copies;
  std::vector<std::uint64_t> versions;  // working memory
};

/// Versions of the slots of a program's plan in one call; 0: the contents are not known.
using SlotVersions = SlotList<std::uint64_t>;

/// Thread-safe. REQUIRES: the forms of the plans are from this object.
class SharedWeights final : public WeightForms {
 public:
  /// Holds a copy of each weight of the plan. A copy that is not made yet (WeightCopy::is_made) is
  /// to be made by whoever locks it first. A weight of unknown version gets a copy of its own. With
  /// the same versions as in the call before, allocates nothing.
  void hold(const BoundPlan& plan, const SlotVersions& versions, HeldWeights& held);
  void release(HeldWeights& held) noexcept;

  /// A set that so many calls of the program did not use is dropped: the variables of another
  /// function, or old versions in a set that no thread uses any more.
  static constexpr std::uint64_t kMaxIdleCalls = 64;

 private:
  void forget(const WeightForm& form) override;
  void choose_set(const BoundPlan& plan, const SlotVersions& versions, HeldWeights& held);
  void drop_idle_sets();
  std::shared_ptr<WeightCopy> copy_of(const BoundWeight& weight, const HeldWeights& held);
  static std::shared_ptr<WeightCopy> recycled_copy(const BoundWeight& weight,
                                                   std::shared_ptr<WeightCopy> last);

  std::mutex mutex_;
  std::vector<std::shared_ptr<WeightSet>> sets_;
  std::uint64_t calls_ = 0;
};

}  // namespace kiln::codegen
