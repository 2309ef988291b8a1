// Makes a block for each temporary at its first write, then packs the blocks.
#include "backends/codegen/bind/build_arena.h"

#include "backends/codegen/bind/memory_report.h"
#include "backends/codegen/plan/buffer_aliasing.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

class ArenaBuilder {
 public:
  ArenaBuilder(const Plan& plan, const std::vector<BuiltKernel>& kernels, const PlanFacts& facts,
               const SlotSizes& sizes, const BindMemory& memory)
      : plan_(plan),
        kernels_(kernels),
        facts_(facts),
        sizes_(sizes),
        memory_(memory),
        arena_(memory.plan),
        block_of_(plan.slots.size(), -1, memory.scratch),
        offset_in_block_(plan.slots.size(), 0, memory.scratch) {}

  Arena run(std::span<const StepMemory> own, const ListBodies& bodies) {
    const std::vector<Lifetime>& lives = facts_.lifetimes;
    arena_.blocks.reserve(plan_.slots.size() + own.size());
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      if (const auto* loop = std::get_if<LoopStep>(&plan_.steps[s])) add_stacks(*loop, lives);
      add_tensors(s, lives);
    }
    for (const StepMemory& one : own) {
      arena_.blocks.push_back({{one.bytes, one.use.step, one.use.step}, one.use});
    }
    require_countable(bodies);
    assign_offsets();
    const ArenaBlock* block = arena_.blocks.data() + (arena_.blocks.size() - own.size());
    for (const StepMemory& one : own) *one.offset = (block++)->memory.offset;
    return std::move(arena_);
  }

 private:
  /// Adds one block for the two stacks of a carry, live as long as one of them is.
  void add_stacks(const LoopStep& loop, const std::vector<Lifetime>& lives) {
    const bool reverse = loop.node->as<ir::ScanAttrs>().reverse;
    for (const CarryStacks& stacks : loop.carry_stacks) {
      if (stacks.before < 0 || stacks.after < 0) continue;
      const auto slot = [&](int result) { return loop.results[static_cast<std::size_t>(result)]; };
      const int low = slot(reverse ? stacks.after : stacks.before);
      const int high = slot(reverse ? stacks.before : stacks.after);
      const auto l = static_cast<std::size_t>(low), h = static_cast<std::size_t>(high);
      const std::int64_t slice = sizes_.bytes[static_cast<std::size_t>(slot(stacks.carry))];
      offset_in_block_[h] = sizes_.bytes[h] == 0 ? 0 : slice;
      block_of_[l] = block_of_[h] = static_cast<int>(arena_.blocks.size());
      ArenaBlock block{.memory = {0, lives[l].first, std::max(lives[l].last, lives[h].last)},
                       .contents = CarryStacksBlock{{low, high}}};
      if (__builtin_add_overflow(sizes_.bytes[l], offset_in_block_[h], &block.memory.bytes)) {
        block.memory.bytes = INT64_MAX;  // require_countable rejects it
      }
      arena_.blocks.push_back(std::move(block));
    }
  }

  /// Adds the temporaries whose first write is in step `s`.
  void add_tensors(std::size_t s, const std::vector<Lifetime>& lives) {
    const StepEffects& effects = facts_.effects[s];
    for (const int slot : effects.written) {
      const auto i = static_cast<std::size_t>(slot);
      if (!plan_.slots[i].is<TemporarySlot>() || block_of_[i] >= 0) continue;
      if (facts_.cached.group_of_slot[i] >= 0) continue;
      block_of_[i] = reused_block(s, slot, effects, lives);
      if (block_of_[i] < 0) {
        block_of_[i] = static_cast<int>(arena_.blocks.size());
        arena_.blocks.push_back({{sizes_.bytes[i], lives[i].first, lives[i].last},
                                 TensorsBlock{List<int>(memory_.plan)}});
      }
      ArenaBlock& block = arena_.blocks[static_cast<std::size_t>(block_of_[i])];
      block.memory.last = std::max(block.memory.last, lives[i].last);
      std::get<TensorsBlock>(block.contents).slots.push_back(slot);
    }
  }

  /// Throws SizeFailure when the sum of the blocks overflows: plan_memory adds unchecked.
  void require_countable(const ListBodies& bodies) const {
    std::int64_t sum = 0;
    for (const ArenaBlock& block : arena_.blocks) {
      if (__builtin_add_overflow(sum, block.memory.bytes, &sum) ||
          __builtin_add_overflow(sum, kAlignment, &sum)) {
        throw SizeFailure(KILN_CODE_RESOURCE_EXHAUSTED,
                          "the temporary tensors have more than 2^63 - 1 bytes" +
                              largest_tensors({&plan_, &sizes_, &arena_, bodies()}));
      }
    }
  }

  void assign_offsets() {
    List<MemoryBlock> memory(memory_.scratch);
    memory.reserve(arena_.blocks.size());
    for (const ArenaBlock& block : arena_.blocks) memory.push_back(block.memory);
    const MemoryPlan planned =
        plan_memory(memory, static_cast<int>(plan_.steps.size()), memory_.scratch);
    for (std::size_t i = 0; i < memory.size(); ++i) arena_.blocks[i].memory = memory[i];
    for (std::size_t i = 0; i < block_of_.size(); ++i) {
      const auto block = static_cast<std::size_t>(block_of_[i]);
      arena_.offsets.push_back(block_of_[i] < 0 ? -1 : memory[block].offset + offset_in_block_[i]);
    }
    arena_.bytes = planned.bytes;
    arena_.live_bytes = planned.live_bytes;
  }

  /// The block of a tensor that dies in step `s` and whose buffer `slot` may share; -1: none.
  /// A stack of a carry is excluded: the carry's other stack may be live longer.
  int reused_block(std::size_t s, int slot, const StepEffects& effects,
                   const std::vector<Lifetime>& lives) const {
    const auto* step = std::get_if<KernelStep>(&plan_.steps[s]);
    if (!step) return -1;
    const Kernel& kernel = kernels_[static_cast<std::size_t>(step->kernel)].kernel;
    for (const int from : effects.read) {
      const auto i = static_cast<std::size_t>(from);
      const bool dies = block_of_[i] >= 0 && lives[i].last == static_cast<int>(s) && from != slot;
      if (dies && is_stack_of_carry(block_of_[i])) continue;
      if (!dies || sizes_.bytes[i] != sizes_.bytes[static_cast<std::size_t>(slot)]) continue;
      const bool taken =
          std::any_of(effects.written.begin(), effects.written.end(), [&](const int other) {
            return other != slot && block_of_[static_cast<std::size_t>(other)] == block_of_[i];
          });
      if (!taken && can_share_buffer(kernel, *step, from, slot)) return block_of_[i];
    }
    return -1;
  }

  bool is_stack_of_carry(int block) const {
    const ArenaBlock& one = arena_.blocks[static_cast<std::size_t>(block)];
    return std::holds_alternative<CarryStacksBlock>(one.contents);
  }

  const Plan& plan_;
  const std::vector<BuiltKernel>& kernels_;
  const PlanFacts& facts_;
  const SlotSizes& sizes_;
  const BindMemory memory_;
  Arena arena_;
  List<int> block_of_;                  // of each slot; -1: none
  List<std::int64_t> offset_in_block_;  // of each slot
};

}  // namespace

std::span<const int> ArenaBlock::slots() const {
  if (const auto* tensors = std::get_if<TensorsBlock>(&contents)) return tensors->slots;
  if (const auto* stacks = std::get_if<CarryStacksBlock>(&contents)) return stacks->slots;
  return {};
}

Arena build_arena(const Plan& plan, const std::vector<BuiltKernel>& kernels, const PlanFacts& facts,
                  const SlotSizes& sizes, std::span<const StepMemory> own, const ListBodies& bodies,
                  const BindMemory& memory) {
  return ArenaBuilder(plan, kernels, facts, sizes, memory).run(own, bodies);
}

}  // namespace kiln::codegen
