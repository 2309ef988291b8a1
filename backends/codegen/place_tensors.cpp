// First and last step of every tensor, tensors written over others that die, blocks of steps.
#include "backends/codegen/place_tensors.h"

#include "backends/codegen/plan_memory.h"

#include <algorithm>

namespace kiln::codegen {
namespace {

/// Slots that a step reads, then those it writes.
struct Touched {
  std::vector<int> read, written;
};

class Placer {
 public:
  Placer(BoundPlan& bound, const std::vector<BuiltKernel>& kernels)
      : plan_(*bound.plan), kernels_(kernels), bound_(bound) {}

  void place() {
    const int steps = static_cast<int>(plan_.steps.size());
    std::vector<int> first(plan_.slots.size(), -1), last(plan_.slots.size(), -1);
    std::vector<Touched> all;
    for (int s = 0; s < steps; ++s) {
      all.push_back(touched(plan_.steps[static_cast<std::size_t>(s)]));
      for (const std::vector<int>* list : {&all.back().read, &all.back().written}) {
        for (int slot : *list) {
          auto& begin = first[static_cast<std::size_t>(slot)];
          if (begin < 0) begin = s;
          last[static_cast<std::size_t>(slot)] = s;
        }
      }
    }
    std::vector<MemoryBlock> blocks;
    std::vector<int> block_of(plan_.slots.size(), -1);
    for (int s = 0; s < steps; ++s) {
      for (int slot : all[static_cast<std::size_t>(s)].written) {
        const auto i = static_cast<std::size_t>(slot);
        if (plan_.slots[i].kind != Slot::Kind::Temporary || block_of[i] >= 0) continue;
        block_of[i] = reused(s, slot, all[static_cast<std::size_t>(s)], last, block_of);
        if (block_of[i] < 0) {
          block_of[i] = static_cast<int>(blocks.size());
          blocks.push_back({bound_.bytes[i], first[i], last[i]});
        }
        MemoryBlock& block = blocks[static_cast<std::size_t>(block_of[i])];
        block.last = std::max(block.last, last[i]);
      }
    }
    std::vector<std::int64_t*> places = add_step_blocks(blocks);
    const std::size_t own = blocks.size() - places.size();
    const MemoryPlan memory = plan_memory(blocks, steps);
    for (std::size_t i = 0; i < places.size(); ++i) *places[i] = blocks[own + i].offset;
    for (int block : block_of) {
      bound_.offsets.push_back(block < 0 ? -1 : blocks[static_cast<std::size_t>(block)].offset);
    }
    bound_.arena_bytes = memory.bytes;
    bound_.live_bytes = memory.live_bytes;
  }

 private:
  Touched touched(const Step& step) const {
    if (const auto* kernel = std::get_if<KernelStep>(&step)) {
      Touched slots;
      const auto& operands = kernels_[static_cast<std::size_t>(kernel->kernel)].kernel.operands;
      for (std::size_t i = 0; i < operands.size(); ++i) {
        if (operands[i].read) slots.read.push_back(kernel->slots[i]);
        if (operands[i].written) slots.written.push_back(kernel->slots[i]);
      }
      return slots;
    }
    if (const auto* product = std::get_if<ProductStep>(&step)) {
      Touched slots{{product->lhs, product->rhs}, {product->result}};
      if (product->bias >= 0) slots.read.push_back(product->bias);
      return slots;
    }
    if (const auto* copy = std::get_if<CopyStep>(&step)) return {{copy->from}, {copy->to}};
    if (const auto* loop = std::get_if<LoopStep>(&step)) return {loop->operands, loop->results};
    if (const auto* branch = std::get_if<BranchStep>(&step)) {
      return {branch->operands, branch->results};
    }
    const auto& call = std::get<HostCallStep>(step);
    return {call.operands, call.results};
  }

  /// Whether a kernel may write the slot `to` over `from`: each point reads and writes the same
  /// element and no point comes back to it.
  bool in_place(const KernelStep& step, int from, int to) const {
    const Kernel& kernel = kernels_[static_cast<std::size_t>(step.kernel)].kernel;
    if (kernel.stages.size() != 1 || kernel.stages[0].kind != StageKind::Map) return false;
    const Access* shape = nullptr;
    for (const Access& access : kernel.accesses) {
      const int slot = step.slots[static_cast<std::size_t>(access.operand)];
      if (slot != from && slot != to) continue;
      if (access.dynamic >= 0) return false;
      if (shape && (shape->offset != access.offset || shape->strides != access.strides)) {
        return false;
      }
      shape = &access;
    }
    const auto width = [&](int slot) {
      return dtype_bytes(plan_.slots[static_cast<std::size_t>(slot)].dtype);
    };
    return width(from) == width(to);
  }

  /// The block of a tensor that dies in step `s` and may be written over by `slot`; or -1.
  int reused(int s, int slot, const Touched& touched, const std::vector<int>& last,
             const std::vector<int>& block_of) const {
    const auto* kernel = std::get_if<KernelStep>(&plan_.steps[static_cast<std::size_t>(s)]);
    if (!kernel) return -1;
    for (int from : touched.read) {
      const auto i = static_cast<std::size_t>(from);
      const bool dies = block_of[i] >= 0 && last[i] == s && from != slot;
      if (!dies || bound_.bytes[i] != bound_.bytes[static_cast<std::size_t>(slot)]) continue;
      const bool taken =
          std::any_of(touched.written.begin(), touched.written.end(), [&](int other) {
            return other != slot && block_of[static_cast<std::size_t>(other)] == block_of[i];
          });
      if (!taken && in_place(*kernel, from, slot)) return block_of[i];
    }
    return -1;
  }

  /// Memory of steps themselves: scratch, spare carries, arenas of bodies.
  std::vector<std::int64_t*> add_step_blocks(std::vector<MemoryBlock>& blocks) {
    std::vector<std::int64_t*> places;
    const auto add = [&](std::size_t s, std::int64_t bytes, std::int64_t& place) {
      blocks.push_back({bytes, static_cast<int>(s), static_cast<int>(s)});
      places.push_back(&place);
    };
    for (std::size_t s = 0; s < bound_.steps.size(); ++s) {
      BoundStep& step = bound_.steps[s];
      if (step.scratch_bytes != 0) {
        const auto runs = step.parallel ? static_cast<std::int64_t>(step.runs.size()) : 1;
        add(s, step.scratch_bytes * runs, step.scratch_offset);
      }
      if (const auto* loop = std::get_if<LoopStep>(&plan_.steps[s])) {
        for (std::size_t i = 0; i < step.spare_offsets.size(); ++i) {
          add(s, bound_.bytes[static_cast<std::size_t>(loop->results[i])], step.spare_offsets[i]);
        }
      }
      for (std::size_t i = 0; i < step.bodies.size(); ++i) {
        add(s, step.bodies[i]->arena_bytes, step.body_offsets[i]);
      }
    }
    return places;
  }

  const Plan& plan_;
  const std::vector<BuiltKernel>& kernels_;
  BoundPlan& bound_;
};

}  // namespace

void place_tensors(BoundPlan& bound, const std::vector<BuiltKernel>& kernels) {
  Placer(bound, kernels).place();
}

}  // namespace kiln::codegen
