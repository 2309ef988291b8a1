// Drops dependences through memory that other dependences imply (transitive reduction).
#include "backends/cuda/execute/step_dependences.h"

#include "backends/codegen/plan/step_effects.h"
#include "core/types/at.h"

#include <algorithm>
#include <cstdint>
#include <functional>

namespace kiln::cuda {
namespace {

using namespace codegen;

/// The transitive closure of the dependences: one bit for each ancestor of a step.
class Ancestors {
 public:
  explicit Ancestors(std::size_t steps) : words_((steps + 63) / 64), bits_(steps * words_) {}

  bool has(int step, int ancestor) const {
    return (bits_[at(step) * words_ + at(ancestor) / 64] >> (at(ancestor) % 64) & 1) != 0;
  }
  /// Adds the ancestor and all of its own.
  void add(int step, int ancestor) {
    std::uint64_t* const row = &bits_[at(step) * words_];
    const std::uint64_t* const other = &bits_[at(ancestor) * words_];
    for (std::size_t w = 0; w < words_; ++w) row[w] |= other[w];
    row[at(ancestor) / 64] |= std::uint64_t{1} << (at(ancestor) % 64);
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

class Dependences {
 public:
  Dependences(const Plan& plan, const std::vector<BuiltKernel>& kernels)
      : users_(plan.slots.size()), earlier_(plan.steps.size()), ancestors_(plan.steps.size()) {
    for (const Step& step : plan.steps) touched_.push_back(effects_of(step, kernels));
    for (std::size_t s = 0; s < touched_.size(); ++s) {
      for (const std::vector<int>* list : {&touched_[s].read, &touched_[s].written}) {
        for (const int slot : *list) users_[at(slot)].push_back(static_cast<int>(s));
      }
    }
  }

  /// Makes each step that writes `slot` depend on the earlier steps that use `before`.
  void share(int slot, int before) {
    for (std::size_t s = 0; s < touched_.size(); ++s) {
      if (contains(touched_[s].written, slot)) add_earlier(static_cast<int>(s), before);
    }
  }

  void share(const Arena& arena) {
    for (const ArenaBlock& block : arena.blocks) {
      const std::vector<int> slots = arena.slots_of(block);
      for (std::size_t i = 1; i < slots.size(); ++i) share(slots[i], slots[i - 1]);
      for (const ArenaBlock& other : arena.blocks) {
        if (other.memory.last < block.memory.first && overlap(block.memory, other.memory)) {
          reuse(arena, block, other);
        }
      }
    }
  }

  std::vector<StepDependence> list() {
    std::vector<std::vector<int>> writers(users_.size());
    for (std::size_t s = 0; s < touched_.size(); ++s) {
      const int step = static_cast<int>(s);
      for (const int slot : touched_[s].read) {
        for (const int writer : writers[at(slot)]) add_value(writer, step, slot);
      }
      for (const int slot : touched_[s].written) {
        add_earlier(step, slot);
        writers[at(slot)].push_back(step);
      }
      add_memory(step);
    }
    return std::move(list_);
  }

 private:
  static bool contains(const std::vector<int>& list, int one) {
    return std::find(list.begin(), list.end(), one) != list.end();
  }

  static bool overlap(const MemoryBlock& a, const MemoryBlock& b) {
    return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
  }

  void add_earlier(int step, int slot) {
    std::vector<int>& list = earlier_[at(step)];
    for (const int user : users_[at(slot)]) {
      if (user < step) list.push_back(user);
    }
  }

  /// Makes the first step that uses `block` depend on all steps that use `other`.
  void reuse(const Arena& arena, const ArenaBlock& block, const ArenaBlock& other) {
    for (const int slot : arena.slots_of(other)) add_earlier(block.memory.first, slot);
    const auto* step = std::get_if<StepBlock>(&other.contents);
    if (step) earlier_[at(block.memory.first)].push_back(step->step);
  }

  void add_value(int from, int to, int slot) {
    const StepDependence dependence{from, to, slot};
    const auto is_of_others = [&](const StepDependence& one) { return one.to != to; };
    const auto end = std::find_if(list_.rbegin(), list_.rend(), is_of_others);
    if (std::find(list_.rbegin(), end, dependence) != end) return;  // read twice
    list_.push_back(dependence);
    ancestors_.add(to, from);
  }

  /// Adds the latest steps first, since they may imply earlier ones.
  void add_memory(int step) {
    std::vector<int>& list = earlier_[at(step)];
    std::sort(list.begin(), list.end(), std::greater<>());
    for (const int one : list) {
      if (ancestors_.has(step, one)) continue;
      list_.push_back({one, step, -1});
      ancestors_.add(step, one);
    }
  }

  std::vector<StepEffects> touched_;       // of each step
  std::vector<std::vector<int>> users_;    // of each slot: steps, ascending
  std::vector<std::vector<int>> earlier_;  // of each step: the steps whose memory it overwrites
  Ancestors ancestors_;
  std::vector<StepDependence> list_;
};

}  // namespace

std::vector<StepDependence> step_dependences(const Plan& plan,
                                             const std::vector<BuiltKernel>& kernels,
                                             const Arena* arena,
                                             const std::vector<SharedSlots>& in_place) {
  Dependences dependences(plan, kernels);
  for (const SharedSlots& one : in_place) dependences.share(one.result, one.argument);
  if (arena != nullptr) dependences.share(*arena);
  return dependences.list();
}

}  // namespace kiln::cuda
