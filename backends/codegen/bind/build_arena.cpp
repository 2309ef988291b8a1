// Makes a block for each temporary at its first write, then packs the blocks.
#include "backends/codegen/bind/build_arena.h"

#include "backends/codegen/bind/memory_report.h"
#include "core/types/at.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

class ArenaBuilder {
 public:
  ArenaBuilder(const Plan& plan, const PlanFacts& facts, const SlotSizes& sizes,
               const BindMemory& memory)
      : plan_(plan),
        facts_(facts),
        sizes_(sizes),
        memory_(memory),
        arena_(memory.plan),
        blocks_(memory.scratch),
        block_of_(plan.slots.size(), -1, memory.scratch),
        offset_in_block_(plan.slots.size(), 0, memory.scratch) {}

  Arena run(std::span<const StepMemory> own, const ListBodies& bodies) {
    arena_.next_slots.resize(plan_.slots.size());
    blocks_.reserve(facts_.arena_tensors.size() + own.size());
    auto tensor = facts_.arena_tensors.begin();
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      if (const auto* loop = std::get_if<LoopStep>(&plan_.steps[s])) add_stacks(*loop);
      for (; tensor != facts_.arena_tensors.end() && at(tensor->step) == s; ++tensor) add(*tensor);
    }
    for (const StepMemory& one : own) {
      blocks_.push_back({{one.bytes, one.use.step, one.use.step}, one.use});
    }
    require_countable(bodies);
    assign_offsets();
    arena_.blocks.assign(blocks_.begin(), blocks_.end());
    const ArenaBlock* block = blocks_.data() + (blocks_.size() - own.size());
    for (const StepMemory& one : own) *one.offset = (block++)->memory.offset;
    return std::move(arena_);
  }

 private:
  /// Adds one block for the two stacks of a carry, live as long as one of them is.
  void add_stacks(const LoopStep& loop) {
    const IdVector<SlotId, Lifetime>& lives = facts_.lifetimes;
    const bool reverse = loop.node->as<ir::ScanAttrs>().reverse;
    for (const CarryStacks& stacks : loop.carry_stacks) {
      if (stacks.before < 0 || stacks.after < 0) continue;
      const auto slot = [&](int result) { return loop.results[static_cast<std::size_t>(result)]; };
      const SlotId low = slot(reverse ? stacks.after : stacks.before);
      const SlotId high = slot(reverse ? stacks.before : stacks.after);
      const std::int64_t slice = sizes_.bytes[slot(stacks.carry)];
      offset_in_block_[high] = sizes_.bytes[high] == 0 ? 0 : slice;
      block_of_[low] = block_of_[high] = static_cast<int>(blocks_.size());
      ArenaBlock block{.memory = {0, lives[low].first, std::max(lives[low].last, lives[high].last)},
                       .contents = CarryStacksBlock{{low, high}}};
      if (__builtin_add_overflow(sizes_.bytes[low], offset_in_block_[high], &block.memory.bytes)) {
        block.memory.bytes = INT64_MAX;  // require_countable rejects it
      }
      blocks_.push_back(std::move(block));
    }
  }

  void add(const ArenaTensor& tensor) {
    const SlotId slot = tensor.slot;
    const Lifetime life = facts_.lifetimes[slot];
    const int reused = reused_block(tensor);
    if (reused < 0) {
      block_of_[slot] = static_cast<int>(blocks_.size());
      blocks_.push_back({{sizes_.bytes[slot], life.first, life.last}, TensorsBlock{slot, slot}});
      return;
    }
    block_of_[slot] = reused;
    ArenaBlock& block = blocks_[at(reused)];
    block.memory.last = std::max(block.memory.last, life.last);
    SlotId& last = std::get<TensorsBlock>(block.contents).last;
    arena_.next_slots[last] = slot;
    last = slot;
  }

  /// Throws SizeFailure when the sum of the blocks overflows: plan_memory adds unchecked.
  void require_countable(const ListBodies& bodies) {
    std::int64_t sum = 0;
    for (const ArenaBlock& block : blocks_) {
      if (__builtin_add_overflow(sum, block.memory.bytes, &sum) ||
          __builtin_add_overflow(sum, kAlignment, &sum)) {
        arena_.blocks.assign(blocks_.begin(), blocks_.end());
        throw SizeFailure(KILN_CODE_RESOURCE_EXHAUSTED,
                          "the temporary tensors have more than 2^63 - 1 bytes" +
                              largest_tensors({&plan_, &sizes_, &arena_, bodies()}));
      }
    }
  }

  void assign_offsets() {
    List<MemoryBlock> memory(memory_.scratch);
    memory.reserve(blocks_.size());
    for (const ArenaBlock& block : blocks_) memory.push_back(block.memory);
    const MemoryPlan planned =
        plan_memory(memory, static_cast<int>(plan_.steps.size()), memory_.scratch);
    for (std::size_t i = 0; i < memory.size(); ++i) blocks_[i].memory = memory[i];
    for (const SlotId i : block_of_.ids()) {
      const auto block = static_cast<std::size_t>(block_of_[i]);
      arena_.offsets.push_back(block_of_[i] < 0 ? -1 : memory[block].offset + offset_in_block_[i]);
    }
    arena_.bytes = planned.bytes;
    arena_.live_bytes = planned.live_bytes;
  }

  /// The block that the tensor takes over; -1: none.
  int reused_block(const ArenaTensor& tensor) const {
    for (const SlotId from : tensor.reusable) {
      if (sizes_.bytes[from] != sizes_.bytes[tensor.slot]) continue;
      const std::vector<SlotId>& written = facts_.effects[at(tensor.step)].written;
      const bool taken = std::any_of(written.begin(), written.end(), [&](SlotId other) {
        return other != tensor.slot && block_of_[other] == block_of_[from];
      });
      if (!taken) return block_of_[from];
    }
    return -1;
  }

  const Plan& plan_;
  const PlanFacts& facts_;
  const SlotSizes& sizes_;
  const BindMemory memory_;
  Arena arena_;
  List<ArenaBlock> blocks_;
  SlotList<int> block_of_;  // of each slot; -1: none
  SlotList<std::int64_t> offset_in_block_;  // of each slot
};

}  // namespace

std::vector<SlotId> Arena::slots_of(const ArenaBlock& block) const {
  if (const auto* stacks = std::get_if<CarryStacksBlock>(&block.contents)) {
    return {stacks->slots.begin(), stacks->slots.end()};
  }
  const auto* tensors = std::get_if<TensorsBlock>(&block.contents);
  if (!tensors) return {};
  std::vector<SlotId> slots{tensors->first};
  while (slots.back() != tensors->last) slots.push_back(next_slots[slots.back()]);
  return slots;
}

Arena build_arena(const Plan& plan, const PlanFacts& facts, const SlotSizes& sizes,
                  std::span<const StepMemory> own, const ListBodies& bodies,
                  const BindMemory& memory) {
  return ArenaBuilder(plan, facts, sizes, memory).run(own, bodies);
}

}  // namespace kiln::codegen
