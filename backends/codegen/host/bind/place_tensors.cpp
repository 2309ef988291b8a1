// Tensors written over others that die, blocks of steps.
#include "backends/codegen/host/bind/place_tensors.h"

#include "backends/codegen/host/bind/memory_report.h"
#include "backends/codegen/plan/lifetimes.h"
#include "backends/codegen/plan/find_in_place.h"
#include "backends/codegen/plan/touched.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

class Placer {
 public:
  Placer(BoundPlan& bound, const std::vector<BuiltKernel>& kernels)
      : plan_(*bound.plan), kernels_(kernels), bound_(bound) {}

  void place() {
    const std::vector<Lifetime> lives = lifetimes(plan_, kernels_);
    block_of_.assign(plan_.slots.size(), -1);
    skipped_.assign(plan_.slots.size(), 0);
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      if (const auto* loop = std::get_if<LoopStep>(&plan_.steps[s])) add_stacks(*loop, lives);
      add_tensors(s, lives);
    }
    std::vector<std::int64_t*> places = add_step_blocks();
    const std::size_t own = bound_.blocks.size() - places.size();
    std::vector<MemoryBlock> memory;
    for (const ArenaBlock& block : bound_.blocks) memory.push_back(block.memory);
    require_countable(memory);
    const MemoryPlan planned = plan_memory(memory, static_cast<int>(plan_.steps.size()));
    for (std::size_t i = 0; i < memory.size(); ++i) bound_.blocks[i].memory = memory[i];
    for (std::size_t i = 0; i < places.size(); ++i) *places[i] = memory[own + i].offset;
    for (std::size_t i = 0; i < block_of_.size(); ++i) {
      const int block = block_of_[i];
      const auto at = [&] { return memory[static_cast<std::size_t>(block)].offset + skipped_[i]; };
      bound_.offsets.push_back(block < 0 ? -1 : at());
    }
    bound_.arena_bytes = planned.bytes;
    bound_.live_bytes = planned.live_bytes;
  }

 private:
  /// One block for the two stacks of a carry. Nothing is written over one of them while the other
  /// may be alive.
  void add_stacks(const LoopStep& loop, const std::vector<Lifetime>& lives) {
    const bool reverse = loop.node->as<ir::ScanAttrs>().reverse;
    for (const CarryStacks& stacks : loop.carry_stacks) {
      if (stacks.before < 0 || stacks.after < 0) continue;
      const auto slot = [&](int result) { return loop.results[static_cast<std::size_t>(result)]; };
      const int low = slot(reverse ? stacks.after : stacks.before);
      const int high = slot(reverse ? stacks.before : stacks.after);
      const auto l = static_cast<std::size_t>(low), h = static_cast<std::size_t>(high);
      const std::int64_t slice = bound_.bytes[static_cast<std::size_t>(slot(stacks.carry))];
      skipped_[h] = bound_.bytes[h] == 0 ? 0 : slice;
      block_of_[l] = block_of_[h] = static_cast<int>(bound_.blocks.size());
      ArenaBlock block;
      block.kind = ArenaBlock::Kind::CarryStacks;
      block.memory = {0, lives[l].first, std::max(lives[l].last, lives[h].last)};
      if (__builtin_add_overflow(bound_.bytes[l], skipped_[h], &block.memory.bytes)) {
        block.memory.bytes = INT64_MAX;  // require_countable rejects it
      }
      block.slots = {low, high};
      bound_.blocks.push_back(std::move(block));
    }
  }

  /// The temporary tensors that step `s` writes first.
  void add_tensors(std::size_t s, const std::vector<Lifetime>& lives) {
    const Touched now = touched(plan_.steps[s], kernels_);
    for (const int slot : now.written) {
      const auto i = static_cast<std::size_t>(slot);
      if (plan_.slots[i].kind != Slot::Kind::Temporary || block_of_[i] >= 0) continue;
      if (bound_.kept_offsets[i] >= 0) continue;
      block_of_[i] = reused(s, slot, now, lives);
      if (block_of_[i] < 0) {
        block_of_[i] = static_cast<int>(bound_.blocks.size());
        ArenaBlock block;
        block.memory = {bound_.bytes[i], lives[i].first, lives[i].last};
        bound_.blocks.push_back(std::move(block));
      }
      ArenaBlock& block = bound_.blocks[static_cast<std::size_t>(block_of_[i])];
      block.memory.last = std::max(block.memory.last, lives[i].last);
      block.slots.push_back(slot);
    }
  }

  /// Sums of blocks are counted without looking for overflow from here on.
  void require_countable(const std::vector<MemoryBlock>& memory) const {
    std::int64_t sum = 0;
    for (const MemoryBlock& block : memory) {
      if (__builtin_add_overflow(sum, block.bytes, &sum) ||
          __builtin_add_overflow(sum, kAlignment, &sum)) {
        throw SizeFailure(
            KILN_CODE_RESOURCE_EXHAUSTED,
            "the temporary tensors have more bytes than 63 bits count" + largest_tensors(bound_));
      }
    }
  }

  /// The block of a tensor that dies in step `s` and may be written over by `slot`; or -1.
  int reused(std::size_t s, int slot, const Touched& now,
             const std::vector<Lifetime>& lives) const {
    const auto* step = std::get_if<KernelStep>(&plan_.steps[s]);
    if (!step) return -1;
    const Kernel& kernel = kernels_[static_cast<std::size_t>(step->kernel)].kernel;
    for (const int from : now.read) {
      const auto i = static_cast<std::size_t>(from);
      const bool dies = block_of_[i] >= 0 && lives[i].last == static_cast<int>(s) && from != slot;
      if (dies && is_stack_of_carry(block_of_[i])) continue;
      if (!dies || bound_.bytes[i] != bound_.bytes[static_cast<std::size_t>(slot)]) continue;
      const bool taken = std::any_of(now.written.begin(), now.written.end(), [&](const int other) {
        return other != slot && block_of_[static_cast<std::size_t>(other)] == block_of_[i];
      });
      if (!taken && writes_in_place(kernel, *step, from, slot)) return block_of_[i];
    }
    return -1;
  }

  bool is_stack_of_carry(int block) const {
    return bound_.blocks[static_cast<std::size_t>(block)].kind == ArenaBlock::Kind::CarryStacks;
  }

  /// Memory of steps themselves: scratch, spare carries, arenas of bodies.
  std::vector<std::int64_t*> add_step_blocks() {
    using Kind = ArenaBlock::Kind;
    std::vector<std::int64_t*> places;
    const auto add = [&](Kind kind, std::size_t s, std::int64_t bytes, std::int64_t& place) {
      const int step = static_cast<int>(s);
      bound_.blocks.push_back({kind, {bytes, step, step}, {}, step});
      places.push_back(&place);
    };
    for (std::size_t s = 0; s < bound_.steps.size(); ++s) {
      BoundStep& step = bound_.steps[s];
      if (Scratch* scratch = scratch_of(step); scratch && whole_scratch(step) != 0) {
        add(Kind::Scratch, s, whole_scratch(step), scratch->offset);
      }
      if (auto* loop = std::get_if<BoundLoop>(&step)) {
        const std::vector<int>& results = std::get<LoopStep>(plan_.steps[s]).results;
        for (std::size_t i = 0; i < loop->spare_offsets.size(); ++i) {
          if (loop->carries[i].stack >= 0) continue;
          add(Kind::SpareCarry, s, bound_.bytes[static_cast<std::size_t>(results[i])],
              loop->spare_offsets[i]);
        }
      }
      BoundBodies* bodies = bodies_of(step);
      for (std::size_t i = 0; bodies && i < bodies->plans.size(); ++i) {
        add(Kind::Body, s, bodies->plans[i]->arena_bytes, bodies->offsets[i]);
      }
    }
    return places;
  }

  static Scratch* scratch_of(BoundStep& step) {
    if (auto* matmul = std::get_if<BoundMatmul>(&step)) return &matmul->scratch;
    if (auto* convolution = std::get_if<BoundConvolution>(&step)) return &convolution->scratch;
    return nullptr;
  }

  /// Matmuls that run side by side have scratch of their own, behind the operand that they share.
  static std::int64_t whole_scratch(const BoundStep& step) {
    const auto* matmul = std::get_if<BoundMatmul>(&step);
    if (!matmul) return std::get<BoundConvolution>(step).scratch.bytes;
    const auto runs = matmul->parallel ? static_cast<std::int64_t>(matmul->runs.size()) : 1;
    return matmul->shared_rhs.bytes + matmul->scratch.bytes * runs;
  }

  const Plan& plan_;
  const std::vector<BuiltKernel>& kernels_;
  BoundPlan& bound_;
  std::vector<int> block_of_;  // of each slot; -1: none
  std::vector<std::int64_t> skipped_;  // bytes of its block before each slot
};

}  // namespace

void place_tensors(BoundPlan& bound, const std::vector<BuiltKernel>& kernels) {
  Placer(bound, kernels).place();
}

}  // namespace kiln::codegen
